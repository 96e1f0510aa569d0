//! The tests of this crate from outside, in one program.

mod chat;
mod golden;
mod hostile;
mod jinja;
