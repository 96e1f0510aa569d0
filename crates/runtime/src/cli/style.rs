//! Colours, where a person looks at a terminal that wants them. For example, a heading is bold on a
//! terminal and plain in a pipe.

use std::fmt::Display;
use std::io::IsTerminal as _;

/// Paints text, or leaves it plain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    colour: bool,
}

/// The role of a piece of text, which decides its colour.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Paint {
    Heading,
    Good,
    Bad,
    Forced,
    Faint,
}

impl Style {
    /// Colours if standard output is a terminal and `NO_COLOR` (no-color.org)
    /// is not set.
    pub(crate) fn for_stdout() -> Style {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        Style {
            colour: wanted && std::io::stdout().is_terminal(),
        }
    }

    /// The same for standard error.
    pub(crate) fn for_stderr() -> Style {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        Style {
            colour: wanted && std::io::stderr().is_terminal(),
        }
    }

    pub(crate) fn has_colour(self) -> bool {
        self.colour
    }

    pub(crate) fn paint(self, paint: Paint, text: impl Display) -> String {
        if !self.colour {
            return text.to_string();
        }
        let code = match paint {
            Paint::Heading => "1",
            Paint::Good => "32",
            Paint::Bad => "31",
            Paint::Forced => "36",
            Paint::Faint => "2",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}
