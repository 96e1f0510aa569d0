//! Texts: what `repr` makes of them, and the methods of `str`.

/// Python's quotes: single ones, unless the text has those and no double ones.
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

/// Whether the lines keep their ends.
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

/// How many lines a text has at most, without a list of them.
#[must_use]
pub fn line_count(text: &str) -> usize {
    text.matches(ends_line).count() + 1
}

/// How many words a text has between blanks, without a list of them.
#[must_use]
pub fn word_count(text: &str) -> usize {
    text.split(is_space).filter(|word| !word.is_empty()).count()
}

/// The lines of a text, cut where `str.splitlines()` does.
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

/// Whether a character has case.
fn is_cased(c: char) -> bool {
    c.is_lowercase() || c.is_uppercase() || matches!(c, 'ǅ' | 'ǈ' | 'ǋ' | 'ǲ')
}

/// `str.title()`: each run of letters with case begins with a capital.
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
#[must_use]
pub fn casefold(text: &str) -> String {
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
#[must_use]
pub fn swapcase(text: &str) -> String {
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

/// The zeros of the rows of ten digits that the category `Nd` is made of.
const ZEROS: [char; 76] = [
    '\u{30}',
    '\u{660}',
    '\u{6f0}',
    '\u{7c0}',
    '\u{966}',
    '\u{9e6}',
    '\u{a66}',
    '\u{ae6}',
    '\u{b66}',
    '\u{be6}',
    '\u{c66}',
    '\u{ce6}',
    '\u{d66}',
    '\u{de6}',
    '\u{e50}',
    '\u{ed0}',
    '\u{f20}',
    '\u{1040}',
    '\u{1090}',
    '\u{17e0}',
    '\u{1810}',
    '\u{1946}',
    '\u{19d0}',
    '\u{1a80}',
    '\u{1a90}',
    '\u{1b50}',
    '\u{1bb0}',
    '\u{1c40}',
    '\u{1c50}',
    '\u{a620}',
    '\u{a8d0}',
    '\u{a900}',
    '\u{a9d0}',
    '\u{a9f0}',
    '\u{aa50}',
    '\u{abf0}',
    '\u{ff10}',
    '\u{104a0}',
    '\u{10d30}',
    '\u{10d40}',
    '\u{11066}',
    '\u{110f0}',
    '\u{11136}',
    '\u{111d0}',
    '\u{112f0}',
    '\u{11450}',
    '\u{114d0}',
    '\u{11650}',
    '\u{116c0}',
    '\u{116d0}',
    '\u{116da}',
    '\u{11730}',
    '\u{118e0}',
    '\u{11950}',
    '\u{11bf0}',
    '\u{11c50}',
    '\u{11d50}',
    '\u{11da0}',
    '\u{11f50}',
    '\u{16130}',
    '\u{16a60}',
    '\u{16ac0}',
    '\u{16b50}',
    '\u{16d70}',
    '\u{1ccf0}',
    '\u{1d7ce}',
    '\u{1d7d8}',
    '\u{1d7e2}',
    '\u{1d7ec}',
    '\u{1d7f6}',
    '\u{1e140}',
    '\u{1e2f0}',
    '\u{1e4f0}',
    '\u{1e5f1}',
    '\u{1e950}',
    '\u{1fbf0}',
];

/// The value of a decimal digit of any script.
#[must_use]
pub fn digit_value(c: char) -> Option<u32> {
    if c.is_ascii() {
        return c.to_digit(10);
    }
    let after = ZEROS.partition_point(|zero| *zero <= c);
    let zero = ZEROS.get(after.checked_sub(1)?)?;
    Some(u32::from(c) - u32::from(*zero)).filter(|value| *value < 10)
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

/// `str.isalpha()` of one character.
#[must_use]
pub fn is_alpha(c: char) -> bool {
    c.is_alphabetic() && !c.is_numeric()
}
