//! Equality of JSON values, as JSON Schema defines it.
//!
//! For example, `1` and `1.0` are equal, and so are `{"a": 1, "b": 2}` and `{"b": 2, "a": 1}`.

use serde_json::Value;

use crate::decimal::Decimal;

/// Tells whether values are equal as JSON Schema has it (draft 2020-12, section 4.2.2): numbers by value, objects without order.
pub(crate) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => {
            if let (Some(x), Some(y)) = (x.as_i64(), y.as_i64()) {
                return x == y;
            }
            match (Decimal::from_number(x), Decimal::from_number(y)) {
                (Some(x), Some(y)) => x == y,
                _ => x == y,
            }
        }
        (Value::Array(x), Value::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(p, q)| equal(p, q))
        }
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(k, p)| y.get(k).is_some_and(|q| equal(p, q)))
        }
        _ => a == b,
    }
}

/// Returns a text that equal values share, and no others.
pub fn canonical_value(value: &Value) -> String {
    let mut out = String::new();
    spell(value, &mut out);
    out
}

fn spell(value: &Value, out: &mut String) {
    match value {
        Value::Number(n) => match Decimal::from_number(n) {
            // A short text that this number alone has.
            Some(d) => {
                let (digits, exponent) = d.magnitude();
                out.push(if d.is_negative() { '-' } else { '+' });
                out.extend(digits.iter().map(|d| char::from(b'0' + d)));
                out.push_str(&format!("e{exponent}"));
            }
            None => out.push_str(&n.to_string()),
        },
        Value::Array(items) => {
            out.push('[');
            for item in items {
                spell(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            let mut members: Vec<(&String, &Value)> = map.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            for (name, member) in members {
                spell_text(name, out);
                spell(member, out);
            }
            out.push('}');
        }
        Value::String(text) => spell_text(text, out),
        other => out.push_str(&other.to_string()),
    }
}

/// Writes a text behind its length, so that nothing needs an escape.
fn spell_text(text: &str, out: &mut String) {
    out.push_str(&format!("\"{}:", text.len()));
    out.push_str(text);
}
