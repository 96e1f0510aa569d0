//! Texts: what `repr` makes of them, and the methods of `str`. For example, `repr` of `it's` is
//! `"it's"`, and `"  a b  c ".split()` is `['a', 'b', 'c']`.

use crate::tables::{ALPHABETIC_MARKS, ZEROS};

/// Python's quotes: single ones, unless the text has those and no double ones.
///
/// ```
/// let mut out = String::new();
/// python_compat::text::quote(&mut out, "it's\n");
/// assert_eq!(out, r#""it's\n""#);
/// ```
pub fn quote(out: &mut String, text: &str) {
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
#[must_use]
pub fn is_printable(c: char) -> bool {
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

/// White space, as `str.strip()`, `str.isspace()` and the `\\s` of `re` see it: Unicode's,
/// and the four information separators.
#[must_use]
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// `str.strip()`.
#[must_use]
pub fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Cuts at white space, as `str.split()` does; at most `most` times.
///
/// ```
/// use python_compat::text::{rsplit_space, split_space};
///
/// assert_eq!(split_space("  a  b c ", None), ["a", "b", "c"]);
/// assert_eq!(split_space("a b c", Some(1)), ["a", "b c"]);
/// assert_eq!(rsplit_space("a b c", Some(1)), ["a b", "c"]);
/// ```
#[must_use]
pub fn split_space(text: &str, most: Option<usize>) -> Vec<&str> {
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
#[must_use]
pub fn rsplit_space(text: &str, most: Option<usize>) -> Vec<&str> {
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

/// True if the lines keep their ends.
#[derive(Clone, Copy, PartialEq)]
pub enum LineEnds {
    /// `keepends=True`.
    Keep,
    /// `keepends=False`.
    Drop,
}

fn ends_line(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// Returns the number of lines that a text has at most, without a list of them.
#[must_use]
pub fn line_count(text: &str) -> usize {
    text.matches(ends_line).count() + 1
}

/// Returns the number of words that a text has between blanks, without a list of them.
#[must_use]
pub fn word_count(text: &str) -> usize {
    text.split(is_space).filter(|word| !word.is_empty()).count()
}

/// The lines of a text, cut where `str.splitlines()` does.
///
/// ```
/// use python_compat::text::{LineEnds, lines};
///
/// assert_eq!(lines("a\r\nb\u{2028}c", LineEnds::Drop), ["a", "b", "c"]);
/// assert_eq!(lines("a\n", LineEnds::Keep), ["a\n"]);
/// ```
#[must_use]
pub fn lines(text: &str, ends: LineEnds) -> Vec<&str> {
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
    let single = match c {
        'Ǆ' | 'ǅ' | 'ǆ' => 'ǅ',
        'Ǉ' | 'ǈ' | 'ǉ' => 'ǈ',
        'Ǌ' | 'ǋ' | 'ǌ' => 'ǋ',
        'Ǳ' | 'ǲ' | 'ǳ' => 'ǲ',
        // Georgian letters have capitals that are never used for titles.
        '\u{10d0}'..='\u{10fa}' | '\u{10fd}'..='\u{10ff}' => c,
        // Greek letters with an iota below keep it.
        '\u{1f80}'..='\u{1faf}' => char::from_u32(u32::from(c) | 8).unwrap_or(c),
        '\u{1fb3}' | '\u{1fbc}' => '\u{1fbc}',
        '\u{1fc3}' | '\u{1fcc}' => '\u{1fcc}',
        '\u{1ff3}' | '\u{1ffc}' => '\u{1ffc}',
        'ŉ' => return "ʼN".to_owned(),
        _ => {
            // ß becomes Ss, ﬁ becomes Fi.
            let mut upper = c.to_uppercase();
            let mut out: String = upper.next().into_iter().collect();
            let rest: String = upper.collect();
            let rest = rest.to_lowercase();
            out.push_str(&match c {
                '\u{1fb0}'..='\u{1fff}' => rest.replace('ι', "\u{345}"),
                _ => rest,
            });
            return out;
        }
    };
    single.to_string()
}

/// `str.capitalize()`.
///
/// ```
/// assert_eq!(python_compat::text::capitalize("éTÉ"), "Été");
/// ```
#[must_use]
pub fn capitalize(text: &str) -> String {
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

/// Tells whether a character has case.
fn is_cased(c: char) -> bool {
    // Title case is neither.
    let title = matches!(
        c,
        'ǅ' | 'ǈ' | 'ǋ' | 'ǲ' | '\u{1f88}'..='\u{1f8f}' | '\u{1f98}'..='\u{1f9f}'
            | '\u{1fa8}'..='\u{1faf}' | '\u{1fbc}' | '\u{1fcc}' | '\u{1ffc}'
    );
    title || c.is_lowercase() || c.is_uppercase()
}

/// `str.title()`: each run of letters with case begins with a capital.
///
/// ```
/// assert_eq!(python_compat::text::title("they're here"), "They'Re Here");
/// ```
#[must_use]
pub fn title(text: &str) -> String {
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
///
/// ```
/// assert_eq!(python_compat::text::casefold("Straße"), "strasse");
/// ```
#[must_use]
pub fn casefold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            'A'..='Z' => out.push(c.to_ascii_lowercase()),
            // Cherokee, whose small letters are newer than its capitals.
            '\u{13a0}'..='\u{13f5}' | 'ı' | '\0'..='\u{7f}' => out.push(c),
            '\u{13f8}'..='\u{13fd}' | '\u{ab70}'..='\u{abbf}' => out.extend(c.to_uppercase()),
            c => {
                let upper = c.to_lowercase().flat_map(char::to_uppercase);
                out.extend(upper.flat_map(char::to_lowercase));
            }
        }
    }
    out
}

/// `str.swapcase()`.
#[must_use]
pub fn swapcase(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut after_letter = false;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let before_letter = characters.peek().is_some_and(|c| is_cased(*c));
        let is_final = after_letter && !before_letter;
        after_letter = is_cased(c);
        if c == 'Σ' {
            out.push(if is_final { 'ς' } else { 'σ' });
        } else if c.is_uppercase() {
            out.extend(c.to_lowercase());
        } else if c.is_lowercase() {
            out.extend(c.to_uppercase());
        } else {
            out.push(c);
        }
    }
    out
}

/// Tells whether a text has letters with case, all of them for which `is` holds.
#[must_use]
pub fn all_cased(text: &str, is: impl Fn(char) -> bool) -> bool {
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
#[must_use]
pub fn is_title(text: &str) -> bool {
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

/// The value of a decimal digit of any script.
///
/// ```
/// assert_eq!(python_compat::text::digit_value('\u{0664}'), Some(4));
/// assert_eq!(python_compat::text::digit_value('x'), None);
/// ```
#[must_use]
pub fn digit_value(c: char) -> Option<u32> {
    if c.is_ascii() {
        return c.to_digit(10);
    }
    let c = u32::from(c);
    let after = ZEROS.partition_point(|zero| *zero <= c);
    let zero = ZEROS.get(after.checked_sub(1)?)?;
    Some(c - zero).filter(|value| *value < 10)
}

/// `str.isdecimal()` of one character: a digit of a decimal number system.
#[must_use]
pub fn is_decimal(c: char) -> bool {
    digit_value(c).is_some()
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

/// `str.isdigit()` of one character.
#[must_use]
pub fn is_digit(c: char) -> bool {
    is_decimal(c) || is_other_digit(c)
}

/// Tells whether Unicode takes a character for alphabetic that is no letter.
fn is_alphabetic_mark(c: char) -> bool {
    let c = u32::from(c);
    let before = ALPHABETIC_MARKS.partition_point(|bound| *bound < c);
    // Inside of a run, behind its first and before its last, or one of them.
    before % 2 == 1 || ALPHABETIC_MARKS.get(before) == Some(&c)
}

/// `str.isalpha()` of one character.
#[must_use]
pub fn is_alpha(c: char) -> bool {
    match c.is_ascii() {
        true => c.is_ascii_alphabetic(),
        false => c.is_alphabetic() && !c.is_numeric() && !is_alphabetic_mark(c),
    }
}

/// `str.isalnum()` of one character, and the `\\w` of `re` but for the underscore.
#[must_use]
pub fn is_alphanumeric(c: char) -> bool {
    is_alpha(c) || c.is_numeric()
}

/// `str.isidentifier()`.
///
/// ```
/// use python_compat::text::is_identifier;
///
/// assert!(is_identifier("_größe1") && !is_identifier("1st"));
/// ```
#[must_use]
pub fn is_identifier(text: &str) -> bool {
    let starts = |c: char| c == '_' || c.is_alphabetic() && !is_alphabetic_mark(c);
    // A character that extends another one is escaped at the beginning of a text.
    let extends = |c: char| !c.is_ascii() && is_printable(c) && c.escape_debug().len() > 1;
    let circled = |c: char| matches!(c, 'Ⓐ'..='ⓩ' | '🄰'..='🆉');
    let marks = |c: char| is_alphabetic_mark(c) && c.is_alphabetic() && !circled(c);
    let goes_on = |c: char| starts(c) || marks(c) || is_decimal(c) || extends(c);
    let mut characters = text.chars();
    characters.next().is_some_and(starts) && characters.all(goes_on)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let mut out = String::new();
            quote(&mut out, text);
            assert_eq!(out, quoted);
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

    /// CPython 3.11 said so.
    #[test]
    fn letters_change_their_case_as_pythons_do() {
        for (text, titled, folded, swapped) in [
            ("they're", "They'Re", "they're", "THEY'RE"),
            ("ŉa ßx ﬁy", "ʼNa Ssx Fiy", "ʼna ssx fiy", "ʼNA SSX FIY"),
            ("ǆ ǅ Ǆ", "ǅ ǅ ǅ", "ǆ ǆ ǆ", "Ǆ ǅ ǆ"),
            ("ẞ İ ı", "ẞ İ I", "ss i\u{307} ı", "ß i\u{307} I"),
            ("ᾀ ᾴ ᾳ", "ᾈ Ά\u{345} ᾼ", "ἀι άι αι", "ἈΙ ΆΙ ΑΙ"),
            ("ΣΑΣ", "Σας", "σασ", "σας"),
            ("ꭰ Ꭰ", "Ꭰ Ꭰ", "Ꭰ Ꭰ", "Ꭰ ꭰ"),
        ] {
            assert_eq!(title(text), titled);
            assert_eq!(casefold(text), folded);
            assert_eq!(swapcase(text), swapped);
        }
    }

    #[test]
    fn identifiers_are_pythons() {
        for (text, is) in [
            ("_a1", true),
            ("été", true),
            ("हिन्दी", true),
            ("Ⅷ", true),
            ("1a", false),
            ("ि", false),
            ("a'b", false),
            ("a½", false),
            ("Ⓐ", false),
            ("", false),
        ] {
            assert_eq!(is_identifier(text), is, "{text}");
        }
    }
}
