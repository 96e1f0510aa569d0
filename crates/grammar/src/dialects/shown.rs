//! Expressions as people read them, in places and errors, whatever dialect they were written in. For
//! example, a digit and letters of GBNF are shown as `[0-9] [a-z]+`.

use std::fmt::{self, Display, Formatter, Write as _};

use crate::dialects::ast::Expr;

/// The most characters of an expression that are shown, so that a place stays on a line.
const MAX_SHOWN: usize = 48;

/// The most ranges of a class that are shown, because those of Unicode have hundreds.
const MAX_RANGES: usize = 8;

/// Returns something as text, cut where it is long. O(what is shown).
pub(crate) fn shown(all: impl Display) -> String {
    let mut cut = Cut {
        text: String::new(),
        left: MAX_SHOWN,
    };
    if write!(cut, "{all}").is_err() {
        cut.text.push_str("..");
    }
    cut.text
}

/// Expressions side by side, as those of a sequence or alternatives.
pub(crate) struct Beside<'e> {
    pub(crate) all: Vec<&'e Expr>,
    pub(crate) sign: &'static str,
}

impl Display for Beside<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (at, part) in self.all.iter().enumerate() {
            f.write_str(if at == 0 { "" } else { self.sign })?;
            match part {
                // They bind less than a sequence does.
                Expr::Alt(_) | Expr::And(_) if self.sign == " " => write!(f, "({part})")?,
                _ => part.fmt(f)?,
            }
        }
        Ok(())
    }
}

impl Expr {
    /// Tells whether it binds what stands beside it less than a repetition does.
    fn is_loose(&self) -> bool {
        matches!(self, Expr::Seq(_) | Expr::Alt(_) | Expr::And(_))
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Empty => f.write_str("\"\""),
            Expr::Text {
                text, ignore_case, ..
            } => write!(f, "{text:?}{}", if *ignore_case { "i" } else { "" }),
            Expr::Regex { pattern, .. } => write!(f, "/{pattern}/"),
            Expr::Class(ranges) => class(ranges, f),
            Expr::Name { name, .. } | Expr::Use { name, .. } | Expr::Special { name, .. } => {
                f.write_str(name)
            }
            Expr::If { of, .. } | Expr::Most { of, .. } => of.fmt(f),
            Expr::Seq(parts) => between(parts, " ", f),
            Expr::Alt(parts) => between(parts, " | ", f),
            Expr::And(parts) => between(parts, " & ", f),
            Expr::Not(of) => write!(f, "~{}", Tight(of)),
            Expr::Repeat { of, min, max } => {
                Tight(of).fmt(f)?;
                match (min, max) {
                    (0, None) => f.write_char('*'),
                    (1, None) => f.write_char('+'),
                    (0, Some(1)) => f.write_char('?'),
                    (min, None) => write!(f, "{{{min},}}"),
                    (min, Some(max)) if min == max => write!(f, "{{{min}}}"),
                    (min, Some(max)) => write!(f, "{{{min},{max}}}"),
                }
            }
            Expr::Json { .. } => f.write_str("%json"),
            Expr::Nested { .. } => f.write_str("%lark"),
            Expr::Substring { .. } => f.write_str("a substring"),
            Expr::Dispatch { .. } => f.write_str("free text with tags"),
        }
    }
}

/// A text that ends where it is long enough.
struct Cut {
    text: String,
    left: usize,
}

impl fmt::Write for Cut {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
            self.text.push(c);
        }
        Ok(())
    }
}

/// An expression in parentheses where it needs them beside an operator.
struct Tight<'e>(&'e Expr);

impl Display for Tight<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0.is_loose() {
            true => write!(f, "({})", self.0),
            false => self.0.fmt(f),
        }
    }
}

fn between(parts: &[Expr], sign: &'static str, f: &mut Formatter<'_>) -> fmt::Result {
    let all = parts.iter().collect();
    Beside { all, sign }.fmt(f)
}

fn class(ranges: &[(char, char)], f: &mut Formatter<'_>) -> fmt::Result {
    f.write_char('[')?;
    for &(first, last) in ranges.iter().take(MAX_RANGES) {
        write!(f, "{}", first.escape_default())?;
        if first != last {
            write!(f, "-{}", last.escape_default())?;
        }
    }
    f.write_str(if ranges.len() > MAX_RANGES {
        "..]"
    } else {
        "]"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_shown_as_they_could_be_written() {
        let a = || Expr::text("a", 0);
        let digits = || Expr::Class(vec![('0', '9')]).repeat(1, None);
        let both = Expr::Alt(vec![a(), Expr::Seq(vec![digits(), a()])]);
        assert_eq!(shown(&both), "\"a\" | [0-9]+ \"a\"");
        let seq = Expr::Seq(vec![both.clone().repeat(0, Some(3)), both]);
        assert_eq!(
            seq.to_string(),
            "(\"a\" | [0-9]+ \"a\"){0,3} (\"a\" | [0-9]+ \"a\")"
        );
        assert_eq!(shown(Expr::Not(Box::new(a()))), "~\"a\"");
        let long = shown(Expr::Seq(vec![a(); 40]));
        assert!(long.ends_with("..") && long.chars().count() == MAX_SHOWN + 2);
    }
}
