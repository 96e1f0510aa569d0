//! Keywords that combine others. For example, `oneOf` of closed objects that a tag behind all other
//! members tells apart.

use serde_json::{Value, json};

use super::{Cases, add, list, map, name, record};

pub(crate) fn one_of(out: &mut Cases) {
    for n in [10, 40, 100, 350, 1_000, 5_000] {
        add(
            out,
            format!("oneOf of {n} overlapping objects"),
            json!({"oneOf": list(n, |i| record(&[name(i)], |_| json!({"type": "string"})))}),
        );
        add(
            out,
            format!("oneOf of {n} open objects of one optional member"),
            json!({"oneOf": list(n, |i| json!({"properties": map([(name(i), json!({"type": "integer"}))])}))}),
        );
        add(
            out,
            format!("oneOf of {n} closed objects that share a member"),
            json!({"oneOf": list(n, |i| json!({
                "type": "object", "required": [name(i)], "additionalProperties": false,
                "properties": {"id": {"type": "string"}, (name(i)): {"type": "string"}},
            }))}),
        );
        add(
            out,
            format!("oneOf of {n} closed objects told apart by a tag"),
            json!({"oneOf": list(n, |i| json!({
                "type": "object", "required": ["kind"], "additionalProperties": false,
                "properties": {"kind": {"const": name(i)}, "value": {"type": "string"}},
            }))}),
        );
        add(
            out,
            format!("oneOf of {n} closed objects with a tag behind the rest"),
            json!({"oneOf": list(n, |i| json!({
                "type": "object", "required": ["value", "kind"], "additionalProperties": false,
                "properties": {"value": {"type": "string", "pattern": format!("^[a-z]{{{}}}", i % 7)}, "kind": {"const": name(i)}},
            }))}),
        );
        add(
            out,
            format!("oneOf of {n} strings with patterns"),
            json!({"oneOf": list(n, |i| json!({"type": "string", "pattern": format!("^a{{{}}}", i + 1)}))}),
        );
        add(
            out,
            format!("oneOf of {n} ranges"),
            json!({"oneOf": list(n, |i| json!({"type": "integer", "minimum": i, "maximum": i + 10}))}),
        );
        add(
            out,
            format!("oneOf of {n} enums that overlap"),
            json!({"oneOf": list(n, |i| json!({"enum": [i, i + 1, i + 2]}))}),
        );
        add(
            out,
            format!("oneOf of {n} arrays"),
            json!({"oneOf": list(n, |i| json!({"type": "array", "minItems": i, "maxItems": i + 2}))}),
        );
        add(
            out,
            format!("oneOf of {n} lengths"),
            json!({"oneOf": list(n, |i| json!({"type": "string", "minLength": i}))}),
        );
    }
    // Each level has two branches that overlap.
    for depth in [4, 8, 16, 40] {
        let mut schema = json!({"type": "string"});
        for i in 0..depth {
            schema = json!({"oneOf": [schema, {"required": [name(i)]}, {"minimum": i}]});
        }
        add(out, format!("oneOf nested {depth} deep"), schema);
    }
}

