//! What `%json` means.

use schema_regex::Options;

/// How schemas are read: as elsewhere in the project.
pub(crate) fn options() -> Options {
    Options::default()
}
