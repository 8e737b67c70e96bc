//! An external issuer, called over a real socket, and a service that accepts its tokens.

mod asking;
mod fixture;
mod keys;
mod metadata;
mod signer;
mod tokens;
mod two_services;
