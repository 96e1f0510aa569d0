//! Objects, arrays, references, nesting, and what is no schema. For example, `dependentRequired` of
//! many names in a chain.

use serde_json::{Value, json};

use super::{Cases, add, list, map, name};

pub(crate) fn dependencies(out: &mut Cases) {
    for n in [5, 12, 20, 100, 3_000] {
        add(
            out,
            format!("dependentSchemas of {n}"),
            json!({"type": "object", "dependentSchemas": map((0..n).map(|i| (name(i), json!({"required": [name(i + 1)]}))))}),
        );
        add(
            out,
            format!("dependentSchemas of {n} with properties"),
            json!({"type": "object", "properties": map((0..n).map(|i| (name(i), json!({"type": "string"})))),
                "dependentSchemas": map((0..n).map(|i| (name(i), json!({"properties": {"z": {"minimum": i}}}))))}),
        );
        add(
            out,
            format!("dependentRequired of {n} in a chain"),
            json!({"type": "object", "dependentRequired": map((0..n).map(|i| (name(i), json!([name(i + 1)]))))}),
        );
        add(
            out,
            format!("dependentRequired of {n} on all"),
            json!({"type": "object", "dependentRequired": map((0..n.min(300)).map(|i| (name(i), list(n.min(300), |j| json!(name(j))))))}),
        );
        add(
            out,
            format!("dependencies of {n} not"),
            json!({"type": "object", "not": {"dependentRequired": map((0..n).map(|i| (name(i), json!([name(i + 1)]))))}}),
        );
    }
}

pub(crate) fn references(out: &mut Cases) {
    many_definitions(out);
    references_to_themselves(out);
    references_that_multiply(out);
}

fn many_definitions(out: &mut Cases) {
    for n in [100, 120, 1_000, 20_000] {
        let chain = |i: usize| {
            let next = match i + 1 < n {
                true => json!({"$ref": format!("#/$defs/d{}", i + 1)}),
                false => json!({"type": "string"}),
            };
            (format!("d{i}"), next)
        };
        add(
            out,
            format!("a chain of {n} references"),
            json!({"$ref": "#/$defs/d0", "$defs": map((0..n).map(chain))}),
        );
        let nested = |i: usize| {
            let next = match i + 1 < n {
                true => json!({"type": "array", "items": {"$ref": format!("#/$defs/d{}", i + 1)}}),
                false => json!({"type": "string"}),
            };
            (format!("d{i}"), next)
        };
        add(
            out,
            format!("a chain of {n} references through items"),
            json!({"$ref": "#/$defs/d0", "$defs": map((0..n).map(nested))}),
        );
        add(
            out,
            format!("{n} definitions without use"),
            json!({"type": "string", "$defs": map((0..n).map(|i| (format!("d{i}"), json!({"type": "string"}))))}),
        );
        add(
            out,
            format!("{n} definitions with anchors"),
            json!({"$ref": "#a0", "$defs": map((0..n).map(|i| (format!("d{i}"), json!({"$anchor": format!("a{i}"), "type": "string"}))))}),
        );
        add(
            out,
            format!("{n} definitions with identifiers"),
            json!({"$id": "http://x/", "$ref": "r0", "$defs": map((0..n).map(|i| (format!("d{i}"), json!({"$id": format!("r{i}"), "type": "string"}))))}),
        );
        add(
            out,
            format!("{n} references to one place"),
            json!({"type": "object", "properties": map((0..n).map(|i| (name(i), json!({"$ref": "#/$defs/a"})))), "$defs": {"a": {"type": "string", "maxLength": 9}}}),
        );
        add(
            out,
            format!("{n} objects that refer to each other"),
            json!({"$ref": "#/$defs/d0", "$defs": map((0..n).map(|i| (format!("d{i}"), json!({
                "type": "object", "properties": {"a": {"$ref": format!("#/$defs/d{}", (i * 7 + 1) % n)}, "b": {"$ref": format!("#/$defs/d{}", (i * 3 + 2) % n)}}}))))}),
        );
        add(
            out,
            format!("{n} definitions with dynamic anchors"),
            json!({"$id": "http://x/", "$dynamicRef": "#n0", "$defs": map((0..n).map(|i| (format!("d{i}"), json!({
                "$id": format!("r{i}"), "$dynamicAnchor": "n0", "type": "object", "properties": {"a": {"$dynamicRef": "#n0"}, "b": {"$ref": format!("r{}", (i + 1) % n)}}}))))}),
        );
        add(
            out,
            format!("{n} dynamic anchors of many names"),
            json!({"$id": "http://x/", "$ref": "r0", "$dynamicAnchor": "x", "$defs": map((0..n).map(|i| (format!("d{i}"), json!({
                "$id": format!("r{i}"), "$dynamicAnchor": format!("n{i}"), "type": "object", "properties": {"a": {"$dynamicRef": format!("#n{i}")}, "b": {"$ref": format!("r{}", (i + 1) % n)}}}))))}),
        );
        add(
            out,
            format!("a reference of {n} steps"),
            json!({"$ref": format!("#{}", "/$defs/a".repeat(n))}),
        );
    }
}

