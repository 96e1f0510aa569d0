//! ABNF beside GBNF, and texts that are no grammars; what it means stands in `cases/abnf.md`. For example,
//! `1*"a"` takes what `[aA]+` does.

use grammar::{Config, Dialect, ErrorKind, Grammar};
use proptest::prelude::*;

use crate::common::texts;

/// Parts of expressions: in ABNF, and what they are in GBNF.
const PARTS: [(&str, &str); 8] = [
    ("\"a\"", "[aA]"),
    ("%s\"a\"", "\"a\""),
    ("%x62.41", "\"bA\""),
    ("%d97-98", "[ab]"),
    ("\"Ba\"", "[bB] [aA]"),
    ("\"\"", "\"\""),
    ("R", "r"),
    ("bit-A", "[A]"),
];

/// An expression in ABNF, and the same in GBNF.
fn expression() -> impl Strategy<Value = (String, String)> {
    let part = prop::sample::select(&PARTS[..]);
    let part = part.prop_map(|(abnf, gbnf)| (abnf.to_owned(), format!("({gbnf})")));
    part.prop_recursive(4, 12, 3, |inner| {
        let some = prop::collection::vec(inner.clone(), 1..4);
        let counted = (inner.clone(), 0u32..3, prop::option::of(0u32..3));
        prop_oneof![
            some.clone().prop_map(|parts| joined(&parts, " ", " ")),
            some.prop_map(|parts| joined(&parts, "\n / ", " | ")),
            counted.prop_map(|((abnf, gbnf), min, more)| {
                let max = more.map_or(String::new(), |more| (min + more).to_string());
                (
                    format!("{min}*{max}({abnf})"),
                    format!("({gbnf}){{{min},{max}}}"),
                )
            }),
            inner.prop_map(|(abnf, gbnf)| (format!("[{abnf}]"), format!("({gbnf})?"))),
        ]
    })
}

fn joined(parts: &[(String, String)], abnf: &str, gbnf: &str) -> (String, String) {
    let (left, right): (Vec<&str>, Vec<&str>) =
        parts.iter().map(|(a, g)| (a.as_str(), g.as_str())).unzip();
    (
        format!("({})", left.join(abnf)),
        format!("({})", right.join(gbnf)),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn it_means_what_gbnf_means((abnf, gbnf) in expression(), (other_abnf, other_gbnf) in expression()) {
        let abnf = format!("root = {abnf}\nr = \"c\"\nBit-a = %x41 ; one letter\nr =/ \"c\" {other_abnf}\n");
        let gbnf = format!("root ::= {gbnf}\nr ::= [cC] | [cC] {other_gbnf}");
        let abnf = Grammar::compile(&abnf, Dialect::Abnf, &Config::default());
        let gbnf = Grammar::compile(&gbnf, Dialect::Gbnf, &Config::default());
        prop_assert_eq!(gbnf.as_ref().map(|_| ()).map_err(grammar::Error::kind), abnf.as_ref().map(|_| ()).map_err(grammar::Error::kind));
        if let (Ok(gbnf), Ok(abnf)) = (gbnf, abnf) {
            for text in texts("abAc", 4) {
                prop_assert_eq!(gbnf.accepts(&text), abnf.accepts(&text), "{}", text);
            }
        }
    }

    #[test]
    fn no_text_leads_to_a_panic(text in "[aB ()/*\\[\\]%xdsi0-9.\"'<>;=|\r\né-]{0,60}") {
        let _ = Grammar::compile(&format!("a = {text}"), Dialect::Abnf, &Config::default());
        let _ = Grammar::compile(&text, Dialect::Abnf, &Config::default());
    }
}

/// The groups of a grammar are counted while it is read, and its counts before anything is made of them.
#[test]
fn limits_have_their_names() {
    let config = Config::default();
    let deep = format!("a = {}\"x\"{}", "(".repeat(100_000), ")".repeat(100_000));
    let many = "a = 4000000000\"x\"";
    let doubled: String = (0..64)
        .map(|n| format!("r{n} = r{0} r{0}\n", n + 1))
        .collect();
    let doubled = format!("{doubled}r64 = \"x\"\n");
    for (text, name) in [
        (deep.as_str(), "max_depth"),
        (many, "max_count"),
        (&doubled, "shortest text"),
    ] {
        let error = Grammar::compile(text, Dialect::Abnf, &config).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }
}
