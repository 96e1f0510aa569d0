//! Text as Python makes and changes it.

use minijinja::Value;

use super::value::{SequenceKind, View, view};

/// Python's `str()`.
pub(crate) fn str(value: &Value) -> String {
    match view(value) {
        View::Undefined => String::new(),
        View::Text(text) => text.to_owned(),
        _ => repr(value),
    }
}

/// Python's `repr()`.
pub(crate) fn repr(value: &Value) -> String {
    let mut out = String::new();
    write_repr(&mut out, value);
    out
}

fn write_repr(out: &mut String, value: &Value) {
    match view(value) {
        View::Undefined => out.push_str("Undefined"),
        View::None => out.push_str("None"),
        View::Bool(true) => out.push_str("True"),
        View::Bool(false) => out.push_str("False"),
        View::Int(value) => out.push_str(&value.to_string()),
        View::Float(value) => out.push_str(&float_repr(value)),
        View::Text(text) => quote(out, text),
        View::Sequence(sequence) => {
            let (open, close) = match sequence.kind {
                SequenceKind::List => ("[".to_owned(), "]"),
                SequenceKind::Tuple | SequenceKind::Group => ("(".to_owned(), ")"),
                SequenceKind::View(name) => (format!("{name}(["), "])"),
                SequenceKind::Generator => {
                    out.push_str("<generator object>");
                    return;
                }
                SequenceKind::Range { start, stop, step } => {
                    out.push_str(&match step {
                        1 => format!("range({start}, {stop})"),
                        _ => format!("range({start}, {stop}, {step})"),
                    });
                    return;
                }
            };
            out.push_str(&open);
            for (at, item) in sequence.items.iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                write_repr(out, item);
            }
            if sequence.kind == SequenceKind::Tuple && sequence.items.len() == 1 {
                out.push(',');
            }
            out.push_str(close);
        }
        View::Dict(dict) => {
            out.push('{');
            for (at, (key, value)) in dict.entries.iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                write_repr(out, key);
                out.push_str(": ");
                write_repr(out, value);
            }
            out.push('}');
        }
        View::Namespace(namespace) => {
            out.push_str("<Namespace {");
            for (at, (name, value)) in namespace.entries().iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                quote(out, name);
                out.push_str(": ");
                write_repr(out, value);
            }
            out.push_str("}>");
        }
        View::Other => out.push_str(&value.to_string()),
    }
}

/// Python's quotes: single ones, unless the text has those and no double ones.
fn quote(out: &mut String, text: &str) {
    let quote = match text.contains('\'') && !text.contains('"') {
        true => '"',
        false => '\'',
    };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if is_printable(c) => out.push(c),
            c => match u32::from(c) {
                code @ 0..=0xff => out.push_str(&format!("\\x{code:02x}")),
                code @ 0..=0xffff => out.push_str(&format!("\\u{code:04x}")),
                code => out.push_str(&format!("\\U{code:08x}")),
            },
        }
    }
    out.push(quote);
}

/// Python's `str.isprintable` for one character: no control, format,
/// separator (but for the blank), private or unassigned character. Rust's
/// `escape_debug` knows the same classes; it also escapes what extends a
/// grapheme, which Python prints.
pub(crate) fn is_printable(c: char) -> bool {
    match c {
        ' '..='~' => true,
        '\u{ad}' => false,
        // Private use.
        '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}' => false,
        c if c.is_control() || c.is_whitespace() => false,
        c => {
            // In the middle of a string a character that extends a grapheme
            // is not escaped by `str::escape_debug`.
            let mut text = String::from("a");
            text.push(c);
            !text.escape_debug().any(|c| c == '\\')
        }
    }
}

/// The shortest text that reads back as the same float, laid out as Python
/// does: exponents from 1e16 and below 1e-4.
pub(crate) fn float_repr(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        return format!("{value:?}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// White space, as `str.strip()` and `str.isspace()` see it.
pub(crate) use crate::template::is_space;

/// Cuts at white space, as `str.split()` does; at most `most` times.
pub(crate) fn split_space(text: &str, most: Option<usize>) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text.trim_start_matches(is_space);
    while !rest.is_empty() {
        if most.is_some_and(|most| parts.len() >= most) {
            parts.push(rest);
            return parts;
        }
        let end = rest.find(is_space).unwrap_or(rest.len());
        parts.push(&rest[..end]);
        rest = rest[end..].trim_start_matches(is_space);
    }
    parts
}

/// The same from the right.
pub(crate) fn rsplit_space(text: &str, most: Option<usize>) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text.trim_end_matches(is_space);
    while !rest.is_empty() {
        if most.is_some_and(|most| parts.len() >= most) {
            parts.push(rest);
            break;
        }
        let last = rest.char_indices().rev().find(|(_, c)| is_space(*c));
        let start = last.map_or(0, |(at, c)| at + c.len_utf8());
        parts.push(&rest[start..]);
        rest = rest[..start].trim_end_matches(is_space);
    }
    parts.reverse();
    parts
}

