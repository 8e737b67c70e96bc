//! The libraries that the program is loaded with (`torture/preload`): functions of theirs replace those of the C library.

use std::fs;

use crate::installation::Installation;

/// Notes what every command after this does to the files of `FILE_LOG_FOLDER`, in the file `FILE_LOG`.
pub(crate) fn file_log(installation: &mut Installation) {
    load(installation, "file_log.so", include_bytes!(env!("FILE_LOG")));
}

/// Adds the seconds in the file `CLOCK_STEP` to the clock of every command after this.
pub(crate) fn clock(installation: &mut Installation) {
    load(installation, "clock.so", include_bytes!(env!("CLOCK")));
}

fn load(installation: &mut Installation, name: &str, library: &[u8]) {
    let path = installation.folder.join(name);
    fs::write(&path, library).expect("a file");
    installation.set("LD_PRELOAD", path);
}
