//! The authorization server's pages in a real browser.

mod fixture;
mod pages;
mod sign_in;
mod sign_out;
mod sign_up;

use super::oauth::fixture as service;
