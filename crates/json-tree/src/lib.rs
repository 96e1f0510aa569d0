#![doc = include_str!("../README.md")]

pub mod depth;
pub mod excerpt;
pub mod pointer;
pub mod subschemas;