fn references_to_themselves(out: &mut Cases) {
    add(out, "a reference to itself", json!({"$ref": "#"}));
    add(
        out,
        "a reference to itself through allOf",
        json!({"allOf": [{"$ref": "#"}]}),
    );
    add(
        out,
        "a reference to itself through not",
        json!({"not": {"$ref": "#"}}),
    );
    add(
        out,
        "a reference to itself through anyOf",
        json!({"anyOf": [{"type": "string"}, {"$ref": "#"}]}),
    );
    add(
        out,
        "an object that always needs itself",
        json!({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}),
    );
    add(
        out,
        "a tree with two conditions a level",
        json!({"type": "object", "properties": {"l": {"$ref": "#"}, "r": {"$ref": "#"}}, "anyOf": [{"required": ["l"]}, {"required": ["r"]}, {"maxProperties": 0}]}),
    );
    add(
        out,
        "a list that excludes itself",
        json!({"type": "array", "items": {"not": {"$ref": "#"}}}),
    );
    add(
        out,
        "a list of what is not one of its lists",
        json!({"type": "array", "items": {"anyOf": [{"not": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}}),
    );
}

/// References whose ways, or whose conjunctions of locations, are far more than the locations.
fn references_that_multiply(out: &mut Cases) {
    // Doubles with each level: 2^n ways, n locations.
    for n in [10, 20, 60] {
        let both = |i: usize| {
            let next = match i + 1 < n {
                true => {
                    let next = json!({"$ref": format!("#/$defs/d{}", i + 1)});
                    json!({"allOf": [next, next], "properties": map([(name(i), next)])})
                }
                false => json!({"type": "object"}),
            };
            (format!("d{i}"), next)
        };
        add(
            out,
            format!("references that double {n} times"),
            json!({"$ref": "#/$defs/d0", "$defs": map((0..n).map(both))}),
        );
        let grow = |i: usize| {
            let next = json!({"$ref": format!("#/$defs/d{}", (i + 1) % n)});
            (
                format!("d{i}"),
                json!({"type": "array", "items": next, "minItems": i % 2, "contains": {"type": "array", "minItems": i}}),
            )
        };
        add(
            out,
            format!("conjunctions that grow around a ring of {n}"),
            json!({"$ref": "#/$defs/d0", "$defs": map((0..n).map(grow))}),
        );
        // Conjunctions of subsets: items meet ever more locations.
        let ring = |i: usize| {
            (
                format!("d{i}"),
                json!({"type": "array",
                "items": {"allOf": [{"$ref": format!("#/$defs/d{}", (i + 1) % n)}, {"$ref": format!("#/$defs/d{}", (i * 2 + 1) % n)}]}}),
            )
        };
        add(
            out,
            format!("subsets of {n} locations"),
            json!({"$ref": "#/$defs/d0", "$defs": map((0..n).map(ring))}),
        );
        let either = |i: usize| {
            (
                format!("d{i}"),
                json!({"type": "array",
                "items": {"anyOf": [{"$ref": format!("#/$defs/d{}", (i + 1) % n)}, {"$ref": format!("#/$defs/d{}", (i * 2 + 1) % n)}]}, "minItems": i % 3}),
            )
        };
        add(
            out,
            format!("subsets of {n} alternatives"),
            json!({"$ref": "#/$defs/d0", "$defs": map((0..n).map(either))}),
        );
    }
}

pub(crate) fn contains(out: &mut Cases) {
    for n in [2, 5, 50, 1_000, 1_000_000] {
        add(
            out,
            format!("contains at least {n}"),
            json!({"type": "array", "contains": {"type": "integer"}, "minContains": n}),
        );
        add(
            out,
            format!("contains at most {n}"),
            json!({"type": "array", "contains": {"type": "integer"}, "maxContains": n}),
        );
        add(
            out,
            format!("contains {n} of two"),
            json!({"type": "array", "contains": {"minimum": 3}, "minContains": n, "maxContains": n,
                "allOf": [{"contains": {"maximum": 9}, "minContains": n, "maxContains": n}]}),
        );
        add(
            out,
            format!("allOf of {n} contains"),
            json!({"type": "array", "allOf": list(n.min(2_000), |i| json!({"contains": {"const": i}}))}),
        );
        add(
            out,
            format!("prefix of {n}, contains"),
            json!({"type": "array", "prefixItems": list(n.min(20_000), |i| json!({"enum": [i, "a"]})), "contains": {"const": "a"}, "minContains": 3}),
        );
        add(
            out,
            format!("contains not {n}"),
            json!({"type": "array", "not": {"contains": {"const": 1}, "minContains": n}}),
        );
    }
}

pub(crate) fn wide(out: &mut Cases) {
    for n in [1_000, 10_000, 100_000] {
        let all: Vec<String> = (0..n).map(name).collect();
        add(
            out,
            format!("{n} properties"),
            json!({"type": "object", "properties": map(all.iter().map(|p| (p.clone(), json!({"type": "string"}))))}),
        );
        add(
            out,
            format!("{n} properties, closed and required"),
            json!({"type": "object", "additionalProperties": false, "required": all, "properties": map(all.iter().map(|p| (p.clone(), json!({"type": "string"}))))}),
        );
        add(
            out,
            format!("{n} required"),
            json!({"type": "object", "required": all}),
        );
        add(
            out,
            format!("{n} required, at most {}", n - 1),
            json!({"type": "object", "required": all, "maxProperties": n - 1}),
        );
        add(
            out,
            format!("{n} properties of many bounds"),
            json!({"type": "object", "properties": map((0..n).map(|i| (name(i), json!({"type": "integer", "minimum": i, "maximum": i * 3}))))}),
        );
        add(
            out,
            format!("{n} properties of many lengths"),
            json!({"type": "object", "properties": map((0..n).map(|i| (name(i), json!({"type": "string", "maxLength": i}))))}),
        );
        add(
            out,
            format!("{n} properties of objects"),
            json!({"type": "object", "properties": map((0..n).map(|i| (name(i), json!({"type": "object", "properties": {(name(i)): {"type": "integer"}}}))))}),
        );
        add(
            out,
            format!("{n} required twice"),
            json!({"type": "object", "required": list(n, |_| json!("a"))}),
        );
        add(
            out,
            format!("{n} properties beside minProperties"),
            json!({"type": "object", "additionalProperties": false, "minProperties": n / 2, "properties": map(all.iter().map(|p| (p.clone(), json!({"type": "string"}))))}),
        );
        add(
            out,
            format!("{n} properties in either of two"),
            json!({"anyOf": [
                {"type": "object", "properties": map(all.iter().map(|p| (p.clone(), json!({"type": "string"})))), "required": ["x"]},
                {"type": "object", "properties": map(all.iter().map(|p| (p.clone(), json!({"type": "integer"})))), "required": ["y"]}]}),
        );
        add(
            out,
            format!("{n} types"),
            json!({"type": list(n, |i| json!(["string", "null", "integer"][i % 3]))}),
        );
        add(
            out,
            format!("{n} properties that cannot be"),
            json!({"type": "object", "properties": map(all.iter().map(|p| (p.clone(), json!(false)))), "minProperties": 1}),
        );
    }
}

pub(crate) fn deep(out: &mut Cases) {
    for n in [50, 120, 130, 1_000, 5_000] {
        for (what, around, hole) in [
            (
                "properties",
                json!({"type": "object", "properties": {"a": null}}),
                "/properties/a",
            ),
            (
                "required properties",
                json!({"type": "object", "properties": {"a": null}, "required": ["a"]}),
                "/properties/a",
            ),
            ("items", json!({"type": "array", "items": null}), "/items"),
            (
                "prefixItems",
                json!({"type": "array", "prefixItems": [null], "minItems": 1}),
                "/prefixItems/0",
            ),
            (
                "additionalProperties",
                json!({"additionalProperties": null}),
                "/additionalProperties",
            ),
            (
                "patternProperties",
                json!({"patternProperties": {"^a": null}}),
                "/patternProperties/^a",
            ),
            (
                "contains",
                json!({"type": "array", "contains": null}),
                "/contains",
            ),
            ("not", json!({"not": null}), "/not"),
            (
                "if",
                json!({"if": null, "then": {"minProperties": 1}}),
                "/if",
            ),
            (
                "then",
                json!({"if": {"required": ["a"]}, "then": null}),
                "/then",
            ),
            (
                "dependentSchemas",
                json!({"dependentSchemas": {"a": null}}),
                "/dependentSchemas/a",
            ),
            (
                "propertyNames",
                json!({"propertyNames": null}),
                "/propertyNames",
            ),
            (
                "unevaluatedItems",
                json!({"unevaluatedItems": null}),
                "/unevaluatedItems",
            ),
            (
                "unevaluatedProperties",
                json!({"allOf": [{"properties": {"a": true}}], "unevaluatedProperties": null}),
                "/unevaluatedProperties",
            ),
            ("unknown keywords", json!({"x": null}), "/x"),
            (
                "defs",
                json!({"$defs": {"a": null}, "type": "string"}),
                "/$defs/a",
            ),
            (
                "default",
                json!({"default": null, "type": "string"}),
                "/default",
            ),
        ] {
            let mut schema = json!({"type": "string"});
            for _ in 0..n {
                // `json!` copies what it is given: a deep one would be copied at each level.
                let mut outer = around.clone();
                if let Some(place) = outer.pointer_mut(hole) {
                    *place = schema;
                }
                schema = outer;
            }
            add(out, format!("{what} nested {n} deep"), schema);
        }
    }
}

pub(crate) fn arrays(out: &mut Cases) {
    for n in [100, 4_999, 5_001, 100_000] {
        add(
            out,
            format!("prefixItems of {n}"),
            json!({"type": "array", "prefixItems": list(n, |i| json!({"const": i}))}),
        );
        add(
            out,
            format!("prefixItems of {n}, all needed"),
            json!({"type": "array", "prefixItems": list(n, |i| json!({"minimum": i})), "minItems": n, "items": false}),
        );
        add(
            out,
            format!("not prefixItems of {n}"),
            json!({"type": "array", "not": {"prefixItems": list(n, |i| json!({"minimum": i}))}}),
        );
        add(
            out,
            format!("anyOf of two prefixes of {n}"),
            json!({"type": "array", "anyOf": [{"prefixItems": list(n, |i| json!({"minimum": i}))}, {"prefixItems": list(n, |i| json!({"maximum": i}))}]}),
        );
        add(
            out,
            format!("an array that differs from {n} others"),
            json!({"type": "array", "allOf": list(n.min(5_000), |i| json!({"not": {"const": [i]}}))}),
        );
    }
}

pub(crate) fn wrong(out: &mut Cases) {
    for keyword in [
        "$id",
        "$schema",
        "$ref",
        "$anchor",
        "$dynamicRef",
        "$dynamicAnchor",
        "$recursiveRef",
        "$recursiveAnchor",
        "$defs",
        "$vocabulary",
        "$comment",
        "definitions",
        "type",
        "enum",
        "const",
        "multipleOf",
        "maximum",
        "exclusiveMaximum",
        "minimum",
        "exclusiveMinimum",
        "maxLength",
        "minLength",
        "pattern",
        "maxItems",
        "minItems",
        "uniqueItems",
        "maxContains",
        "minContains",
        "maxProperties",
        "minProperties",
        "required",
        "dependentRequired",
        "dependencies",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "dependentSchemas",
        "prefixItems",
        "items",
        "additionalItems",
        "contains",
        "properties",
        "patternProperties",
        "additionalProperties",
        "propertyNames",
        "unevaluatedItems",
        "unevaluatedProperties",
        "format",
        "title",
        "description",
        "default",
        "deprecated",
        "readOnly",
        "examples",
        "contentEncoding",
        "x-tokenmold",
        "nullable",
    ] {
        for (what, value) in [
            ("a number", json!(5)),
            ("a text", json!("(")),
            ("null", Value::Null),
            ("a list", json!([1, {"type": 5}])),
            ("an object", json!({"(": [5]})),
            ("a negative number", json!(-1.5)),
        ] {
            add(
                out,
                format!("{keyword} is {what}"),
                json!({(keyword): value}),
            );
        }
    }
}
