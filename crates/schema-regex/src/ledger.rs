//! The fate of each keyword: in general, and at each location of a schema. For example, `propertys`
//! at the root is ignored, and `properties` is suggested.

pub use schema_normal::ledger::{Entry, General, KEYWORDS, Keyword, Status, markdown};