/// Whether the lines keep their ends.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum LineEnds {
    Keep,
    Drop,
}

fn ends_line(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// How many lines a text has at most, without a list of them.
pub(crate) fn line_count(text: &str) -> usize {
    text.matches(ends_line).count() + 1
}

/// How many words a text has between blanks, without a list of them.
pub(crate) fn word_count(text: &str) -> usize {
    text.split(is_space).filter(|word| !word.is_empty()).count()
}

/// The lines of a text, cut where `str.splitlines()` does.
pub(crate) fn lines(text: &str, ends: LineEnds) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut start = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        if !ends_line(c) {
            continue;
        }
        let mut end = at + c.len_utf8();
        if c == '\r' && characters.next_if(|(_, c)| *c == '\n').is_some() {
            end += 1;
        }
        lines.push(match ends {
            LineEnds::Keep => &text[start..end],
            LineEnds::Drop => &text[start..at],
        });
        start = end;
    }
    if start < text.len() {
        lines.push(&text[start..]);
    }
    lines
}

/// The title case of one character.
fn title_case(c: char) -> String {
    let digraph = match c {
        'Ǆ' | 'ǅ' | 'ǆ' => 'ǅ',
        'Ǉ' | 'ǈ' | 'ǉ' => 'ǈ',
        'Ǌ' | 'ǋ' | 'ǌ' => 'ǋ',
        'Ǳ' | 'ǲ' | 'ǳ' => 'ǲ',
        // Georgian letters have capitals that are never used for titles.
        '\u{10d0}'..='\u{10fa}' | '\u{10fd}'..='\u{10ff}' => c,
        _ => {
            // ß becomes Ss, ﬁ becomes Fi.
            let mut upper = c.to_uppercase();
            let mut out: String = upper.next().into_iter().collect();
            let rest: String = upper.collect();
            out.push_str(&rest.to_lowercase());
            return out;
        }
    };
    digraph.to_string()
}

/// `str.capitalize()`.
pub(crate) fn capitalize(text: &str) -> String {
    let mut characters = text.chars();
    let Some(first) = characters.next() else {
        return String::new();
    };
    let mut out = title_case(first);
    // The first letter decides on what a final sigma is.
    let lower = text.to_lowercase();
    let skipped: usize = first.to_lowercase().map(char::len_utf8).sum();
    out.push_str(lower.get(skipped..).unwrap_or_default());
    out
}

/// Whether a character has case.
fn is_cased(c: char) -> bool {
    c.is_lowercase() || c.is_uppercase() || matches!(c, 'ǅ' | 'ǈ' | 'ǋ' | 'ǲ')
}

/// `str.title()`: each run of letters with case begins with a capital.
pub(crate) fn title(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if !is_cased(first) {
            out.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let end = rest.find(|c| !is_cased(c)).unwrap_or(rest.len());
        out.push_str(&capitalize(&rest[..end]));
        rest = &rest[end..];
    }
    out
}

/// `str.casefold()`: lower case, with letters spelled out that have no capital
/// of their own.
pub(crate) fn casefold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            'ς' => out.push('σ'),
            c if c.is_lowercase() && c.to_uppercase().len() > 1 => {
                let upper: String = c.to_uppercase().collect();
                out.push_str(&upper.to_lowercase());
            }
            c => out.extend(c.to_lowercase()),
        }
    }
    out
}

/// `str.swapcase()`.
pub(crate) fn swapcase(text: &str) -> String {
    text.chars()
        .flat_map(|c| -> Box<dyn Iterator<Item = char>> {
            match c.is_uppercase() {
                true => Box::new(c.to_lowercase()),
                false => Box::new(c.to_uppercase()),
            }
        })
        .collect()
}

/// Whether a text has letters with case, all of them for which `is` holds.
pub(crate) fn all_cased(text: &str, is: impl Fn(char) -> bool) -> bool {
    let mut any = false;
    for c in text.chars().filter(|c| is_cased(*c)) {
        if !is(c) {
            return false;
        }
        any = true;
    }
    any
}

/// `str.istitle()`.
pub(crate) fn is_title(text: &str) -> bool {
    let (mut any, mut inside) = (false, false);
    for c in text.chars() {
        if is_cased(c) {
            if c.is_lowercase() != inside {
                return false;
            }
            any = true;
            inside = true;
        } else {
            inside = false;
        }
    }
    any
}

