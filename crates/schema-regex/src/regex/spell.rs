//! The spelling of characters and texts in the printed expression: raw, or as the content of a JSON
//! string.
//!
//! For example, the character `é` in a JSON string may be written as itself or as `\u00e9`.

use std::fmt::Write as _;

use schema_normal::language::escapes;
use schema_normal::language::re::{CharSet, Re, char_set, set_contains};
use schema_normal::options::Escapes;

/// The most ranges of characters beyond ASCII that are also spelled as
/// `\uXXXX`. Wider sets (Unicode categories) have their characters raw alone
/// there, so that the text stays small; every value stays spellable.
const MAX_ESCAPED_RANGES: usize = 40;

/// The purpose of the text of an expression.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// Outside of strings: characters stand for themselves.
    Raw,
    /// Between the quotes of a JSON string.
    InString(Escapes),
}

/// The precedence of the surroundings: whether a group is needed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Precedence {
    Alt,
    Concat,
    Atom,
}

/// Prints `re` so that the text can stand in a sequence.
pub(super) fn print(re: &Re, place: Spelling) -> String {
    let mut printer = Speller {
        place,
        out: String::new(),
        any: String::new(),
    };
    printer.re(re, Precedence::Concat);
    printer.out
}

struct Speller {
    place: Spelling,
    out: String,
    /// The spelling of "any character", made once.
    any: String,
}

impl Speller {
    fn re(&mut self, re: &Re, level: Precedence) {
        match re {
            // An empty class: nothing matches it. Callers keep it out. An expression with
            // look-around is made an automaton before it is printed.
            Re::Never | Re::Look(..) => self.out.push_str("[^\\x{0}-\\x{10FFFF}]"),
            Re::Empty => {
                if level == Precedence::Atom {
                    self.out.push_str("(?:)");
                }
            }
            Re::Class(set) => self.class(set, level),
            Re::Concat(parts) => self.grouped(level > Precedence::Concat, |p| {
                for part in parts {
                    p.re(part, Precedence::Concat);
                }
            }),
            Re::Alt(parts) => self.grouped(level > Precedence::Alt, |p| {
                for (i, part) in parts.iter().enumerate() {
                    if i > 0 {
                        p.out.push('|');
                    }
                    p.re(part, Precedence::Concat);
                }
            }),
            Re::Repeat(inner, min, max) => self.grouped(level > Precedence::Concat, |p| {
                p.re(inner, Precedence::Atom);
                push_count(&mut p.out, *min, *max);
            }),
        }
    }

    fn grouped(&mut self, group: bool, body: impl FnOnce(&mut Self)) {
        if group {
            self.out.push_str("(?:");
        }
        body(self);
        if group {
            self.out.push(')');
        }
    }

    fn class(&mut self, set: &CharSet, level: Precedence) {
        if *set == all_chars() && self.place != Spelling::Raw {
            if self.any.is_empty() {
                self.any = group_parts(&class_parts(set, self.place));
            }
            self.out.push_str(&self.any);
            return;
        }
        let parts = class_parts(set, self.place);
        match parts.as_slice() {
            [(one, atom)] => {
                if *atom || level < Precedence::Atom {
                    self.out.push_str(one);
                } else {
                    let _ = write!(self.out, "(?:{one})");
                }
            }
            _ => self.out.push_str(&group_parts(&parts)),
        }
    }
}

fn group_parts(parts: &[(String, bool)]) -> String {
    let mut out = String::from("(?:");
    for (i, (part, _)) in parts.iter().enumerate() {
        if i > 0 {
            out.push('|');
        }
        out.push_str(part);
    }
    out.push(')');
    out
}

/// Appends the quantifier for `min..=max` turns.
pub(super) fn push_count(out: &mut String, min: u32, max: Option<u32>) {
    match (min, max) {
        (1, Some(1)) => {}
        (0, None) => out.push('*'),
        (1, None) => out.push('+'),
        (0, Some(1)) => out.push('?'),
        (n, None) => {
            let _ = write!(out, "{{{n},}}");
        }
        (n, Some(m)) if n == m => {
            let _ = write!(out, "{{{n}}}");
        }
        (n, Some(m)) => {
            let _ = write!(out, "{{{n},{m}}}");
        }
    }
}

fn all_chars() -> CharSet {
    char_set(&[('\0', char::MAX)])
}

