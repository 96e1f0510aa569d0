//! The layout of a value, as Python's format specifications say it.
//!
//! For example, `*^+9,d` is a field of nine places with stars on both sides of an integer.

/// The layout of one value.
///
/// ```
/// use python_compat::format::Spec;
///
/// let spec = Spec::parse("*^+9,d")?;
/// assert_eq!(spec.integer(1234, "int")?, "*+1,234**");
/// assert!(Spec::parse("q8!").is_err());
/// # Ok::<(), python_compat::format::FormatError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spec {
    pub(super) fill: Option<char>,
    pub(super) align: Option<char>,
    pub(super) sign: Option<char>,
    pub(super) alternate: bool,
    /// Numbers are padded behind their sign, because the width begins with a zero.
    pub(super) zeros: bool,
    pub(super) width: usize,
    pub(super) grouping: Option<char>,
    pub(super) precision: Option<usize>,
    /// The letter at the end, if there is one.
    pub(super) kind: Option<char>,
}

/// Why something cannot be formatted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FormatError {
    /// The format is malformed or does not suit the value; Python's words.
    Wrong(String),
    /// A field is wider than [`MAX_WIDTH`].
    TooWide,
}

/// The widest field, and the most digits, in code points: no prompt needs more, and Python's own
/// limit would let a short template ask for gigabytes, since it is only that of the memory.
pub const MAX_WIDTH: usize = 10_000;

#[cold]
pub(super) fn wrong(message: impl Into<String>) -> FormatError {
    FormatError::Wrong(message.into())
}

/// A number at the front.
pub(super) fn number(rest: &mut &str) -> Result<Option<usize>, FormatError> {
    let length = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (digits, after) = rest.split_at(length);
    *rest = after;
    if digits.is_empty() {
        return Ok(None);
    }
    match digits.parse() {
        Ok(number) if number <= MAX_WIDTH => Ok(Some(number)),
        _ => Err(FormatError::TooWide),
    }
}

impl Spec {
    /// Reads a format specification, `>8.3f`.
    ///
    /// # Errors
    ///
    /// It is none, or too wide.
    pub fn parse(spec: &str) -> Result<Self, FormatError> {
        let mut layout = Spec::default();
        let mut rest = spec;
        let mut characters = rest.chars();
        let (first, second) = (characters.next(), characters.next());
        let is_align = |c: Option<char>| c.is_some_and(|c| "<>=^".contains(c));
        if is_align(second) {
            (layout.fill, layout.align) = (first, second);
            rest = characters.as_str();
        } else if is_align(first) {
            layout.align = first;
            rest = &rest[1..];
        }
        if let Some(sign) = rest.chars().next().filter(|c| "+- ".contains(*c)) {
            layout.sign = Some(sign);
            rest = &rest[1..];
        }
        if let Some(after) = rest.strip_prefix('#') {
            layout.alternate = true;
            rest = after;
        }
        if rest.starts_with('0') {
            layout.fill = layout.fill.or(Some('0'));
            layout.zeros = layout.align.is_none();
            rest = &rest[1..];
        }
        layout.width = number(&mut rest)?.unwrap_or(0);
        if let Some(grouping) = rest.chars().next().filter(|c| ",_".contains(*c)) {
            layout.grouping = Some(grouping);
            rest = &rest[1..];
        }
        if let Some(after) = rest.strip_prefix('.') {
            rest = after;
            let precision = number(&mut rest)?;
            layout.precision =
                Some(precision.ok_or_else(|| wrong("Format specifier missing precision"))?);
        }
        let mut kinds = rest.chars();
        layout.kind = kinds.next();
        match kinds.next() {
            Some(_) => Err(wrong("Invalid format specifier")),
            None => Ok(layout),
        }
    }

    /// Returns the bytes that laying a value out costs beside the value: those that fill the field,
    /// and digits that are worked out one by one.
    #[must_use]
    pub fn cost(&self) -> usize {
        self.width * 4 + self.precision.unwrap_or(0) * 16
    }
}
