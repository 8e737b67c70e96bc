//! An external issuer, called over a real socket, and a service that accepts its tokens.

mod discovery;
mod fixture;
mod keys;
mod metadata;
mod signer;
mod tokens;
mod two_services;