/// Any character of a JSON string, spelled: for the places that say it often.
pub(super) fn any_char(escapes: Escapes) -> String {
    group_parts(&class_parts(&all_chars(), Spelling::InString(escapes)))
}

/// Returns the part of [`any_char`] that is not a raw ASCII character, without a group.
pub(super) fn beyond_raw_ascii(escapes: Escapes) -> String {
    let mut set = all_chars();
    set.difference(&char_set(&[(' ', '!'), ('#', '['), (']', '\x7F')]));
    let parts = class_parts(&set, Spelling::InString(escapes));
    parts
        .iter()
        .map(|(p, _)| p.as_str())
        .collect::<Vec<_>>()
        .join("|")
}

/// The content of a JSON string with this value.
pub(super) fn string_content(text: &str, escapes: Escapes) -> String {
    print(&Re::literal(text), Spelling::InString(escapes))
}

/// Returns the units of work of spelling a text. Characters that have several spellings take the
/// most.
pub(super) fn cost(text: &str) -> usize {
    let has_several = |c: char| c < ' ' || matches!(c, '"' | '\\' | '\u{7F}'..);
    let several = text.chars().filter(|c| has_several(*c)).count();
    text.len() * 12 + several * 90
}

/// The spellings of a set as alternatives; each says whether it binds as an
/// atom.
fn class_parts(set: &CharSet, place: Spelling) -> Vec<(String, bool)> {
    let Spelling::InString(escapes) = place else {
        return vec![(raw_class(set), true)];
    };
    let mut parts = Vec::new();
    let mut raw = set.clone();
    raw.difference(&char_set(&escapes::NEVER_RAW));
    if !raw.ranges().is_empty() {
        // The complement reads better where it is short.
        let text = raw_class(&raw);
        parts.push((text, true));
    }
    let mut escaped = Vec::new();
    let mut short = String::new();
    for letter in escapes::LETTERS {
        if escapes::character(*letter, escapes).is_some_and(|c| set_contains(set, c)) {
            push_raw(&mut short, char::from(*letter), true);
        }
    }
    match short.len() {
        0 => {}
        1 => escaped.push(short),
        _ if short == "\\\\" => escaped.push(short),
        _ => escaped.push(format!("[{short}]")),
    }
    // The characters that may be spelled \uXXXX.
    let mut wide = set.clone();
    wide.intersect(&char_set(escapes::by_number(escapes)));
    let beyond = wide.ranges().iter().filter(|r| r.end() > '\x7F').count();
    if beyond > MAX_ESCAPED_RANGES {
        wide.intersect(&char_set(&[('\0', '\x7F')]));
    }
    if !wide.ranges().is_empty() {
        escaped.push(format!("u{}", hex_units(&wide)));
    }
    match escaped.len() {
        0 => {}
        1 => parts.push((format!("\\\\{}", escaped[0]), false)),
        _ => parts.push((format!("\\\\(?:{})", escaped.join("|")), false)),
    }
    parts
}

/// A set as one bracketed class, or a literal where it is one character.
fn raw_class(set: &CharSet) -> String {
    let mut out = String::new();
    if let [one] = set.ranges()
        && one.start() == one.end()
    {
        push_raw(&mut out, one.start(), false);
        return out;
    }
    // Between U+D7FF and U+E000 there is no character, so a range across loses
    // nothing; without it the inverse would begin and end with these two.
    let mut set = set.clone();
    if set_contains(&set, '\u{D7FF}') && set_contains(&set, '\u{E000}') {
        set.union(&char_set(&[('\u{D7FF}', '\u{E000}')]));
    }
    let mut inverse = set.clone();
    inverse.negate();
    let use_inverse = set.ranges().last().is_some_and(|r| r.end() == char::MAX)
        && inverse.ranges().len() <= set.ranges().len()
        && !inverse.ranges().is_empty();
    out.push('[');
    if use_inverse {
        out.push('^');
    }
    for r in if use_inverse {
        inverse.ranges()
    } else {
        set.ranges()
    } {
        push_raw(&mut out, r.start(), true);
        if r.end() != r.start() {
            if u32::from(r.end()) > u32::from(r.start()) + 1 {
                out.push('-');
            }
            push_raw(&mut out, r.end(), true);
        }
    }
    out.push(']');
    out
}

