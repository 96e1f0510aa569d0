//! What `%json` means.

use schema_regex::{Escapes, Options, Whitespace};

use crate::patterns::Reading;

/// How schemas are read: with white space as JSON allows it, and properties in the order in
/// which the schema has them. The dialects differ in how characters may be spelt.
pub(crate) fn options(reading: Reading) -> Options {
    let mut options = Options::default();
    options.whitespace = Whitespace::Pattern("[ \\t\\n\\r]*".to_owned());
    options.escapes = match reading {
        Reading::Greedy => Escapes::Shortest,
        Reading::Splits | Reading::Ascii => Escapes::All,
    };
    options
}
