//! What is said of characters, for all of them, by the tables of `regex-syntax`.

use python_compat::text::{digit_value, is_alpha, is_alphanumeric, is_printable, is_space};
use regex_syntax::hir::{Class, HirKind};

fn members(pattern: &str) -> Vec<(char, char)> {
    match regex_syntax::parse(pattern).unwrap().into_kind() {
        HirKind::Class(Class::Unicode(class)) => {
            class.iter().map(|r| (r.start(), r.end())).collect()
        }
        other => panic!("{other:?}"),
    }
}

/// Characters of which `ours` says something else than the class does. Those that the
/// tables do not know yet are left out: the standard library's may be newer.
fn disputed(pattern: &str, ours: impl Fn(char) -> bool) -> Vec<char> {
    let (class, known) = (members(pattern), members(r"\P{Cn}"));
    let holds = |ranges: &[(char, char)], c: char| {
        let at = ranges.partition_point(|(_, high)| *high < c);
        ranges.get(at).is_some_and(|(low, _)| *low <= c)
    };
    let all = ('\0'..=char::MAX).filter(|c| holds(&known, *c));
    all.filter(|c| holds(&class, *c) != ours(*c)).collect()
}

#[test]
fn printable_characters_are_no_others_and_no_separators() {
    assert_eq!(disputed(r"[ [^\p{C}\p{Z}]]", is_printable), []);
}

#[test]
fn white_space_is_unicodes_and_four_more() {
    assert_eq!(disputed(r"[\p{White_Space}\x1c-\x1f]", is_space), []);
}

#[test]
fn decimal_digits_come_in_rows_of_ten() {
    assert_eq!(disputed(r"\p{Nd}", |c| digit_value(c).is_some()), []);
    let mut next = 0;
    for (low, high) in members(r"\p{Nd}") {
        for c in low..=high {
            assert_eq!(digit_value(c), Some(next % 10), "{c:?}");
            next += 1;
        }
    }
}

/// Vowel signs are alphabetic for Unicode and no letters for Python.
#[test]
fn letters_are_letters_alone() {
    assert_eq!(disputed(r"\p{L}", is_alpha), []);
    assert_eq!(disputed(r"[\p{L}\p{N}]", is_alphanumeric), []);
}