pub(crate) fn any_of(out: &mut Cases) {
    for n in [40, 300, 1_000, 1_999, 20_000] {
        add(
            out,
            format!("anyOf of {n} objects"),
            json!({"anyOf": list(n, |i| record(&[name(i)], |_| json!({"type": "string"})))}),
        );
        add(
            out,
            format!("anyOf of {n} closed objects of two members"),
            json!({"anyOf": list(n, |i| json!({
                "type": "object", "additionalProperties": false, "required": ["a"],
                "properties": {"a": {"type": "string", "maxLength": i + 1}, (name(i)): {"type": "integer"}},
            }))}),
        );
        add(
            out,
            format!("anyOf of {n} lengths"),
            json!({"anyOf": list(n, |i| json!({"type": "string", "minLength": i * 2, "maxLength": i * 2 + 1}))}),
        );
        add(
            out,
            format!("anyOf of {n} constants"),
            json!({"anyOf": list(n, |i| json!({"const": i}))}),
        );
        add(
            out,
            format!("anyOf of {n} arrays of prefixes"),
            json!({"anyOf": list(n, |i| json!({"type": "array", "prefixItems": [{"const": i % 7}, {"const": i}], "minItems": 2}))}),
        );
        add(
            out,
            format!("anyOf of {n} branches that say the same"),
            json!({"anyOf": list(n, |_| json!({"type": "string", "minLength": 1}))}),
        );
    }
    for (n, m) in [(5, 3), (12, 2), (8, 4), (20, 4), (60, 2), (400, 2)] {
        add(
            out,
            format!("allOf of {n} anyOf of {m} each"),
            json!({"type": "object", "allOf": list(n, |i| json!({
                "anyOf": list(m, |j| json!({"required": [format!("q{i}_{j}")]}))}))}),
        );
        add(
            out,
            format!("allOf of {n} anyOf of {m} properties each"),
            json!({"type": "object", "allOf": list(n, |i| json!({
                "anyOf": list(m, |j| json!({"properties": map([(name(i), json!({"minimum": j * 3, "type": "integer"}))])}))}))}),
        );
        add(
            out,
            format!("allOf of {n} oneOf of {m} each"),
            json!({"type": "object", "allOf": list(n, |i| json!({
                "oneOf": list(m, |j| json!({"required": [format!("q{i}_{j}")]}))}))}),
        );
    }
    for depth in [10, 100, 127, 500] {
        let mut schema = json!({"type": "string"});
        for i in 0..depth {
            schema = json!({"anyOf": [schema, {"type": "object", "required": [name(i)]}]});
        }
        add(out, format!("anyOf nested {depth} deep"), schema);
    }
}

pub(crate) fn all_of(out: &mut Cases) {
    for n in [100, 1_000, 20_000] {
        add(
            out,
            format!("allOf of {n} objects"),
            json!({"allOf": list(n, |i| record(&[name(i)], |_| json!({"type": "string"})))}),
        );
        add(
            out,
            format!("allOf of {n} objects of one member"),
            json!({"allOf": list(n, |i| json!({"properties": {"a": {"minLength": i, "type": "string"}}}))}),
        );
        add(
            out,
            format!("allOf of {n} minimums"),
            json!({"type": "integer", "allOf": list(n, |i| json!({"minimum": i}))}),
        );
        add(
            out,
            format!("allOf of {n} multiples"),
            json!({"type": "integer", "allOf": list(n, |i| json!({"multipleOf": i + 1}))}),
        );
        add(
            out,
            format!("allOf of {n} enums"),
            json!({"allOf": list(n, |i| json!({"enum": [0, i, i + 1, "a"]}))}),
        );
        add(
            out,
            format!("allOf of {n} items"),
            json!({"type": "array", "allOf": list(n, |i| json!({"items": {"minimum": i}}))}),
        );
        add(
            out,
            format!("allOf of {n} prefixes"),
            json!({"type": "array", "allOf": list(n.min(2_000), |i| json!({"prefixItems": list(i.min(200), |j| json!({"minimum": j}))}))}),
        );
    }
    for depth in [100, 127, 1_000] {
        let mut schema = json!({"type": "string"});
        for _ in 0..depth {
            schema = json!({"allOf": [schema]});
        }
        add(out, format!("allOf nested {depth} deep"), schema);
    }
}

pub(crate) fn negations(out: &mut Cases) {
    for n in [10, 100, 1_000, 10_000] {
        add(
            out,
            format!("not an anyOf of {n} objects"),
            json!({"type": "object", "not": {"anyOf": list(n, |i| json!({"required": [name(i)]}))}}),
        );
        add(
            out,
            format!("not an allOf of {n} objects"),
            json!({"type": "object", "not": {"allOf": list(n, |i| json!({"required": [name(i)]}))}}),
        );
        add(
            out,
            format!("not {n} properties"),
            json!({"type": "object", "not": {"properties": map((0..n).map(|i| (name(i), json!({"type": "string"}))))}}),
        );
        add(
            out,
            format!("not an enum of {n} texts"),
            json!({"type": "string", "not": {"enum": list(n, |i| json!(name(i)))}}),
        );
        add(
            out,
            format!("not an enum of {n} integers"),
            json!({"type": "integer", "not": {"enum": list(n, |i| json!(i * 3))}}),
        );
        add(
            out,
            format!("not an enum of {n} arrays"),
            json!({"type": "array", "not": {"enum": list(n, |i| json!([i, i]))}}),
        );
        add(
            out,
            format!("not an enum of {n} objects"),
            json!({"type": "object", "not": {"enum": list(n, |i| json!({"a": i}))}}),
        );
        add(
            out,
            format!("{n} times not"),
            (0..n.min(1_000)).fold(json!({"type": "string"}), |s, _| json!({"not": s})),
        );
        add(
            out,
            format!("allOf of {n} not a constant"),
            json!({"type": "string", "allOf": list(n, |i| json!({"not": {"const": name(i)}}))}),
        );
        add(
            out,
            format!("allOf of {n} not a pattern"),
            json!({"type": "string", "allOf": list(n, |i| json!({"not": {"pattern": format!("x{i}y")}}))}),
        );
        add(
            out,
            format!("not a oneOf of {n}"),
            json!({"type": "object", "not": {"oneOf": list(n, |i| json!({"required": [name(i)]}))}}),
        );
        add(
            out,
            format!("allOf of {n} not an object of two"),
            json!({"type": "object", "allOf": list(n, |i| json!({"not": {"required": [name(i), name(i + 1)]}}))}),
        );
    }
}

