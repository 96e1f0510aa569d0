//! Sets of characters with the meaning Python's `re` gives them.
//!
//! Strings here may stand for text with lone surrogates (see [`crate::text`]), so every
//! code point of a pattern, surrogates included, maps to one `char`.
//!
//! For example, `\s` has U+001C, which Rust's `\s` has not.

use std::sync::OnceLock;

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange, HirKind};

use crate::text::stand_in;

/// Whose regular expressions a pattern is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// The standard library's `re`, as in CPython 3.11.
    Re,
    /// The module `regex` of PyPI, in its version 0 behaviour.
    Regex,
}

/// A category escape such as `\d`, before negation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Category {
    Digit,
    Space,
    Word,
    /// `\h`, of `regex` alone: blanks within a line.
    Horizontal,
}

/// The comparison of letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fold {
    /// Exactly.
    Case,
    /// Without regard to case, over all of Unicode, as `re` does.
    Unicode,
    /// Without regard to case, over all of Unicode, as `regex` does.
    Simple,
    /// Without regard to case, ASCII letters only.
    Ascii,
}

/// The members of a category, over Unicode or ASCII only (flag `a`).
pub(crate) fn category(
    category: Category,
    dialect: Dialect,
    ascii: bool,
    negated: bool,
) -> ClassUnicode {
    let mut class = match (category, ascii) {
        (Category::Digit, false) => unicode_digit().clone(),
        (Category::Space, false) if dialect == Dialect::Regex => named(r"\p{White_Space}"),
        (Category::Space, false) => unicode_space().clone(),
        (Category::Word, false) if dialect == Dialect::Regex => named(r"\w"),
        (Category::Word, false) => unicode_word().clone(),
        (Category::Horizontal, false) => named(r"[\t\p{Zs}]"),
        (Category::Horizontal, true) => ranges(&[('\t', '\t'), (' ', ' ')]),
        (Category::Digit, true) => ranges(&[('0', '9')]),
        (Category::Space, true) => ranges(&[('\t', '\r'), (' ', ' ')]),
        (Category::Word, true) => ranges(&[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')]),
    };
    if negated {
        negate(&mut class);
    }
    class
}

/// The characters that are not in `class`.
///
/// Sets that reach up to U+D7FF and go on at U+E000 are joined first: the crate that holds
/// them compares code points and would take the surrogates between for a gap.
pub(crate) fn negate(class: &mut ClassUnicode) {
    let holds = |c: char| {
        class
            .ranges()
            .iter()
            .any(|range| range.start() <= c && c <= range.end())
    };
    if holds('\u{D7FF}') && holds('\u{E000}') {
        class.push(ClassUnicodeRange::new('\u{D7FF}', '\u{E000}'));
    }
    class.negate();
}

/// The members of the Unicode property `name`, if there is one.
pub(crate) fn property(name: &str) -> Option<ClassUnicode> {
    let plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ' ' | '=' | ':' | '&');
    if name.is_empty() || !name.chars().all(plain) {
        return None;
    }
    let name = match name {
        "L&" | "l&" => "LC",
        name => name,
    };
    let pattern = match name.to_ascii_lowercase().as_str() {
        "word" => r"\w".to_owned(),
        "alnum" => r"[\p{Alphabetic}\p{Nd}]".to_owned(),
        "blank" | "horizspace" => r"[\t\p{Zs}]".to_owned(),
        "digit" => r"\p{Nd}".to_owned(),
        "xdigit" => r"\p{Hex_Digit}".to_owned(),
        "graph" => r"[^\p{White_Space}\p{Cc}\p{Cs}\p{Cn}]".to_owned(),
        "print" => r"[\p{Zs}[^\p{White_Space}\p{Cc}\p{Cs}\p{Cn}]]".to_owned(),
        "cntrl" => r"\p{Cc}".to_owned(),
        _ => format!(r"\p{{{name}}}"),
    };
    match regex_syntax::parse(&pattern).map(regex_syntax::hir::Hir::into_kind) {
        Ok(HirKind::Class(regex_syntax::hir::Class::Unicode(class))) => Some(class),
        // A property with one member.
        Ok(HirKind::Literal(literal)) => {
            let text = std::str::from_utf8(&literal.0).ok()?;
            let c = text.chars().next()?;
            Some(ranges(&[(c, c)]))
        }
        _ => None,
    }
}

/// Leaves the ASCII members.
pub(crate) fn keep_ascii(class: &mut ClassUnicode) {
    class.intersect(&ranges(&[('\0', '\x7F')]));
}

/// `\d`: decimal digits of any script.
fn unicode_digit() -> &'static ClassUnicode {
    /// Made once, because it is parsed from a pattern.
    static CLASS: OnceLock<ClassUnicode> = OnceLock::new();
    CLASS.get_or_init(|| named(r"\p{Nd}"))
}

/// `\s`: White_Space and, unlike Rust's, the four information separators.
fn unicode_space() -> &'static ClassUnicode {
    /// Made once, because it is parsed from a pattern.
    static CLASS: OnceLock<ClassUnicode> = OnceLock::new();
    CLASS.get_or_init(|| named(r"[\p{White_Space}\x1C-\x1F]"))
}

/// `\w`: letters, numbers and the underscore; unlike Rust's, no marks and no joiners.
fn unicode_word() -> &'static ClassUnicode {
    /// Made once, because it is parsed from a pattern.
    static CLASS: OnceLock<ClassUnicode> = OnceLock::new();
    CLASS.get_or_init(|| named(r"[\p{L}\p{N}_]"))
}

/// Tells whether `c` is `\w` for the module `regex`, and for Rust.
pub(crate) fn is_word(c: char) -> bool {
    /// Made once, because it is parsed from a pattern.
    static SET: OnceLock<CharSet> = OnceLock::new();
    SET.get_or_init(|| CharSet::new(&named(r"\w"))).contains(c)
}

