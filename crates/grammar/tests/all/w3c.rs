//! The notation of the W3C beside GBNF, differences beside both their sides, and texts that are no grammars; what it
//! means stands in `cases/w3c.md`.

use grammar::{Config, Dialect, Grammar};
use proptest::prelude::*;

use crate::common::{compile, expression, texts};

/// The parts of expressions that both notations write alike, but for quotes.
const PARTS: [&str; 6] = ["\"a\"", "\"b\"", "[ab]", "[^a]", "\"ac\"", "r"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn it_means_what_gbnf_means(root in expression(&PARTS), other in expression(&PARTS)) {
        // A set of this notation has no escapes, and these have none.
        let gbnf = format!("root ::= {root}\nr ::= \"c\" | \"c\" ({other})");
        let w3c = format!("root ::= {root} r ::= #x63 | 'c' ({other})").replace("\"a\"", "#x61");
        let gbnf = Grammar::compile(&gbnf, Dialect::Gbnf, &Config::default());
        let w3c = Grammar::compile(&w3c, Dialect::W3c, &Config::default());
        prop_assert_eq!(gbnf.is_ok(), w3c.is_ok());
        if let (Ok(gbnf), Ok(w3c)) = (gbnf, w3c) {
            for text in texts("abc", 4) {
                prop_assert_eq!(gbnf.accepts(&text), w3c.accepts(&text), "{}", text);
            }
        }
    }

    #[test]
    fn a_difference_takes_what_the_one_takes_and_the_other_does_not(one in expression(&PARTS), other in expression(&PARTS)) {
        let of = |root: &str| compile(Dialect::W3c, &format!("root ::= {root}\nr ::= [c]"));
        let (left, right) = (of(&format!("({one})")), of(&format!("({other})")));
        let both = Grammar::compile(
            &format!("root ::= ({one}) - ({other})\nr ::= 'c'"),
            Dialect::W3c,
            &Config::default(),
        );
        for text in texts("abc", 4) {
            let expected = left.accepts(&text) && !right.accepts(&text);
            match &both {
                Ok(both) => prop_assert_eq!(both.accepts(&text), expected, "{}", text),
                Err(_) => prop_assert!(!expected, "{}", text),
            }
        }
    }

    #[test]
    fn no_text_leads_to_a_panic(text in "[a ()|*+?\\[\\]#x1\"'/*@:=^\n-]{0,60}") {
        let _ = Grammar::compile(&format!("a ::= {text}"), Dialect::W3c, &Config::default());
        let _ = Grammar::compile(&text, Dialect::W3c, &Config::default());
    }
}
