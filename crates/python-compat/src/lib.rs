#![doc = include_str!("../README.md")]

pub mod format;
pub mod number;
pub mod show;
mod tables;
pub mod text;

pub use self::show::{Show, dumps, repr, str};
