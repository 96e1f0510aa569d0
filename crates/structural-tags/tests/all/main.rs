//! The tests of this crate from outside, in one program.

mod exchange;
mod tags;