fn push_raw(out: &mut String, c: char, in_class: bool) {
    let special = if in_class {
        "[]^-&~\\"
    } else {
        "\\.+*?()|[]{}^$"
    };
    match c {
        _ if special.contains(c) => {
            out.push('\\');
            out.push(c);
        }
        ' '..='~' => out.push(c),
        '\0'..='\x7F' => {
            let _ = write!(out, "\\x{:02X}", u32::from(c));
        }
        _ if c.is_alphanumeric() && !in_class => out.push(c),
        _ => {
            let _ = write!(out, "\\x{{{:X}}}", u32::from(c));
        }
    }
}

/// The UTF-16 units of a set's members, four hexadecimal digits each; the
/// answer follows a `\u` and binds as a sequence.
fn hex_units(set: &CharSet) -> String {
    let mut alternatives: Vec<String> = Vec::new();
    for r in set.ranges() {
        let (a, b) = (u32::from(r.start()), u32::from(r.end()));
        if a <= 0xFFFF {
            let top = b.min(0xFFFF);
            // Surrogates are no characters: the range is cut around them.
            if a < 0xD800 {
                hex_range(a, top.min(0xD7FF), &mut alternatives);
            }
            if top >= 0xE000 {
                hex_range(a.max(0xE000), top, &mut alternatives);
            }
        }
        if b > 0xFFFF {
            surrogate_pairs(a.max(0x1_0000) - 0x1_0000, b - 0x1_0000, &mut alternatives);
        }
    }
    alternatives.dedup();
    if alternatives.len() == 1 {
        alternatives.swap_remove(0)
    } else {
        format!("(?:{})", alternatives.join("|"))
    }
}

fn surrogate_pairs(a: u32, b: u32, out: &mut Vec<String>) {
    let (high_a, low_a) = (0xD800 + (a >> 10), 0xDC00 + (a & 0x3FF));
    let (high_b, low_b) = (0xD800 + (b >> 10), 0xDC00 + (b & 0x3FF));
    let mut pair = |h1: u32, h2: u32, l1: u32, l2: u32| {
        let (mut highs, mut lows) = (Vec::new(), Vec::new());
        hex_range(h1, h2, &mut highs);
        hex_range(l1, l2, &mut lows);
        out.push(format!("{}\\\\u{}", group(&highs), group(&lows)));
    };
    if high_a == high_b {
        pair(high_a, high_a, low_a, low_b);
        return;
    }
    let mut from = high_a;
    let mut to = high_b;
    if low_a != 0xDC00 {
        pair(high_a, high_a, low_a, 0xDFFF);
        from += 1;
    }
    if low_b != 0xDFFF {
        to -= 1;
    }
    if from <= to {
        pair(from, to, 0xDC00, 0xDFFF);
    }
    if low_b != 0xDFFF {
        pair(high_b, high_b, 0xDC00, low_b);
    }
}

fn group(alternatives: &[String]) -> String {
    if alternatives.len() == 1 {
        alternatives[0].clone()
    } else {
        format!("(?:{})", alternatives.join("|"))
    }
}

/// Four-digit hexadecimal numbers `a..=b`, in either case.
fn hex_range(a: u32, b: u32, out: &mut Vec<String>) {
    hex_split(a, b, 4, "", out);
}

fn hex_split(a: u32, b: u32, digits: u32, prefix: &str, out: &mut Vec<String>) {
    if digits == 0 {
        out.push(prefix.to_owned());
        return;
    }
    let unit = 1u32 << (4 * (digits - 1));
    let (first, last) = (a / unit, b / unit);
    let tail_any = |digits: u32| match digits {
        0 => String::new(),
        1 => "[0-9A-Fa-f]".to_owned(),
        n => format!("[0-9A-Fa-f]{{{n}}}"),
    };
    let full = |from: u32, to: u32, out: &mut Vec<String>| {
        if from <= to {
            out.push(format!(
                "{prefix}{}{}",
                hex_class(from, to),
                tail_any(digits - 1)
            ));
        }
    };
    let (a_rest, b_rest) = (a % unit, b % unit);
    let a_full = a_rest == 0;
    let b_full = b_rest == unit - 1;
    if first == last {
        if a_full && b_full {
            full(first, last, out);
        } else {
            hex_split(
                a_rest,
                b_rest,
                digits - 1,
                &format!("{prefix}{}", hex_class(first, first)),
                out,
            );
        }
        return;
    }
    let mut from = first;
    if !a_full {
        hex_split(
            a_rest,
            unit - 1,
            digits - 1,
            &format!("{prefix}{}", hex_class(first, first)),
            out,
        );
        from += 1;
    }
    let to = if b_full { last } else { last - 1 };
    if from <= to {
        full(from, to, out);
    }
    if !b_full {
        hex_split(
            0,
            b_rest,
            digits - 1,
            &format!("{prefix}{}", hex_class(last, last)),
            out,
        );
    }
}

