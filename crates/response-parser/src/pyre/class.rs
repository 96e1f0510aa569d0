//! Sets of characters with the meaning Python's `re` gives them.
//!
//! Strings here may stand for text with lone surrogates (see [`crate::text`]), so every
//! code point of a pattern, surrogates included, maps to one `char`.

use std::sync::OnceLock;

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange, HirKind};

use crate::text::stand_in;

/// A category escape such as `\d`, before negation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Category {
    Digit,
    Space,
    Word,
}

/// How letters are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    /// Exactly.
    Case,
    /// Without regard to case, over all of Unicode.
    Unicode,
    /// Without regard to case, ASCII letters only.
    Ascii,
}

/// The members of a category, over Unicode or ASCII only (flag `a`).
pub(super) fn category(category: Category, ascii: bool, negated: bool) -> ClassUnicode {
    let mut class = match (category, ascii) {
        (Category::Digit, false) => unicode_digit().clone(),
        (Category::Space, false) => unicode_space().clone(),
        (Category::Word, false) => unicode_word().clone(),
        (Category::Digit, true) => ranges(&[('0', '9')]),
        (Category::Space, true) => ranges(&[('\t', '\r'), (' ', ' ')]),
        (Category::Word, true) => ranges(&[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')]),
    };
    if negated {
        class.negate();
    }
    class
}

/// `\d`: decimal digits of any script.
fn unicode_digit() -> &'static ClassUnicode {
    static CLASS: OnceLock<ClassUnicode> = OnceLock::new();
    CLASS.get_or_init(|| named(r"\p{Nd}"))
}

/// `\s`: White_Space and, unlike Rust's, the four information separators.
fn unicode_space() -> &'static ClassUnicode {
    static CLASS: OnceLock<ClassUnicode> = OnceLock::new();
    CLASS.get_or_init(|| named(r"[\p{White_Space}\x1C-\x1F]"))
}

/// `\w`: letters, numbers and the underscore; unlike Rust's, no marks and no joiners.
fn unicode_word() -> &'static ClassUnicode {
    static CLASS: OnceLock<ClassUnicode> = OnceLock::new();
    CLASS.get_or_init(|| named(r"[\p{L}\p{N}_]"))
}

/// Characters that are `\w` for exactly one of Python and Rust: where a text has none of
/// them, a word boundary is the same for both.
fn disputed_word() -> &'static CharSet {
    static SET: OnceLock<CharSet> = OnceLock::new();
    SET.get_or_init(|| {
        let mut rust = named(r"\w");
        rust.symmetric_difference(unicode_word());
        CharSet::new(&rust)
    })
}

/// Whether Rust's word boundaries are Python's everywhere in `text`. Linear.
pub(super) fn word_boundaries_agree(text: &str) -> bool {
    text.is_ascii()
        || !text
            .chars()
            .any(|c| !c.is_ascii() && disputed_word().contains(c))
}

/// Whether `name` is a Python identifier.
pub(super) fn is_identifier(name: &str) -> bool {
    static START: OnceLock<CharSet> = OnceLock::new();
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
pub(super) fn add_code_points(class: &mut ClassUnicode, low: u32, high: u32) {
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
pub(super) fn close_under_case(class: &mut ClassUnicode, fold: Fold) {
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
        Fold::Unicode => {
            class.case_fold_simple();
            for orbit in EXTRA_ORBITS {
                let mut met = ranges(&orbit.map(|c| (c, c)));
                let all = met.clone();
                met.intersect(class);
                if !met.ranges().is_empty() {
                    class.union(&all);
                }
            }
        }
    }
}

/// Characters that Python's `re` takes for each other without regard to case although
/// Unicode's simple case folding does not: both have the other's lower or upper case.
const EXTRA_ORBITS: [[char; 4]; 1] = [['i', 'I', '\u{130}', '\u{131}']];

/// Whether two characters are the same under `fold`.
pub(super) fn same(a: char, b: char, fold: Fold) -> bool {
    if a == b {
        return true;
    }
    match fold {
        Fold::Case => false,
        Fold::Ascii => a.eq_ignore_ascii_case(&b),
        Fold::Unicode => {
            let mut class = ranges(&[(a, a)]);
            close_under_case(&mut class, fold);
            CharSet::new(&class).contains(b)
        }
    }
}

/// A set of characters made for membership tests: a bit mask for ASCII, a binary search
/// for the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CharSet {
    ascii: u128,
    rest: Box<[(char, char)]>,
}

impl CharSet {
    pub(super) fn new(class: &ClassUnicode) -> CharSet {
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
    pub(super) fn contains(&self, c: char) -> bool {
        if c.is_ascii() {
            return self.ascii >> (c as u32) & 1 == 1;
        }
        let at = self.rest.partition_point(|&(_, high)| high < c);
        self.rest.get(at).is_some_and(|&(low, _)| low <= c)
    }
}

/// The value of a decimal digit of any script.
pub(crate) fn digit_value(c: char) -> Option<u32> {
    if c.is_ascii() {
        return c.to_digit(10);
    }
    // Each range of `\p{Nd}` is made of whole runs from zero to nine.
    let ranges = unicode_digit().ranges();
    let at = ranges.partition_point(|range| range.end() < c);
    let range = ranges.get(at).filter(|range| range.start() <= c)?;
    Some((c as u32 - range.start() as u32) % 10)
}
