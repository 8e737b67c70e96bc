//! The authorization server's pages in a real browser.

mod fixture;
mod leaving;
mod pages;
mod signing_in;
mod signing_up;

use super::oauth::fixture as service;
