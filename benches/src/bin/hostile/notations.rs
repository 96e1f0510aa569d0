//! Grammars without a notation, written out in each. For example, `"a"+ | /[b-d]/` is `1*%s"a" / %x62-64` in ABNF.

use std::fmt::Write as _;

use grammar::Dialect;

/// A grammar without its notation: names of rules and right sides, the first one the beginning.
/// Right sides are written as in Lark, and their expressions are sets of characters.
pub(crate) type Rules = Vec<(String, String)>;

/// The last character of Unicode, because sets that are negated end there.
const LAST: u32 = 0x10_FFFF;

/// Writes rules in a notation.
pub(crate) fn written(rules: &Rules, dialect: Dialect) -> String {
    let (is, first) = match dialect {
        Dialect::Gbnf | Dialect::Ebnf => (" ::= ", "root"),
        Dialect::W3c => (" ::= ", "start"),
        Dialect::Abnf => (" = ", "start"),
        _ => (": ", "start"),
    };
    let mut text = String::new();
    for (at, (name, side)) in rules.iter().enumerate() {
        let name = if at == 0 { first } else { name };
        let side = match dialect {
            Dialect::Gbnf | Dialect::Ebnf => side.replace('/', ""),
            Dialect::W3c | Dialect::Abnf => rewritten(side, dialect),
            _ => side.clone(),
        };
        let _ = writeln!(text, "{name}{is}{side}");
    }
    text
}

/// Writes a right side in a notation that has other signs than Lark.
fn rewritten(side: &str, dialect: Dialect) -> String {
    let mut out = String::new();
    // The beginnings of the last item and of the groups around it.
    let (mut last, mut groups) = (0, Vec::new());
    let mut rest = side;
    while let Some(first) = rest.chars().next() {
        let len = match first {
            '"' | '/' => rest[1..].find(first).map(|at| at + 2),
            '{' => rest.find('}').map(|at| at + 1),
            'a'..='z' => rest.find(|c: char| !c.is_ascii_alphanumeric()),
            _ => Some(1),
        };
        let (piece, behind) = rest.split_at(len.unwrap_or(rest.len()));
        rest = behind;
        match first {
            '(' => {
                groups.push(out.len());
                out.push('(');
            }
            ')' => {
                last = groups.pop().unwrap_or(0);
                out.push(')');
            }
            '*' | '+' | '?' | '{' => repeat(&mut out, last, piece, dialect),
            '"' | '/' | 'a'..='z' => {
                last = out.len();
                out.push_str(&item(piece, dialect));
            }
            '|' if dialect == Dialect::Abnf => out.push('/'),
            other => out.push(other),
        }
    }
    out
}

/// Repeats what stands behind `last`.
fn repeat(out: &mut String, last: usize, operator: &str, dialect: Dialect) {
    // In ABNF an item has one count alone.
    if dialect == Dialect::Abnf && out[last..].starts_with(|c: char| c == '*' || c.is_ascii_digit())
    {
        out.insert(last, '(');
        out.push(')');
    }
    let count = operator.trim_matches(['{', '}']);
    match (dialect, operator) {
        (Dialect::Abnf, "*") => out.insert(last, '*'),
        (Dialect::Abnf, "+") => out.insert_str(last, "1*"),
        (Dialect::Abnf, "?") => out.insert_str(last, "*1"),
        (Dialect::Abnf, _) => out.insert_str(last, count),
        (_, "*" | "+" | "?") => out.push_str(operator),
        _ => {
            let item = format!("{} ", out.split_off(last));
            out.push_str(&item.repeat(count.parse().unwrap_or(1)));
        }
    }
}

fn item(piece: &str, dialect: Dialect) -> String {
    match (piece.strip_prefix('/'), dialect) {
        (Some(_), Dialect::Abnf) => numbers(piece),
        (Some(_), _) => piece.replace('/', ""),
        (None, Dialect::Abnf) if piece.starts_with('"') => format!("%s{piece}"),
        (None, _) => piece.to_owned(),
    }
}

/// Writes a set of characters, `/[a-c]/`, by their numbers.
fn numbers(set: &str) -> String {
    let inside = set.trim_matches(['/', '[', ']']);
    let mut members = inside.trim_start_matches('^').chars().peekable();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    while let Some(first) = members.next() {
        let last = match members.next_if_eq(&'-') {
            Some(_) => members.next().unwrap_or(first),
            None => first,
        };
        ranges.push((first.into(), last.into()));
    }
    if inside.starts_with('^') {
        ranges.sort_unstable();
        let begins = std::iter::once(0).chain(ranges.iter().map(|range| range.1 + 1));
        let ends = ranges.iter().map(|range| range.0 - 1);
        ranges = begins.zip(ends.chain([LAST])).collect();
    }
    let ranges = ranges
        .iter()
        .map(|(first, last)| format!("%x{first:X}-{last:X}"));
    format!("({})", ranges.collect::<Vec<_>>().join(" / "))
}
