//! The notations of grammars by name: for example, `gbnf`.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, ErrorKind};

/// A notation of grammars, and what it means.
///
/// ```
/// use grammar::Dialect;
///
/// assert_eq!("gbnf".parse::<Dialect>()?, Dialect::Gbnf);
/// assert_eq!(Dialect::LarkSplits.name(), "lark-splits");
/// # Ok::<(), grammar::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// GBNF of llama.cpp. Begins with `root`; every split of a text counts.
    Gbnf,
    /// EBNF of XGrammar. Begins with `root`; every split of a text counts.
    Ebnf,
    /// Lark as llguidance reads it, which is OpenAI's custom tools' and vLLM's. Begins with
    /// `start`; lexemes are as long as they can be, of those that the parser expects.
    Lark,
    /// Lark as the package `lark` reads it with its dynamic lexer in full: every split
    /// counts, and ignored text may come at both ends.
    LarkSplits,
    /// Lark as XGrammar reads it: every split counts, and classes of regular expressions
    /// are of ASCII.
    LarkAscii,
    /// EBNF of the W3C, in which the grammars of XML, XPath and SPARQL are written. Begins with the
    /// first rule; every split of a text counts.
    W3c,
    /// ABNF of RFC 5234 and 7405, in which the IETF writes grammars. Begins with the first rule; every
    /// split of a text counts, and characters are Unicode's.
    Abnf,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Dialect; 7] = [
        Dialect::Gbnf,
        Dialect::Ebnf,
        Dialect::Lark,
        Dialect::LarkSplits,
        Dialect::LarkAscii,
        Dialect::W3c,
        Dialect::Abnf,
    ];

    /// Returns its name, as [`FromStr`] reads it.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Gbnf => "gbnf",
            Dialect::Ebnf => "ebnf",
            Dialect::Lark => "lark",
            Dialect::LarkSplits => "lark-splits",
            Dialect::LarkAscii => "lark-ascii",
            Dialect::W3c => "w3c",
            Dialect::Abnf => "abnf",
        }
    }

    /// Returns the dialect that a text looks like: without `::=` it is Lark. With it, names,
    /// options or calls that GBNF does not have make it EBNF. That of the W3C is never guessed,
    /// because `#x41` is a comment elsewhere, and neither is ABNF, because indentation has a meaning there.
    ///
    /// ```
    /// use grammar::Dialect;
    ///
    /// assert_eq!(Dialect::guess("start: \"a\"+"), Dialect::Lark);
    /// assert_eq!(Dialect::guess("root ::= \"a\"+"), Dialect::Gbnf);
    /// ```
    pub fn guess(text: &str) -> Dialect {
        if !text.contains("::=") {
            return Dialect::Lark;
        }
        let names = text.lines().filter_map(|line| line.split_once("::="));
        let mut names = names.map(|(name, _)| name);
        let has_call = ["Regex(", "Substring(", "TagDispatch("]
            .iter()
            .any(|call| text.contains(call));
        match has_call || names.any(|name| name.contains(['_', '.', '['])) {
            true => Dialect::Ebnf,
            false => Dialect::Gbnf,
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Dialect {
    type Err = Error;

    fn from_str(name: &str) -> Result<Dialect, Error> {
        let known = Dialect::ALL
            .into_iter()
            .find(|dialect| dialect.name() == name);
        known.ok_or_else(|| {
            let names = Dialect::ALL.map(Dialect::name).join(", ");
            Error::new(
                ErrorKind::Name,
                format!("no dialect `{name}`: there are {names}"),
            )
        })
    }
}