pub(crate) fn conditions(out: &mut Cases) {
    for n in [5, 10, 20, 100, 2_000] {
        add(
            out,
            format!("allOf of {n} conditions on names"),
            json!({"type": "object", "allOf": list(n, |i| json!({
                "if": {"required": [name(i)]}, "then": {"required": [name(i + 1)]}, "else": {"required": ["z"]}}))}),
        );
        add(
            out,
            format!("allOf of {n} conditions on a tag"),
            json!({"type": "object", "required": ["kind"], "properties": {"kind": {"enum": list(n, |i| json!(name(i)))}},
                "allOf": list(n, |i| json!({
                    "if": {"properties": {"kind": {"const": name(i)}}}, "then": {"required": [name(i)]}}))}),
        );
        add(
            out,
            format!("allOf of {n} conditions on a length"),
            json!({"type": "string", "allOf": list(n, |i| json!({
                "if": {"minLength": i}, "then": {"pattern": format!("^[a-z]{{{},}}$", i)}}))}),
        );
        let mut schema = json!({"type": "object"});
        for i in 0..n.min(200) {
            schema = json!({"if": {"required": [name(i)]}, "then": {"minProperties": i}, "else": schema});
        }
        add(out, format!("conditions nested {n} deep in else"), schema);
        let mut schema = json!({"required": ["a"]});
        for i in 0..n.min(200) {
            schema = json!({"if": schema, "then": {"required": [name(i)]}, "else": {"required": [name(i + 1)]}});
        }
        add(out, format!("conditions nested {n} deep in if"), schema);
    }
}

pub(crate) fn unevaluated(out: &mut Cases) {
    for n in [3, 8, 9, 30, 300] {
        add(
            out,
            format!("unevaluatedProperties behind anyOf of {n}"),
            json!({"type": "object", "anyOf": list(n, |i| json!({"properties": map([(name(i), json!({"type": "string"}))]), "required": [name(i)]})), "unevaluatedProperties": false}),
        );
        add(
            out,
            format!("unevaluatedProperties behind oneOf of {n}"),
            json!({"type": "object", "oneOf": list(n, |i| json!({"properties": map([(name(i), json!({"type": "string"}))]), "required": [name(i)]})), "unevaluatedProperties": false}),
        );
        add(
            out,
            format!("unevaluatedProperties behind allOf of {n}"),
            json!({"type": "object", "allOf": list(n, |i| json!({"properties": map([(name(i), json!({"type": "string"}))])})), "unevaluatedProperties": {"type": "integer"}}),
        );
        add(
            out,
            format!("unevaluatedProperties behind {n} dependentSchemas"),
            json!({"type": "object", "dependentSchemas": map((0..n).map(|i| (name(i), json!({"properties": {(name(i + 1)): {"type": "string"}}})))), "unevaluatedProperties": false}),
        );
        add(
            out,
            format!("unevaluatedProperties behind {n} conditions"),
            json!({"type": "object", "allOf": list(n, |i| json!({"if": {"required": [name(i)]}, "then": {"properties": {(name(i)): {"type": "string"}}}})), "unevaluatedProperties": false}),
        );
        add(
            out,
            format!("unevaluatedItems behind anyOf of {n}"),
            json!({"type": "array", "anyOf": list(n, |i| json!({"prefixItems": list(i, |_| json!({"type": "string"}))})), "unevaluatedItems": false}),
        );
        add(
            out,
            format!("unevaluatedItems behind allOf of {n} contains"),
            json!({"type": "array", "allOf": list(n, |i| json!({"contains": {"multipleOf": i + 2}})), "unevaluatedItems": {"type": "string"}}),
        );
        let mut schema = json!({"properties": {"a": true}});
        for i in 0..n {
            schema = json!({"allOf": [schema], "properties": map([(name(i), json!({"type": "string"}))]), "unevaluatedProperties": {"minimum": i}});
        }
        add(
            out,
            format!("unevaluatedProperties nested {n} deep"),
            schema,
        );
    }
}

