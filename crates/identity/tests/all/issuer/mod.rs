//! An issuer elsewhere, asked over a real socket, and a service that takes its tokens.

mod asking;
mod fixture;
mod keys;
mod metadata;
mod signer;
mod tokens;
mod two_services;