fn hex_class(a: u32, b: u32) -> String {
    let digit = |d: u32| char::from_digit(d, 16).unwrap_or('0');
    if a == b {
        let c = digit(a);
        return if c.is_ascii_digit() {
            c.to_string()
        } else {
            format!("[{}{c}]", c.to_ascii_uppercase())
        };
    }
    let mut out = String::from("[");
    let mut span = |from: char, to: char| {
        out.push(from);
        if to != from {
            if u32::from(to) > u32::from(from) + 1 {
                out.push('-');
            }
            out.push(to);
        }
    };
    if a <= 9 {
        span(digit(a), digit(b.min(9)));
    }
    if b >= 10 {
        let (x, y) = (digit(a.max(10)), digit(b));
        span(x.to_ascii_uppercase(), y.to_ascii_uppercase());
        span(x, y);
    }
    out.push(']');
    out
}

#[cfg(test)]
mod tests {
    use crate::regex::spell::{Spelling, any_char, hex_range, print};
    use regex_automata::meta::Regex;
    use schema_normal::language::re::{Re, char_set};
    use schema_normal::options::Escapes;

    fn whole(text: &str) -> Regex {
        Regex::new(&format!("^(?:{text})$")).unwrap()
    }

    #[test]
    fn hex_ranges_are_exact() {
        for (a, b) in [
            (0, 0x1F),
            (0x80, 0xD7FF),
            (0xE000, 0xFFFF),
            (0x12AB, 0x12AB),
            (0x0FF0, 0x2001),
        ] {
            let mut parts = Vec::new();
            hex_range(a, b, &mut parts);
            let re = whole(&parts.join("|"));
            for n in 0..=0xFFFFu32 {
                let inside = (a..=b).contains(&n);
                assert_eq!(re.is_match(&format!("{n:04x}")), inside, "{n:x}");
                assert_eq!(re.is_match(&format!("{n:04X}")), inside, "{n:X}");
            }
        }
    }

    #[test]
    fn any_char_is_every_character_once() {
        let re = whole(&any_char(Escapes::Standard));
        for c in (0..=0x10_FFFFu32).filter_map(char::from_u32) {
            let raw = c.to_string();
            let legal = c >= ' ' && c != '"' && c != '\\';
            assert_eq!(re.is_match(&raw), legal, "{c:?}");
            let json = serde_json::to_string(&raw).unwrap();
            assert!(re.is_match(&json[1..json.len() - 1]), "{json}");
            let mut units = [0; 2];
            let escaped: String = c
                .encode_utf16(&mut units)
                .iter()
                .map(|u| format!("\\u{u:04x}"))
                .collect();
            assert_eq!(
                re.is_match(&escaped),
                !(' '..='\x7F').contains(&c),
                "{escaped}"
            );
        }
        for bad in [
            "\\ud800",
            "\\udc00",
            "\\ud800\\ud800",
            "\\/",
            "\\a",
            "\t",
            "",
        ] {
            assert!(!re.is_match(bad), "{bad}");
        }
        let all = whole(&any_char(Escapes::All));
        for good in ["\\/", "\\u0041", "\\u002F", "\\ud83d\\ude00"] {
            assert!(all.is_match(good), "{good}");
        }
        assert!(!all.is_match("\\ud83d"));
    }

    #[test]
    fn astral_ranges_are_exact() {
        let set = char_set(&[('\u{10123}', '\u{12345}')]);
        let re = whole(&print(
            &Re::Class(set),
            Spelling::InString(Escapes::Standard),
        ));
        for c in (0x1_0000..=0x1_3000u32).filter_map(char::from_u32) {
            let mut units = [0; 2];
            let escaped: String = c
                .encode_utf16(&mut units)
                .iter()
                .map(|u| format!("\\u{u:04x}"))
                .collect();
            assert_eq!(
                re.is_match(&escaped),
                ('\u{10123}'..='\u{12345}').contains(&c)
            );
        }
    }
}
