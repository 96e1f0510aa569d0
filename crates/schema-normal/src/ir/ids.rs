//! The numbers of locations and patterns, and the names of members.
//!
//! For example, the root of each schema is location 2, behind those of `true` and `false`.

use std::sync::Arc;

/// The name of a member.
pub type Name = Arc<str>;

/// The number of a location of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// The number of a pattern of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PatternId(pub u32);

/// The schema `true`, at no location. It is in every document, so that it can have a fixed number.
pub const ALWAYS: NodeId = NodeId(0);
/// The schema `false`, at no location. It is in every document, so that it can have a fixed number.
pub const NEVER: NodeId = NodeId(1);
/// The root of the document: the first node behind the two, because it is read first.
pub const ROOT: NodeId = NodeId(2);
