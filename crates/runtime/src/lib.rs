//! Structured generation: JSON Schema in, constrained decoding with a model, a parsed message out.

#[cfg(feature = "models")]
pub mod chat;
