//! Steps the clock of one process.
//!
//! The process is loaded with this library (`LD_PRELOAD`), whose functions replace those of the C library. They add the number of
//! seconds in the file `CLOCK_STEP`, which may change at any time, to the clock of the machine. Other processes, and clocks that only
//! measure time, are as they were.

mod real;

use std::{
    ffi::{c_int, c_long, c_void},
    fs::File,
    os::fd::AsRawFd,
    process::abort,
    ptr,
    sync::{
        OnceLock,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
};

use real::real;

const REALTIME: c_int = 0;
const REALTIME_COARSE: c_int = 5;
const READ: c_int = 1;
const SHARED: c_int = 1;

#[repr(C)]
pub struct TimeSpec {
    seconds: i64,
    nanoseconds: c_long,
}

#[repr(C)]
pub struct TimeVal {
    seconds: i64,
    microseconds: c_long,
}

unsafe extern "C" {
    fn mmap(
        at: *mut c_void,
        length: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        start: i64,
    ) -> *mut c_void;
}

/// The seconds in the file.
static STEP: OnceLock<&AtomicI64> = OnceLock::new();

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

/// Runs before the process's own code. Until it ends, the clock is that of the machine.
extern "C" fn start() {
    let Some(path) = std::env::var_os("CLOCK_STEP") else { return };
    let Ok(file) = File::open(path) else { abort() };
    // SAFETY: the file has this length, and stays so. A mapping does not need the file to be open.
    let found = unsafe { mmap(ptr::null_mut(), 8, READ, SHARED, file.as_raw_fd(), 0) };
    if found.addr() == usize::MAX {
        abort();
    }
    // SAFETY: a mapping is aligned, and this one stays until the process ends.
    let _ = STEP.set(unsafe { AtomicI64::from_ptr(found.cast()) });
}

/// # Safety
/// As of the function with this name in the C library; so are all below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: c_int, time: *mut TimeSpec) -> c_int {
    let real = real!(clock_gettime: unsafe extern "C" fn(c_int, *mut TimeSpec) -> c_int);
    let done = unsafe { real(clock, time) };
    if done == 0
        && [REALTIME, REALTIME_COARSE].contains(&clock)
        && let Some(step) = STEP.get()
    {
        unsafe { (*time).seconds += step.load(Relaxed) };
    }
    done
}

fn now() -> TimeSpec {
    let mut time = TimeSpec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the time is valid. Every machine has this clock.
    unsafe { clock_gettime(REALTIME, &raw mut time) };
    time
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn gettimeofday(time: *mut TimeVal, _zone: *mut c_void) -> c_int {
    let now = now();
    unsafe { *time = TimeVal { seconds: now.seconds, microseconds: now.nanoseconds / 1000 } };
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn time(stored: *mut i64) -> i64 {
    let now = now().seconds;
    if !stored.is_null() {
        unsafe { *stored = now };
    }
    now
}