/// Characters that are `\w` for exactly one of Python and Rust: where a text has none of
/// them, a word boundary is the same for both.
fn disputed_word() -> &'static CharSet {
    /// Made once, because it is the difference of two large sets.
    static SET: OnceLock<CharSet> = OnceLock::new();
    SET.get_or_init(|| {
        let mut rust = named(r"\w");
        rust.symmetric_difference(unicode_word());
        CharSet::new(&rust)
    })
}

/// Tells whether Rust's word boundaries are Python's everywhere in `text`. Linear.
pub(crate) fn word_boundaries_agree(text: &str) -> bool {
    text.is_ascii()
        || !text
            .chars()
            .any(|c| !c.is_ascii() && disputed_word().contains(c))
}

/// Tells whether `name` is a Python identifier.
pub(crate) fn is_identifier(name: &str) -> bool {
    /// Made once, because it is parsed from a pattern.
    static START: OnceLock<CharSet> = OnceLock::new();
    /// Made once, because it is parsed from a pattern.
    static CONTINUE: OnceLock<CharSet> = OnceLock::new();
    let start = START.get_or_init(|| CharSet::new(&named(r"[\p{XID_Start}_]")));
    let rest = CONTINUE.get_or_init(|| CharSet::new(&named(r"\p{XID_Continue}")));
    let mut chars = name.chars();
    chars.next().is_some_and(|c| start.contains(c)) && chars.all(|c| rest.contains(c))
}

fn named(pattern: &str) -> ClassUnicode {
    match regex_syntax::parse(pattern).map(regex_syntax::hir::Hir::into_kind) {
        Ok(HirKind::Class(regex_syntax::hir::Class::Unicode(class))) => class,
        other => unreachable!("{pattern} is a fixed class: {other:?}"),
    }
}

fn ranges(list: &[(char, char)]) -> ClassUnicode {
    ClassUnicode::new(list.iter().map(|&(a, b)| ClassUnicodeRange::new(a, b)))
}

/// Adds the code points `low..=high` (at most U+10FFFF) to `class`.
pub(crate) fn add_code_points(class: &mut ClassUnicode, low: u32, high: u32) {
    // Surrogates are kept apart as their stand-ins; the rest are plain characters.
    for (a, b) in [(low, high.min(0xD7FF)), (low.max(0xE000), high)] {
        if let (true, Some(a), Some(b)) = (a <= b, char::from_u32(a), char::from_u32(b)) {
            class.push(ClassUnicodeRange::new(a, b));
        }
    }
    let (a, b) = (low.max(0xD800), high.min(0xDFFF));
    if a <= b {
        class.push(ClassUnicodeRange::new(stand_in(a), stand_in(b)));
    }
}

/// Adds every character that Python's case-insensitive matching takes for a member.
pub(crate) fn close_under_case(class: &mut ClassUnicode, fold: Fold) {
    match fold {
        Fold::Case => {}
        Fold::Ascii => {
            let mut upper = ranges(&[('A', 'Z')]);
            upper.intersect(class);
            let mut lower = ranges(&[('a', 'z')]);
            lower.intersect(class);
            for range in upper.ranges() {
                add_code_points(class, range.start() as u32 + 32, range.end() as u32 + 32);
            }
            for range in lower.ranges() {
                add_code_points(class, range.start() as u32 - 32, range.end() as u32 - 32);
            }
        }
        Fold::Unicode | Fold::Simple => {
            class.case_fold_simple();
            let orbit = match fold {
                Fold::Unicode => EXTRA_ORBIT,
                _ => &EXTRA_ORBIT[..3],
            };
            let mut met = ClassUnicode::new(orbit.iter().map(|&c| ClassUnicodeRange::new(c, c)));
            let all = met.clone();
            met.intersect(class);
            if !met.ranges().is_empty() {
                class.union(&all);
            }
        }
    }
}

/// Characters that Python's `re` takes for each other without regard to case although Unicode's
/// simple case folding does not, because both have the other's lower or upper case. The module
/// `regex` does so with the first three.
const EXTRA_ORBIT: &[char] = &['i', 'I', '\u{130}', '\u{131}'];

/// Tells whether two characters are the same under `fold`.
pub(crate) fn same(a: char, b: char, fold: Fold) -> bool {
    if a == b {
        return true;
    }
    match fold {
        Fold::Case => false,
        Fold::Ascii => a.eq_ignore_ascii_case(&b),
        Fold::Unicode | Fold::Simple => {
            let mut class = ranges(&[(a, a)]);
            close_under_case(&mut class, fold);
            CharSet::new(&class).contains(b)
        }
    }
}

/// A set of characters made for membership tests: a bit mask for ASCII, a binary search
/// for the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CharSet {
    ascii: u128,
    rest: Box<[(char, char)]>,
}

impl CharSet {
    pub(crate) fn new(class: &ClassUnicode) -> CharSet {
        let mut ascii = 0u128;
        let mut rest = Vec::new();
        for range in class.ranges() {
            for c in range.start()..=range.end().min('\x7F') {
                ascii |= 1 << (c as u32);
            }
            if range.end() > '\x7F' {
                rest.push((range.start().max('\u{80}'), range.end()));
            }
        }
        CharSet {
            ascii,
            rest: rest.into(),
        }
    }

    #[inline]
    pub(crate) fn contains(&self, c: char) -> bool {
        if c.is_ascii() {
            return self.ascii >> (c as u32) & 1 == 1;
        }
        let at = self.rest.partition_point(|&(_, high)| high < c);
        self.rest.get(at).is_some_and(|&(low, _)| low <= c)
    }
}
