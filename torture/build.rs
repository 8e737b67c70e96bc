//! Compiles the libraries that programs are loaded with in the rows `power-cut` and `processes`.
//!
//! Not crates of the workspace: as a dependency such a library would be linked into this program, whose own calls it would then
//! replace.

use std::{env, ffi::OsString, path::PathBuf, process::Command};

fn main() {
    println!("cargo:rerun-if-changed=preload");
    for name in ["file_log", "clock"] {
        compile(name);
    }
}

/// Compiles a library, whose path is then in the variable with its name.
fn compile(name: &str) {
    let library = PathBuf::from(variable("OUT_DIR")).join(format!("{name}.so"));
    let mut compiler = Command::new(variable("RUSTC"));
    compiler.args(["--edition=2024", "--crate-type=cdylib", "-Copt-level=1", "-Cstrip=symbols"]);
    compiler.args(["-Cpanic=abort", "-Dwarnings", "-Dunsafe_op_in_unsafe_fn", "--crate-name", name]);
    compiler.arg("--target").arg(variable("TARGET")).arg("-o").arg(&library);
    let status = compiler.arg(format!("preload/{name}.rs")).status().expect("the compiler runs");
    assert!(status.success(), "{name} compiles");
    println!("cargo:rustc-env={}={}", name.to_uppercase(), library.display());
}

fn variable(name: &str) -> OsString {
    env::var_os(name).unwrap_or_else(|| panic!("Cargo sets {name}"))
}
