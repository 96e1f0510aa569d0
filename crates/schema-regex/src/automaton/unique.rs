//! Equality of JSON values (2020-12 core, section 4.2.2) by one spelling for
//! each value.

use serde_json::Value;

use crate::decimal::Decimal;

/// A spelling that two texts share just if their values are equal.
pub(super) fn canonical(text: &[u8]) -> String {
    let mut out = String::new();
    match serde_json::from_slice::<Value>(text) {
        Ok(value) => write(&value, &mut out),
        // Numbers that no `f64` holds, and what nests too deeply to be read:
        // by its bytes.
        Err(_) => out.push_str(String::from_utf8_lossy(text).trim()),
    }
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Number(n) => match Decimal::from_number(n) {
            Some(d) => out.push_str(&d.plain()),
            None => out.push_str(&n.to_string()),
        },
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut names: Vec<&String> = map.keys().collect();
            names.sort();
            out.push('{');
            for name in names {
                out.push_str(&Value::String(name.clone()).to_string());
                out.push(':');
                write(&map[name], out);
                out.push(',');
            }
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}
