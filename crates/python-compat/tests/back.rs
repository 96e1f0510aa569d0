//! What is printed reads back.

use proptest::prelude::*;
use python_compat::format::Spec;
use python_compat::number::{float, float_repr, integer};
use python_compat::show::Style;
use python_compat::{dumps, repr};
use serde_json::Value;

/// Any JSON value of a few levels.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn floats(number: f64) {
        let text = float_repr(number);
        let read = float(&text);
        prop_assert!(read == Some(number) || number.is_nan() && read.is_some_and(f64::is_nan));
        // A float never prints as an integer.
        prop_assert!(text.contains(['.', 'e', 'n']), "{}", text);
    }

    #[test]
    fn integers(number: i64, base in prop::sample::select(vec![2u32, 8, 10, 16])) {
        let spec = match base {
            2 => "#b",
            8 => "#o",
            16 => "#x",
            _ => "_d",
        };
        let text = Spec::parse(spec).unwrap().integer(number.into(), "int").unwrap();
        let read = integer(&format!("\u{a0}{text}\n"), base).and_then(|n| n.to_i128());
        prop_assert_eq!(read, Some(i128::from(number)), "{}", text);
    }

    #[test]
    fn json(value in value(), ascii: bool, indent in prop::option::of(" {0,3}")) {
        let mut style = Style::plain();
        style.ascii = ascii;
        style.indent = indent;
        let text = dumps(&value, &style).unwrap();
        prop_assert!(!ascii || text.is_ascii());
        let read: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(read, value);
    }

    /// Quotes, backslashes and what is not printed are escaped; the rest stands as it is.
    #[test]
    fn quotes(text: String) {
        let shown = repr(&Value::from(text.as_str()));
        let inside = &shown[1..shown.len() - 1];
        let mut out = String::new();
        let mut rest = inside.chars();
        while let Some(c) = rest.next() {
            let escape = if c == '\\' { rest.next() } else { None };
            let digits = match escape {
                None => 0,
                Some('x') => 2,
                Some('u') => 4,
                Some('U') => 8,
                Some(_) => 0,
            };
            let code: String = rest.by_ref().take(digits).collect();
            out.push(match escape {
                None => c,
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some(c) if digits == 0 => c,
                Some(_) => char::from_u32(u32::from_str_radix(&code, 16).unwrap()).unwrap(),
            });
        }
        prop_assert_eq!(out, text);
    }
}
