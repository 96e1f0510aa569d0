#![doc = include_str!("../README.md")]

pub mod depth;
pub mod format;
pub mod number;
pub mod show;
pub mod text;

pub use self::show::{Show, dumps, repr, str};
