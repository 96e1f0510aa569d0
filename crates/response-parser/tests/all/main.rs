//! The tests of this crate from outside, in one program.

mod agentscope;
mod deep;
mod formats;
mod golden;
mod keywords;
mod models;
mod releases;
mod robust;
mod template;
mod typed;
