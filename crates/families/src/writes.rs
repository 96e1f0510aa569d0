//! The form in which a family's models write a turn: the member `writes` of a data file, which
//! masks are made of.
//!
//! For example, `{"each": {"forms": [{"open": ["<tool_call>", {"maybe": "\n"}], "body": {"object": {"name": "name",
//! "arguments": ["arguments"]}}, "close": "</tool_call>"}]}}` says that calls come one after another, each as an
//! object between two marks, with a line feed behind the first mark or without one.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A piece of structure: a text, several pieces in a row, or a choice.
///
/// In texts `{name}` stands for the name of a tool, `{index}` for a number, `{key}` for the name of an argument and
/// `{type}` for the word that the family has for the type of its value.
///
/// ```
/// use families::Spelling;
///
/// let spelling: Spelling = serde_json::from_str(r#"["<call:{name}", {"maybe": ">"}]"#)?;
/// assert_eq!(spelling.beginnings(), ["<call:"]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Spelling {
    /// This text.
    Text(String),
    /// These pieces in a row.
    Row(Vec<Spelling>),
    /// A choice.
    Choice(Choice),
}

/// A piece that may come in several ways.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Choice {
    /// One of these pieces.
    OneOf(Vec<Spelling>),
    /// This piece, or nothing.
    Maybe(Box<Spelling>),
    /// A text that matches this regular expression.
    Matches(String),
}

/// Nothing.
impl Default for Spelling {
    fn default() -> Spelling {
        Spelling::Text(String::new())
    }
}

impl From<&str> for Spelling {
    fn from(text: &str) -> Spelling {
        Spelling::Text(text.to_owned())
    }
}

impl Spelling {
    /// The fixed texts with which the spelling may begin: each up to its first placeholder, expression or optional piece.
    #[must_use]
    pub fn beginnings(&self) -> Vec<String> {
        let mut found: Vec<String> = self.heads().into_iter().map(|(text, _)| text).collect();
        found.retain(|text| !text.is_empty());
        found.sort();
        found.dedup();
        found
    }

    /// The beginnings, and for each whether it is a whole text of the spelling.
    fn heads(&self) -> Vec<(String, bool)> {
        match self {
            Spelling::Text(text) => {
                let ends = PLACEHOLDERS.iter().filter_map(|mark| text.find(mark)).min();
                let end = ends.unwrap_or(text.len());
                vec![(text[..end].to_owned(), ends.is_none())]
            }
            Spelling::Row(pieces) => {
                let mut heads = vec![(String::new(), true)];
                for piece in pieces {
                    let is_choice = matches!(piece, Spelling::Choice(_));
                    let mut next = Vec::new();
                    for (head, open) in heads {
                        // A text that has begun is long enough to be known by.
                        if !open || is_choice && !head.is_empty() {
                            next.push((head, false));
                            continue;
                        }
                        let more = piece.heads().into_iter();
                        next.extend(more.map(|(text, open)| (format!("{head}{text}"), open)));
                    }
                    heads = next;
                }
                heads
            }
            Spelling::Choice(Choice::OneOf(ways)) => {
                ways.iter().flat_map(Spelling::heads).collect()
            }
            Spelling::Choice(Choice::Maybe(piece)) => {
                let mut heads = piece.heads();
                heads.push((String::new(), true));
                heads
            }
            Spelling::Choice(Choice::Matches(_)) => vec![(String::new(), false)],
        }
    }
}

/// Words in texts that something else stands for. They are these four, because other braces are
/// text.
const PLACEHOLDERS: [&str; 4] = ["{name}", "{index}", "{key}", "{type}"];

/// The form of a turn.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Writes {
    /// The reasoning before everything; none if the family has no marks for it.
    #[serde(default)]
    pub reasoning: Option<Reasoning>,
    /// A piece between the reasoning and what follows.
    #[serde(default)]
    pub between: Spelling,
    /// The content; none if the family has no form for it.
    #[serde(default)]
    pub content: Option<Content>,
    /// Texts that content never has, because the reader would take them for structure, beside the marks of reasoning
    /// and those with which calls begin.
    #[serde(default)]
    pub never: Vec<String>,
    /// The calls.
    pub calls: Calls,
}

/// The marks of reasoning.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reasoning {
    /// A piece before the mark.
    #[serde(default)]
    pub before: Spelling,
    /// The mark that begins it.
    pub open: String,
    /// The mark that ends it.
    pub close: String,
}

/// The form of content.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Content {
    /// It is what stands outside of marks.
    Bare,
    /// It stands between these; the second may be nothing, because the end of the turn ends it.
    Between(Spelling, Spelling),
}

