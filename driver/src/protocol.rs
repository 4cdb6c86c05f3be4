//! The protocol: commands as JSON lines on stdin, events as JSON lines on stdout.

pub mod described;
pub mod event;
pub mod job;
pub mod schema;
pub mod secret;
pub mod target;
