//! Compiles the library that a program is loaded with in the row `power-cut`.
//!
//! Not a crate of the workspace: as a dependency it would be linked into this program, whose own calls it would then replace.

use std::{env, path::PathBuf, process::Command};

fn main() {
    println!("cargo:rerun-if-changed=preload");
    let variable = |name: &str| env::var_os(name).unwrap_or_else(|| panic!("Cargo sets {name}"));
    let library = PathBuf::from(variable("OUT_DIR")).join("file_log.so");
    let mut compiler = Command::new(variable("RUSTC"));
    compiler.args([
        "--edition=2024",
        "--crate-type=cdylib",
        "--crate-name=file_log",
        "-Copt-level=1",
        "-Cstrip=symbols",
    ]);
    compiler.args(["-Cpanic=abort", "-Dwarnings", "-Dunsafe_op_in_unsafe_fn", "--target"]);
    compiler.arg(variable("TARGET")).arg("-o").arg(&library).arg("preload/file_log.rs");
    let status = compiler.status().expect("the compiler runs");
    assert!(status.success(), "the library compiles");
    println!("cargo:rustc-env=FILE_LOG={}", library.display());
}
