//! Listed values and numbers. For example, an `enum` of 200,000 integers.

use serde_json::{Value, json};

use super::{Cases, add, list, map, name};

pub(crate) fn enums(out: &mut Cases) {
    for n in [1_000, 20_000, 200_000] {
        add(
            out,
            format!("an enum of {n} integers"),
            json!({"enum": list(n, |i| json!(i))}),
        );
        add(
            out,
            format!("an enum of {n} decimals"),
            json!({"enum": list(n, |i| json!(i as f64 / 8.0 + 0.03125))}),
        );
        add(
            out,
            format!("an enum of {n} texts"),
            json!({"enum": list(n, |i| json!(format!("text {i}")))}),
        );
        add(
            out,
            format!("an enum of {n} texts beside a type and a pattern"),
            json!({"type": "string", "pattern": "[0-9]$", "maxLength": 30, "enum": list(n, |i| json!(format!("text {i}")))}),
        );
        add(
            out,
            format!("an enum of {n} integers beside bounds"),
            json!({"type": "integer", "minimum": 5, "multipleOf": 3, "enum": list(n, |i| json!(i))}),
        );
        add(
            out,
            format!("an enum of {n} objects"),
            json!({"enum": list(n, |i| json!({"a": i, "b": [i]}))}),
        );
        add(
            out,
            format!("an enum of {n} arrays"),
            json!({"enum": list(n, |i| json!([i, "a", i]))}),
        );
        add(
            out,
            format!("an enum of {n} equal values"),
            json!({"enum": list(n, |_| json!({"a": [1, 2, 3]}))}),
        );
        add(
            out,
            format!("an enum of {n} numbers that are one"),
            json!({"enum": list(n, |_| json!(1.0))}),
        );
        add(
            out,
            format!("two enums of {n} integers"),
            json!({"enum": list(n, |i| json!(i)), "allOf": [{"enum": list(n, |i| json!(i + 10))}]}),
        );
        add(
            out,
            format!("two enums of {n} texts"),
            json!({"enum": list(n, |i| json!(name(i))), "allOf": [{"enum": list(n, |i| json!(name(i + 10)))}]}),
        );
        add(
            out,
            format!("two enums of {n} objects"),
            json!({"enum": list(n, |i| json!({"a": i})), "allOf": [{"enum": list(n, |i| json!({"a": i + 10}))}]}),
        );
        add(
            out,
            format!("oneOf of two enums of {n} texts"),
            json!({"oneOf": [{"enum": list(n, |i| json!(name(i)))}, {"enum": list(n, |i| json!(name(i + 10)))}]}),
        );
        add(
            out,
            format!("oneOf of two enums of {n} integers"),
            json!({"oneOf": [{"enum": list(n, |i| json!(i))}, {"enum": list(n, |i| json!(i + 10))}]}),
        );
        add(
            out,
            format!("an enum of {n} in a member"),
            json!({"type": "object", "required": ["a"], "properties": {"a": {"enum": list(n, |i| json!(name(i)))}, "b": {"enum": list(n, |i| json!(i))}}}),
        );
        add(
            out,
            format!("an enum of {n} texts without their lengths"),
            json!({"enum": list(n, |i| json!(name(i))), "minLength": 3}),
        );
        add(
            out,
            format!("a discriminator of {n} in two objects"),
            json!({"oneOf": [
                {"type": "object", "required": ["k"], "properties": {"k": {"enum": list(n, |i| json!(name(i)))}, "a": {"type": "string"}}},
                {"type": "object", "required": ["k"], "properties": {"k": {"enum": list(n, |i| json!(name(i + n)))}, "b": {"type": "string"}}}]}),
        );
    }
}

pub(crate) fn constants(out: &mut Cases) {
    for n in [1_000, 100_000, 3_000_000] {
        add(
            out,
            format!("a constant of {n} characters"),
            json!({"const": "x".repeat(n)}),
        );
        add(
            out,
            format!("a constant array of {n}"),
            json!({"const": list(n / 10, |i| json!(i))}),
        );
        add(
            out,
            format!("a constant object of {n}"),
            json!({"const": map((0..n / 10).map(|i| (name(i), json!(i))))}),
        );
        add(
            out,
            format!("a long key of {n}"),
            json!({"type": "object", "properties": map([("k".repeat(n), json!({"type": "string"}))])}),
        );
        add(
            out,
            format!("{} long keys that share a beginning", 50),
            json!({"type": "object", "properties": map((0..50).map(|i| (format!("{}{i}", "k".repeat(n / 50)), json!({"type": "string"}))))}),
        );
        add(
            out,
            format!("not a constant of {n} characters"),
            json!({"type": "string", "not": {"const": "x".repeat(n)}}),
        );
        add(
            out,
            format!("a constant of {n} quotation marks"),
            json!({"const": "\"\u{0}é😀".repeat(n / 4)}),
        );
        add(
            out,
            format!("a required name of {n} characters"),
            json!({"type": "object", "required": ["k".repeat(n)]}),
        );
    }
    for depth in [100, 199, 201] {
        let value = (0..depth).fold(json!(1), |v, _| json!([v]));
        add(
            out,
            format!("a constant nested {depth} deep"),
            json!({"const": value}),
        );
        add(
            out,
            format!("not a constant nested {depth} deep"),
            json!({"type": "array", "not": {"const": value}}),
        );
    }
}

