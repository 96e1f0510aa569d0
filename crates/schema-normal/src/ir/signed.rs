//! A location of the schema, or the complement of one. For example, `{"not": {"type": "string"}}`
//! is the complement of the location `/not`.

use std::ops::Not;

use crate::ir::{Body, NodeId, Schema};

/// A location that must hold, or must not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Signed {
    /// The location.
    pub node: NodeId,
    /// True if values satisfy the location, false if they do not.
    pub positive: bool,
}

impl Signed {
    /// A location that values satisfy; its complement is `!` of it.
    pub fn yes(node: NodeId) -> Self {
        Signed {
            node,
            positive: true,
        }
    }

    /// Returns its truth, if that is the same for all values.
    pub fn truth(self, schema: &Schema) -> Option<bool> {
        match &schema.node(self.node).body {
            Body::Always => Some(self.positive),
            Body::Never => Some(!self.positive),
            Body::Atoms(_) => None,
        }
    }
}

/// The complement.
impl Not for Signed {
    type Output = Signed;

    fn not(self) -> Signed {
        Signed {
            positive: !self.positive,
            ..self
        }
    }
}