/// `str.isdecimal()` of one character: a digit of a decimal number system.
pub(crate) fn is_decimal(c: char) -> bool {
    // `Nd` comes in rows of ten; the other numbers are enumerated by their
    // blocks: superscripts, fractions, Roman, circled, ideographic.
    c.is_numeric() && !is_other_digit(c) && !is_number_only(c)
}

/// Digits that are not of a decimal number system: ², ①.
fn is_other_digit(c: char) -> bool {
    matches!(
        c,
        '\u{b2}' | '\u{b3}' | '\u{b9}' | '\u{1369}'..='\u{1371}' | '\u{19da}' | '\u{2070}'
            | '\u{2074}'..='\u{2079}' | '\u{2080}'..='\u{2089}' | '\u{2460}'..='\u{2468}'
            | '\u{2474}'..='\u{247c}' | '\u{2488}'..='\u{2490}' | '\u{24ea}'
            | '\u{24f5}'..='\u{24fd}' | '\u{24ff}' | '\u{2776}'..='\u{277e}'
            | '\u{2780}'..='\u{2788}' | '\u{278a}'..='\u{2792}' | '\u{10a40}'..='\u{10a43}'
            | '\u{10e60}'..='\u{10e68}' | '\u{11052}'..='\u{1105a}' | '\u{1f100}'..='\u{1f10a}'
    )
}

/// Numbers that are no digits: ½, Ⅻ.
fn is_number_only(c: char) -> bool {
    let row_of_ten = |c: char| {
        // A decimal digit stands in a row whose members are all numeric.
        let code = u32::from(c);
        matches!(code,
            0x30..=0x39 | 0x660..=0x669 | 0x6f0..=0x6f9 | 0x7c0..=0x7c9 | 0x966..=0x96f
            | 0x9e6..=0x9ef | 0xa66..=0xa6f | 0xae6..=0xaef | 0xb66..=0xb6f | 0xbe6..=0xbef
            | 0xc66..=0xc6f | 0xce6..=0xcef | 0xd66..=0xd6f | 0xde6..=0xdef | 0xe50..=0xe59
            | 0xed0..=0xed9 | 0xf20..=0xf29 | 0x1040..=0x1049 | 0x1090..=0x1099
            | 0x17e0..=0x17e9 | 0x1810..=0x1819 | 0x1946..=0x194f | 0x19d0..=0x19d9
            | 0x1a80..=0x1a89 | 0x1a90..=0x1a99 | 0x1b50..=0x1b59 | 0x1bb0..=0x1bb9
            | 0x1c40..=0x1c49 | 0x1c50..=0x1c59 | 0xa620..=0xa629 | 0xa8d0..=0xa8d9
            | 0xa900..=0xa909 | 0xa9d0..=0xa9d9 | 0xa9f0..=0xa9f9 | 0xaa50..=0xaa59
            | 0xabf0..=0xabf9 | 0xff10..=0xff19 | 0x104a0..=0x104a9 | 0x1d7ce..=0x1d7ff)
    };
    !row_of_ten(c)
}

/// `str.isdigit()` of one character.
pub(crate) fn is_digit(c: char) -> bool {
    is_decimal(c) || is_other_digit(c)
}

/// `str.isalpha()` of one character.
pub(crate) fn is_alpha(c: char) -> bool {
    c.is_alphabetic() && !c.is_numeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_python_prints_them() {
        for (value, text) in [
            (1.0, "1.0"),
            (1e16, "1e+16"),
            (1e15, "1000000000000000.0"),
            (123_456_789_012_345_680.0, "1.2345678901234568e+17"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (-0.0, "-0.0"),
            (1e-7, "1e-07"),
            (f64::INFINITY, "inf"),
            (1e300, "1e+300"),
        ] {
            assert_eq!(float_repr(value), text);
        }
    }

    #[test]
    fn texts_are_quoted_as_python_quotes_them() {
        for (text, quoted) in [
            ("it's", r#""it's""#),
            ("'\"", r#"'\'"'"#),
            (
                "a\u{0}b\u{7f}é\u{a0}\u{200b}\u{e000}한😀e\u{301}",
                "'a\\x00b\\x7fé\\xa0\\u200b\\ue000한😀e\u{301}'",
            ),
        ] {
            assert_eq!(repr(&Value::from(text)), quoted);
        }
    }

    #[test]
    fn white_space_cuts_from_both_sides() {
        assert_eq!(split_space("  a b  c ", None), ["a", "b", "c"]);
        assert_eq!(split_space("  a b  c ", Some(1)), ["a", "b  c "]);
        assert_eq!(rsplit_space("  a b  c ", Some(1)), ["  a b", "c"]);
        assert_eq!(
            lines("a\r\nb\u{85}c\n", LineEnds::Keep),
            ["a\r\n", "b\u{85}", "c\n"]
        );
    }
}