pub(crate) fn mixed(out: &mut Cases) {
    // Rules of a few kinds together, by a small generator of random numbers.
    for seed in 0..60u64 {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let schema = random(&mut state, 6);
        add(out, format!("at random, {seed}"), schema);
    }
    for n in [10, 100, 1_000] {
        add(
            out,
            format!("{n} alternatives of {n} properties"),
            json!({"anyOf": list(n, |i| json!({"type": "object", "required": [name(i)],
                "properties": map((0..n.min(100)).map(|j| (name(j), json!({"type": "string", "maxLength": i * j}))))}))}),
        );
        add(
            out,
            format!("oneOf {n} objects of {n} shared properties"),
            json!({"oneOf": list(n, |i| json!({"type": "object", "required": [name(i)], "additionalProperties": false,
                "properties": map((0..n.min(100)).map(|j| (name(j), json!({"type": "string"}))))}))}),
        );
        add(
            out,
            format!("{n} alternatives of open objects with patterns"),
            json!({"anyOf": list(n, |i| json!({"type": "object", "patternProperties": map([(format!("^a{i}|b$"), json!({"minimum": i}))]), "required": [name(i)]}))}),
        );
        add(
            out,
            format!("items of oneOf {n} of oneOf {n}"),
            json!({"type": "array", "items": {"oneOf": list(n, |i| json!({"type": "object", "required": ["t"], "properties": {"t": {"const": i}, "v": {"oneOf": list(n.min(30), |j| json!({"type": "array", "minItems": j}))}}}))}}),
        );
    }
}

fn random(state: &mut u64, depth: usize) -> Value {
    let mut next = |below: usize| {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state % below as u64) as usize
    };
    let choice = next(if depth == 0 { 5 } else { 14 });
    let (a, b) = (next(4), next(4));
    match choice {
        0 => {
            json!({"type": "string", "pattern": format!("[a-{}]{{{}}}", ["c", "f", "k", "z"][a], b + 1)})
        }
        1 => json!({"type": "integer", "multipleOf": a + 2, "minimum": b * 7}),
        2 => json!({"enum": [a, name(b), [a, b], {"a": b}]}),
        3 => json!({"minLength": a, "maxItems": b + 1, "minProperties": a}),
        4 => json!({"type": ["string", "array", "object"]}),
        5 => json!({"anyOf": [random(state, depth - 1), random(state, depth - 1)]}),
        6 => {
            json!({"oneOf": [random(state, depth - 1), random(state, depth - 1), random(state, depth - 1)]})
        }
        7 => json!({"allOf": [random(state, depth - 1), random(state, depth - 1)]}),
        8 => json!({"not": random(state, depth - 1)}),
        9 => {
            json!({"if": random(state, depth - 1), "then": random(state, depth - 1), "else": random(state, depth - 1)})
        }
        10 => {
            json!({"properties": {"a": random(state, depth - 1), "b": random(state, depth - 1)}, "additionalProperties": random(state, depth - 1), "required": ["a"]})
        }
        11 => {
            json!({"patternProperties": {"^a": random(state, depth - 1), "b$": random(state, depth - 1)}, "propertyNames": random(state, depth - 1)})
        }
        12 => {
            json!({"items": random(state, depth - 1), "contains": random(state, depth - 1), "minContains": a, "maxContains": a + b})
        }
        _ => {
            json!({"dependentSchemas": {"a": random(state, depth - 1), "b": random(state, depth - 1)}, "unevaluatedProperties": random(state, depth - 1)})
        }
    }
}
