//! The pieces of an answer's structure, with the texts that stand in them.
//!
//! For example, `<function={name}>` is a marker for each tool, and `{index}` a few digits.

use families::{Choice, Spelling};
use serde_json::Value;

use super::build::{Node, dfa};
use super::quiet::Quiet;
use crate::Error;

#[derive(Clone, Debug)]
pub(super) struct ToolSpec {
    pub(super) name: String,
    pub(super) parameters: Value,
}

/// A piece of structure, with texts in place of what stands for them.
pub(super) fn spell(spelling: &Spelling, known: &[(&str, &str)]) -> Result<Node, Error> {
    let row = |pieces: &[Spelling]| {
        let pieces = pieces.iter().map(|piece| spell(piece, known));
        pieces.collect::<Result<Vec<Node>, Error>>()
    };
    Ok(match spelling {
        Spelling::Text(text) => {
            let mut text = text.clone();
            for (placeholder, meant) in known {
                text = text.replace(placeholder, meant);
            }
            let mut nodes = Vec::new();
            let mut rest = text.as_str();
            while let Some((at, hole, pattern)) = first_hole(rest) {
                nodes.push(Node::marker(&rest[..at]));
                nodes.push(Node::regex(pattern)?);
                rest = &rest[at + hole.len()..];
            }
            nodes.push(Node::marker(rest));
            match nodes.len() {
                1 => nodes.remove(0),
                _ => Node::Seq(nodes),
            }
        }
        Spelling::Row(pieces) => Node::Seq(row(pieces)?),
        Spelling::Choice(Choice::OneOf(ways)) => Node::Alt(row(ways)?),
        Spelling::Choice(Choice::Maybe(piece)) => Node::optional(spell(piece, known)?),
        Spelling::Choice(Choice::Matches(pattern)) => Node::regex(pattern)?,
    })
}

/// The first placeholder of a text that stands for any of its kind: where it is, and what it stands
/// for.
fn first_hole(text: &str) -> Option<(usize, &'static str, &'static str)> {
    /// The placeholders and their texts: few digits, because no answer has a thousand calls.
    const HOLES: [(&str, &str); 2] = [
        ("{index}", "[0-9]{1,3}"),
        ("{key}", "[A-Za-z_][A-Za-z0-9_]*"),
    ];
    let found = HOLES
        .iter()
        .filter_map(|(hole, pattern)| Some((text.find(hole)?, *hole, *pattern)));
    found.min()
}

/// Free text that would not be taken for a call.
pub(super) fn not_a_call(call: &str, closed: &[String]) -> Result<Node, Error> {
    let call = dfa(&format!("(?:{call})(?s:.)*"))?;
    Ok(Node::Quiet(Quiet::except(&call, closed)?))
}

/// The error, of a tool.
#[cold]
pub(super) fn of_tool(tool: &ToolSpec, error: Error) -> Error {
    Error::with_source(
        error.kind(),
        format!("the tool {:?}: {error}", tool.name),
        error,
    )
}
