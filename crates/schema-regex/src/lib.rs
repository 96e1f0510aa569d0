//! JSON Schema to regular expression, exactly: what it accepts it enforces, what it cannot it refuses by keyword and JSON Pointer.
