//! Texts that are formatted with `%`.
//!
//! For example, `%-5d|` is a field of five places for an integer, and a bar.

use super::field::{character, field_of_float, field_of_integer, field_of_text};
use super::spec::{FormatError, Spec, number, wrong};

/// A piece of a text that is formatted with `%`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Percent<'t> {
    /// Text as it is.
    Text(&'t str),
    /// A place for a value.
    Field(Directive<'t>),
}

/// A place for a value in a text that is formatted with `%`: `%(name)-5d`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Directive<'t> {
    /// The key of a map, in place of the next value.
    pub name: Option<&'t str>,
    /// The letter at the end.
    pub kind: char,
    /// The layout of the value.
    pub spec: Spec,
}

/// The next piece of a text that is formatted with `%`, which it takes from the front of
/// `rest`; none at the end.
///
/// # Errors
///
/// A directive is malformed or too wide.
///
/// ```
/// use python_compat::format::{Percent, next_percent};
///
/// let mut rest = "%(n)04d%%";
/// let Some(Percent::Field(place)) = next_percent(&mut rest)? else {
///     panic!("a place comes first");
/// };
/// assert_eq!(place.integer(7), "0007");
/// assert_eq!(rest, "%%");
/// # Ok::<(), python_compat::format::FormatError>(())
/// ```
pub fn next_percent<'t>(rest: &mut &'t str) -> Result<Option<Percent<'t>>, FormatError> {
    let text = *rest;
    let Some(mut after) = text.strip_prefix('%') else {
        if text.is_empty() {
            return Ok(None);
        }
        let (plain, after) = text.split_at(text.find('%').unwrap_or(text.len()));
        *rest = after;
        return Ok(Some(Percent::Text(plain)));
    };
    let mut name = None;
    if let Some(inside) = after.strip_prefix('(') {
        let Some((key, behind)) = inside.split_once(')') else {
            return Err(wrong("incomplete format key"));
        };
        name = Some(key);
        after = behind;
    }
    let mut spec = Spec::default();
    let flags = after.find(|c| !"#0- +".contains(c)).unwrap_or(after.len());
    for flag in after[..flags].chars() {
        match flag {
            '#' => spec.alternate = true,
            '0' => spec.fill = Some('0'),
            '-' => spec.align = Some('<'),
            '+' => spec.sign = Some('+'),
            _ => spec.sign = spec.sign.or(Some(' ')),
        }
    }
    after = &after[flags..];
    spec.width = number(&mut after)?.unwrap_or(0);
    if let Some(behind) = after.strip_prefix('.') {
        after = behind;
        spec.precision = Some(number(&mut after)?.unwrap_or(0));
    }
    let mut characters = after.chars();
    let Some(kind) = characters.next() else {
        return Err(wrong("incomplete format"));
    };
    *rest = characters.as_str();
    Ok(Some(match kind {
        '%' => Percent::Text("%"),
        kind => Percent::Field(Directive { name, kind, spec }),
    }))
}

impl Directive<'_> {
    /// Lays out a text, for `%s` and its like.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        let spec = Spec {
            align: self.spec.align.or(Some('>')),
            fill: None,
            ..self.spec.clone()
        };
        field_of_text(text, &spec)
    }

    /// Lays out an integer, for `%d`, `%x` and their like.
    #[must_use]
    pub fn integer(&self, number: i128) -> String {
        let kind = match self.kind {
            kind @ ('x' | 'X' | 'o') => kind,
            _ => 'd',
        };
        field_of_integer(number, kind, &self.sized())
    }

    /// Lays out a float, for `%f` and its like.
    #[must_use]
    pub fn float(&self, number: f64) -> String {
        field_of_float(number, Some(self.kind), &self.sized())
    }

    /// Lays out a character, for `%c`.
    #[must_use]
    pub fn character(&self, c: &str) -> String {
        let spec = Spec {
            precision: None,
            ..self.spec.clone()
        };
        Directive { spec, ..*self }.text(c)
    }

    /// Lays out the character of that code point, for `%c`.
    ///
    /// # Errors
    ///
    /// There is no such character.
    pub fn code_point(&self, code: i128) -> Result<String, FormatError> {
        Ok(self.character(&character(code)?))
    }

    /// Numbers padded with zeros are padded behind their sign.
    fn sized(&self) -> Spec {
        let spec = self.spec.clone();
        match (spec.align, spec.fill) {
            (None, Some('0')) => Spec {
                align: Some('='),
                ..spec
            },
            (Some(_), _) => Spec { fill: None, ..spec },
            _ => spec,
        }
    }
}
