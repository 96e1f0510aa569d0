//! The rules whose texts are captured, as the grammar names them.
//!
//! For example, `head[capture, stop="<end>"]: /.*/` is a rule whose lexeme ends with a marker, which is no part of what
//! is captured.

use crate::terminals::table::Table;

/// A rule whose texts are captured.
#[derive(Debug)]
pub(crate) struct Captured {
    /// The nonterminal.
    pub(crate) rule: u32,
    pub(crate) name: Option<Box<str>>,
    /// The two parts of a lexeme that ends with a marker.
    pub(crate) marked: Option<Marked>,
}

/// A lexeme that ends with a marker, which is no part of what the rule captures.
#[derive(Debug)]
pub(crate) struct Marked {
    pub(crate) body: Table,
    pub(crate) marker: Table,
    /// The name under which the marker is captured.
    pub(crate) name: Option<Box<str>>,
}

impl Marked {
    /// Returns where the marker of a lexeme begins: at the first place at which it can.
    pub(crate) fn split(&self, text: &[u8]) -> usize {
        let ends = |table: &Table, text: &[u8]| {
            let end = text
                .iter()
                .fold(table.start, |state, &byte| table.step(state, byte));
            table.accepting[end as usize]
        };
        let mut state = self.body.start;
        for (at, &byte) in text.iter().enumerate() {
            if self.body.accepting[state as usize] && ends(&self.marker, &text[at..]) {
                return at;
            }
            state = self.body.step(state, byte);
        }
        text.len()
    }
}
