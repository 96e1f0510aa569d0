//! Templates and parametric rules, beside what they mean written out by hand or counted.

use grammar::{Config, Dialect, ErrorKind, Grammar};

use crate::common::{compile, takes, texts};

fn says(grammar: &str, letters: &str, most: usize, holds: impl Fn(&str) -> bool) {
    let automaton = compile(Dialect::Lark, grammar);
    for text in texts(letters, most) {
        let taken = fsm_index::is_match(&automaton, text.as_bytes());
        assert_eq!(taken, holds(&text), "{text:?} of {grammar}");
    }
}

fn refused(dialect: Dialect, grammar: &str) -> String {
    match Grammar::compile(grammar, dialect, &Config::default()) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("{grammar} was taken"),
    }
}

#[test]
fn permutations_are_those_of_bits() {
    let grammar = r#"start: perm::0x0
perm::_ : ""                    %if is_ones([0:3])
        | "a" perm::set_bit(0)  %if bit_clear(0)
        | "b" perm::set_bit(1)  %if bit_clear(1)
        | "c" perm::set_bit(2)  %if not(bit_set(2))
"#;
    let once = |text: &str, c: char| text.matches(c).count() == 1;
    says(grammar, "abc", 4, |text| {
        text.len() == 3 && "abc".chars().all(|c| once(text, c))
    });
}

#[test]
fn counters_stop_at_their_ends() {
    let grammar = r#"start: lst::0
lst::_ : "a" lst::incr([0:3]) %if lt([0:3], 2)
       | "b" lst::incr([3:6]) %if and(lt([3:6], 1), true)
       | "c" lst::decr([0:3]) %if gt([0:3], 0)
       | ""                   %if or(eq(_, 0), bit_count_ge([0:6], 1))
"#;
    says(grammar, "abc", 5, |text| {
        let (mut a, mut b) = (0, 0);
        for c in text.chars() {
            match c {
                'a' if a < 2 => a += 1,
                'b' if b < 1 => b += 1,
                'c' if a > 0 => a -= 1,
                _ => return false,
            }
        }
        true
    });
}

#[test]
fn saturation_and_masks_of_bits_are_as_documented() {
    // `incr` of two bits stays at 3, so that any number of letters is taken once there are three.
    says(
        "start: a::0\na::_: \"a\" a::incr([0:2]) | \"\" %if is_ones([0:2])",
        "a",
        7,
        |text| text.len() >= 3,
    );
    // The bit that `clear_bit` clears is set by the other letter.
    says(
        "start: a::1\na::_: \"a\" a::clear_bit(0) %if bit_set(0) | \"b\" a::bit_or(0x1) %if bit_clear(0) | \"\" %if ne([0:1], 1)",
        "ab",
        5,
        |text| text.len() % 2 == 1 && text.chars().zip("ababa".chars()).all(|(a, b)| a == b),
    );
}

#[test]
fn templates_are_written_out_for_each_argument() {
    takes(
        Dialect::LarkSplits,
        "start: list | dict\nlist: \"[\" _sep{atom, \",\"} \"]\"\ndict: \"{\" _sep{pair, \",\"} \"}\"\npair: atom \":\" atom\n_sep{x, s}: x (s x)*\natom: /[0-9]+/\n%ignore \" \"",
        &["[1]", "[1, 22,3]", "{1:2,3:4}"],
        &["[]", "[1,]", "{1,2}", "[1:2]"],
    );
    // A parameter may be the name of a template, and an argument may use one.
    takes(
        Dialect::LarkSplits,
        "start: twice{wrap, \"x\"} twice{wrap, wrap{\"y\"}}\ntwice{t, a}: t{a} t{a}\nwrap{a}: \"(\" a \")\"",
        &["(x)(x)((y))((y))"],
        &["(x)(x)(y)(y)", "(x)((y))((y))"],
    );
    // A template may use itself; a bound is a bound and no argument.
    takes(
        Dialect::LarkSplits,
        "start: nest{\"a\"}{2}\nnest{x}: x | \"(\" nest{x} \")\"",
        &["aa", "(a)((a))"],
        &["a", "(a"],
    );
}

#[test]
fn values_as_arguments_are_told_apart() {
    takes(
        Dialect::LarkSplits,
        "start: two{\"a\", %json {\"type\": \"boolean\"}} two{\"a\", (%json {\"type\": \"null\"})}\ntwo{x, y}: x y",
        &["atrueanull"],
        &["atrueatrue", "anullanull"],
    );
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    for (dialect, grammar, said) in [
        (
            Dialect::Lark,
            "start: a{\"x\"}\na{x}: x",
            "templates are of the dialect `lark-splits`",
        ),
        (
            Dialect::LarkSplits,
            "start: a::0\na::_: \"x\"",
            "of the dialect `lark`",
        ),
        (
            Dialect::LarkSplits,
            "start: a{\"x\", \"y\"}\na{x}: x",
            "takes 1 arguments, and has 2",
        ),
        (
            Dialect::LarkSplits,
            "start: a\na{x}: x",
            "`a` is a template",
        ),
        (
            Dialect::LarkSplits,
            "start: b{\"x\"}\nb: \"x\"",
            "`b` is no template",
        ),
        (
            Dialect::LarkSplits,
            "start: a{\"x\"}\na{x, x}: x",
            "named twice",
        ),
        (
            Dialect::Lark,
            "start: a\na::_: \"x\"",
            "`a` is a parametric rule",
        ),
        (Dialect::Lark, "start: a::_\na::_: \"x\"", "write a number"),
        (Dialect::Lark, "start: \"x\" %if bit_set(1)", "`%if`"),
        (
            Dialect::Lark,
            "start: a::0\na::_: \"x\" %if odd(_)",
            "`odd` is no condition",
        ),
        (
            Dialect::Lark,
            "start: a::twice(_)\na::_: \"x\"",
            "`twice` makes no number",
        ),
        (
            Dialect::Lark,
            "start: a::set_bit(64)\na::_: \"x\"",
            "no bit 64",
        ),
        (
            Dialect::Lark,
            "start: a::incr([3:3])\na::_: \"x\"",
            "no range of bits",
        ),
        (
            Dialect::Lark,
            "start: a::99999999999999999999\na::_: \"x\"",
            "64 bits",
        ),
    ] {
        let error = refused(dialect, grammar);
        assert!(error.contains(said), "{grammar}: {error}");
    }
}

#[test]
fn rules_without_end_meet_the_limit() {
    for (dialect, grammar) in [
        (Dialect::Lark, "start: a::0\na::_: \"x\" a::incr(_) | \"\""),
        (
            Dialect::Lark,
            "start: a::0\na::_: \"x\" a::incr([0:32]) a::incr([32:64]) | \"\"",
        ),
        (
            Dialect::LarkSplits,
            "start: a{\"x\"}\na{x}: x a{b{x}}\nb{x}: x x",
        ),
    ] {
        let config = Config {
            max_work: 4_000_000,
            ..Config::default()
        };
        let Err(error) = Grammar::compile(grammar, dialect, &config) else {
            panic!("{grammar} was taken");
        };
        assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{grammar}: {error}");
        assert!(error.to_string().contains("max_work"), "{error}");
    }
}
