//! Reads a chat model's raw output back into a message, by a declarative response schema.