pub(crate) fn numbers(out: &mut Cases) {
    single_numbers(out);
    multiples_and_ranges(out);
}

fn single_numbers(out: &mut Cases) {
    let number = |text: &str| serde_json::from_str::<Value>(text).unwrap_or(Value::Null);
    for text in [
        "1999",
        "7919",
        "1000003",
        "1e30",
        "1e300",
        "1e-300",
        "0.001",
        "0.123456789",
        "1e-10",
        "3e-7",
        "12345678901234567",
        "1.7976931348623157e308",
        "5e-324",
        "0.30000000000000004",
        "97.3",
        "4294967296",
        "18446744073709551615",
        "1024",
        "720720",
        "99999",
    ] {
        let n = number(text);
        add(
            out,
            format!("multipleOf {text}"),
            json!({"type": "number", "multipleOf": n}),
        );
        add(
            out,
            format!("integers, multipleOf {text}"),
            json!({"type": "integer", "multipleOf": n}),
        );
        add(
            out,
            format!("multipleOf {text} within bounds"),
            json!({"type": "number", "multipleOf": n, "minimum": -12345.678, "maximum": 1e20}),
        );
        add(
            out,
            format!("not a multipleOf {text}"),
            json!({"type": "number", "not": {"multipleOf": n}}),
        );
        add(
            out,
            format!("at least {text}"),
            json!({"type": "number", "minimum": n}),
        );
        add(
            out,
            format!("integers, at least {text}"),
            json!({"type": "integer", "exclusiveMinimum": n}),
        );
        add(
            out,
            format!("around {text}"),
            json!({"type": "number", "exclusiveMaximum": n, "minimum": -1e300}),
        );
        add(out, format!("constant {text}"), json!({"const": n}));
        add(
            out,
            format!("no constant {text}"),
            json!({"type": "number", "not": {"const": n}}),
        );
    }
}

fn multiples_and_ranges(out: &mut Cases) {
    for n in [2, 4, 10, 50] {
        let primes = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47];
        add(
            out,
            format!("multiples of {n} primes"),
            json!({"type": "integer", "allOf": list(n.min(15), |i| json!({"multipleOf": primes[i]}))}),
        );
        add(
            out,
            format!("no multiples of {n} primes"),
            json!({"type": "integer", "allOf": list(n.min(15), |i| json!({"not": {"multipleOf": primes[i]}}))}),
        );
        add(
            out,
            format!("anyOf multiples of {n} primes"),
            json!({"type": "integer", "anyOf": list(n.min(15), |i| json!({"multipleOf": primes[i]}))}),
        );
        add(
            out,
            format!("oneOf multiples of {n} primes"),
            json!({"type": "integer", "oneOf": list(n.min(15), |i| json!({"multipleOf": primes[i]}))}),
        );
        add(
            out,
            format!("oneOf {n} ranges of decimals"),
            json!({"type": "number", "oneOf": list(n, |i| json!({"minimum": i as f64 * 0.37, "maximum": i as f64 + 3.21}))}),
        );
        add(
            out,
            format!("anyOf {n} ranges of decimals"),
            json!({"type": "number", "anyOf": list(n, |i| json!({"minimum": i as f64 * 10.37, "maximum": i as f64 * 10.37 + 3.21}))}),
        );
    }
    for n in [100, 1_000, 10_000] {
        add(
            out,
            format!("numbers but {n} of them"),
            json!({"type": "number", "not": {"enum": list(n, |i| json!(i as f64 * 1.25))}}),
        );
        add(
            out,
            format!("anyOf {n} ranges"),
            json!({"type": "integer", "anyOf": list(n, |i| json!({"minimum": i * 20, "maximum": i * 20 + 7}))}),
        );
    }
}
