//! Seats, holds and payments: concurrently, in every order of steps, and with crashes.
//!
//! - [`oversell`]: 64 clients compete for the last seats; [`history`] checks that none was sold twice.
//! - [`crash_points`]: a crash between any two steps of a payment.
//! - [`every_order`]: every order of steps, compared with a simple [`model`].
//! - [`process`]: the service, called without a socket.

mod clients;
mod crash_points;
mod dump;
mod every_order;
mod history;
mod model;
mod oversell;
mod process;
mod processor;
mod stage;