/// The form of calls.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Calls {
    /// Masks of them are refused, for this reason.
    Refused(String),
    /// One after another.
    Each(Box<Each>),
    /// In one list of JSON.
    List {
        /// The mark before the list.
        open: String,
        /// The mark behind the list, or nothing.
        close: String,
        /// A call.
        call: CallObject,
    },
}

/// Calls one after another.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Each {
    /// The pieces around all of them.
    #[serde(default)]
    pub section: (Spelling, Spelling),
    /// A piece between two.
    #[serde(default)]
    pub separator: Spelling,
    /// A message before the calls, where content has marks: those around its text.
    #[serde(default)]
    pub preamble: Option<(Spelling, Spelling)>,
    /// The ways to write one.
    pub forms: Vec<Form>,
    /// Texts that arguments never spell, because one of them ends a call for the reader.
    pub closes: Vec<String>,
    /// Most calls of a turn.
    #[serde(default)]
    pub most: Option<usize>,
    /// The expression of a text that is taken for a call as a whole: content is never such a text. Forms that begin
    /// without a mark then come without content before them.
    #[serde(default)]
    pub alone: Option<String>,
    /// A piece that may end the turn behind the calls.
    #[serde(default)]
    pub last: Spelling,
    /// A piece behind which content may follow the calls; none if nothing follows them.
    #[serde(default)]
    pub behind: Option<Spelling>,
}

/// A way to write a call.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Form {
    /// The piece that opens it.
    #[serde(default)]
    pub open: Spelling,
    /// The arguments, and perhaps the name.
    pub body: Body,
    /// The piece that closes it.
    #[serde(default)]
    pub close: Spelling,
}

/// The inside of a call.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Body {
    /// An object with the tool's name and its arguments.
    Object(CallObject),
    /// The arguments, as an object of JSON.
    Arguments,
    /// The arguments as an object, with keys without quotes and strings between these marks.
    Loose(String, String),
    /// The arguments one by one.
    OneByOne(Argument),
}

/// An argument that stands alone.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Argument {
    /// The piece before the value.
    pub open: Spelling,
    /// The piece behind the value.
    pub close: Spelling,
    /// The text that ends a value for the reader, or nothing where the value tells its own end.
    #[serde(default)]
    pub ends: String,
    /// The text between two arguments.
    #[serde(default)]
    pub between: Between,
    /// The notation of values.
    #[serde(default)]
    pub notation: Notation,
    /// A text that the reader takes away on both sides of a value.
    #[serde(default)]
    pub padding: String,
    /// The word of `{type}` for each type of JSON, where the family says the type of a value.
    #[serde(default)]
    pub types: BTreeMap<String, String>,
}

/// The text between two arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Between {
    /// Nothing: each has its marks.
    #[default]
    Nothing,
    /// A comma, and perhaps a blank.
    Comma,
}

/// The notation of the values of arguments that stand alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notation {
    /// Strings as they are, and everything else as JSON.
    #[default]
    Text,
    /// Literals of Python.
    Python,
}

/// A call as an object of JSON: its keys.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallObject {
    /// The key of an identifier before the others.
    #[serde(default)]
    pub id: Option<String>,
    /// Members with a fixed text that may stand before the others.
    #[serde(default)]
    pub constants: BTreeMap<String, String>,
    /// The key of the tool's name.
    pub name: String,
    /// The keys of the arguments: one of these.
    pub arguments: Vec<String>,
    /// The orders in which name and arguments come.
    #[serde(default)]
    pub order: Order,
}

/// The orders in which name and arguments come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The name comes first.
    #[default]
    NameFirst,
    /// Either comes first.
    Either,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beginnings(spelling: &str) -> Vec<String> {
        serde_json::from_str::<Spelling>(spelling)
            .unwrap()
            .beginnings()
    }

    #[test]
    fn a_spelling_is_known_by_its_beginnings() {
        assert_eq!(beginnings(r#""<a>{name}""#), ["<a>"]);
        assert_eq!(beginnings(r#"["<a>", {"maybe": "\n"}, "<b>"]"#), ["<a>"]);
        assert_eq!(beginnings(r#"[{"maybe": "\n"}, "<b>"]"#), ["\n<b>", "<b>"]);
        assert_eq!(
            beginnings(r#"{"one_of": [["<a>", "b{index}"], " to={name}"]}"#),
            [" to=", "<a>b"]
        );
        assert!(beginnings(r#"{"matches": "[0-9]"}"#).is_empty());
        assert!(serde_json::from_str::<Spelling>(r#"{"perhaps": "x"}"#).is_err());
    }
}
