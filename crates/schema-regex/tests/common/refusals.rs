//! Schemas that are refused, with the kind of the error and its place.

use schema_regex::{ErrorKind, Options, parse, to_regex};
use serde_json::Value;

#[track_caller]
pub(crate) fn refused(schema: Value, kind: ErrorKind, pointer: &str) {
    refused_with(&Options::default(), schema, kind, pointer);
}

#[track_caller]
pub(crate) fn refused_with(options: &Options, schema: Value, kind: ErrorKind, pointer: &str) {
    match parse(&schema).and_then(|s| to_regex(&s, options)) {
        Ok(text) => panic!("{schema} gave {text}"),
        Err(e) => assert_eq!((e.kind(), e.pointer()), (kind, pointer), "{e}"),
    }
}
