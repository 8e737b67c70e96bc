//! Makes Cargo build the crate again when a migration is added: `model::migrations!` reads the folder.

#![allow(clippy::print_stdout, reason = "this is how a build script speaks to Cargo")]

fn main() {
    println!("cargo::rerun-if-changed=migrations");
}
