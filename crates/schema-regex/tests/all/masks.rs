//! Masks of schema automata: every way to compute them against brute force, by
//! the check that `fsm-index` has for whoever writes an automaton.

use fsm_index::contract::{Effort, check};
use std::sync::Arc;

use fsm_index::{Fill, Guide, Index, IndexConfig, TokenId, Vocabulary, brute_force_mask};
use schema_regex::automaton::SchemaAutomaton;
use schema_regex::{Caps, Escapes, IntegerSpelling, Options, PropertyOrder, Whitespace};
use serde_json::{Value, json};

/// Every byte, and pieces of JSON that tokens of real vocabularies look like:
/// those that end one thing and begin another above all.
fn vocabulary(more: &[String]) -> Vocabulary {
    let pieces = [
        "\":",
        "\": ",
        "\":\"",
        "\": \"",
        "\",\"",
        "\", \"",
        "\\n\"",
        "\\u0062\"",
        "{\"",
        "\"}",
        "\"},\"",
        "\"}, {\"",
        "\":{\"",
        "\":[",
        "\":{}",
        "\"\"",
        "\"\",",
        "{}",
        "[]",
        "[[",
        "[[[[",
        "]]",
        "}}",
        "}]}",
        "],",
        "},",
        "1,",
        "12",
        "123",
        "0.5",
        "-1",
        "1}",
        "1]",
        "true",
        "true}",
        "null,",
        "\\u00",
        "\\n",
        "\\\"",
        "ab",
        "abc",
        "a",
        "b\"",
        "c\":",
        "x\":1",
        "xy",
        "é",
        "ée",
        "日",
        "日本",
        "\",",
        ", ",
        ":",
        " ",
        "  ",
        "\n",
        "e\":\"",
        "\":1,\"",
        "\":\"\",\"",
        "a\":1,\"b\":",
        "},{",
        "1,1",
        ",1,1",
        "[1,1",
        "\"a\",\"a\"",
        "[\"a\",\"a\"",
        "},{}",
        "},{},{}",
        ",{},{}",
        "],[]",
        "[[],[]",
        ":abc",
        "abcdefgh",
        ".abc",
    ];
    let mut texts: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
    texts.extend(pieces.iter().map(|piece| piece.as_bytes().to_vec()));
    for text in more {
        let bytes = text.as_bytes();
        for from in (0..bytes.len()).step_by(3) {
            for size in [2, 4, 7, 12] {
                texts.push(bytes[from..bytes.len().min(from + size)].to_vec());
            }
        }
    }
    texts.sort();
    texts.dedup();
    let tokens = texts
        .iter()
        .zip(0..)
        .map(|(text, id)| (text.as_slice(), TokenId::new(id)));
    let end = TokenId::new(texts.len() as u32);
    Vocabulary::new(tokens, [end]).expect("the tokens are distinct")
}

fn checked(schema: &Value, beginnings: &[&str]) {
    let more: Vec<String> = beginnings.iter().map(|b| (*b).to_owned()).collect();
    let vocabulary = vocabulary(&more);
    for (order, seed) in [(PropertyOrder::Schema, 1), (PropertyOrder::Any, 2)] {
        let options = Options::default()
            .with_property_order(order)
            .with_max_nesting(6);
        let automaton = SchemaAutomaton::new(schema, &options).expect("the schema is taken");
        let effort = Effort {
            walks: 24,
            tokens: 24,
            seed,
        };
        if let Err(difference) = check(&automaton, &vocabulary, beginnings, effort) {
            panic!("{schema}, {order:?}: {difference}");
        }
    }
}

/// Compares the masks behind texts with brute force, with nothing remembered but
/// what the texts before left.
fn in_this_order(automaton: &SchemaAutomaton, texts: &[&str]) {
    let vocabulary = vocabulary(&[]);
    let config = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    let index = Index::lazy(automaton.clone(), &vocabulary, &config).expect("it has all bytes");
    let index = Arc::new(index);
    for text in texts {
        let mut guide = Guide::new(index.clone());
        for byte in text.bytes() {
            let token = (0..)
                .map(TokenId::new)
                .find(|&token| vocabulary.token_bytes(token) == Some(&[byte]));
            let token = token.expect("every byte is a token");
            guide.advance(token).expect("it may come");
        }
        let expected = brute_force_mask(automaton, guide.state(), &vocabulary);
        assert_eq!(guide.mask().unwrap(), &expected, "{text}");
    }
}

#[test]
fn additional_members() {
    let schema = json!({
        "type": "object",
        "properties": {"abc": {"type": "string"}, "b": {"type": "integer"}, "xy": {}},
        "required": ["b"]
    });
    checked(
        &schema,
        &["{\"abc\": \"x\", \"b\": 1, \"c\": {\"a", "{\"b\": 1, \"b"],
    );
    checked(
        &json!({}),
        &[
            "{\"a\": [{\"abc\": 1}, {\"a",
            "[[[[",
            "{\"a\": 1, \"abc\": \"",
        ],
    );
}

#[test]
fn classes_of_names() {
    let schema = json!({
        "patternProperties": {"^a": {"type": "integer"}, "b$": {"maximum": 12}},
        "additionalProperties": {"type": "string", "maxLength": 3},
        "propertyNames": {"maxLength": 4}
    });
    checked(&schema, &["{\"a\": 1, \"x", "{\"ab\": 1, \"c\": \"x"]);
}

#[test]
fn strings_and_numbers() {
    let schema = json!({
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "string", "maxLength": 5},
            "c": {"type": "string", "pattern": "^[a-c]+$"},
            "d": {"enum": ["abc", "ab", "xy"]},
            "e": {"type": "number", "minimum": 0.5},
            "f": {"type": "string"},
            "g": {"type": "string", "format": "date"}
        },
        "additionalProperties": false
    });
    let beginnings = [
        "{\"a\": \"ab",
        "{\"a\": \"\", \"b\": \"a",
        "{\"c\": \"ab",
        "{\"d\": \"a",
        "{\"e\": 1",
        "{\"f\": \"",
        "{\"g\": \"20",
    ];
    checked(&schema, &beginnings);
}

/// What is found out about plain strings and numbers is kept with the
/// vocabulary: it must be right for the next schema too, with other bounds,
/// spellings and surroundings.
#[test]
fn schemas_that_share_a_vocabulary() {
    let vocabulary = vocabulary(&[]);
    let leaves = [
        json!({"type": "string"}),
        json!({"type": "string", "maxLength": 9}),
        json!({"type": "string", "minLength": 2, "maxLength": 200}),
        json!({"type": "number"}),
        json!({"type": "integer"}),
        json!({"type": ["string", "integer", "null"]}),
        json!({"type": "number", "maximum": 12}),
    ];
    for (escapes, integers) in [
        (Escapes::Shortest, IntegerSpelling::Plain),
        (Escapes::All, IntegerSpelling::ZeroFraction),
        (Escapes::Standard, IntegerSpelling::Plain),
        (Escapes::AllInValues, IntegerSpelling::Plain),
    ] {
        let options = Options::default()
            .with_escapes(escapes)
            .with_integers(integers);
        for leaf in &leaves {
            let around = [
                ("", leaf.clone()),
                ("[", json!({"type": "array", "items": leaf})),
                (
                    "{\"ab\":",
                    json!({"type": "object", "properties": {"ab": leaf, "c": leaf}, "additionalProperties": leaf}),
                ),
            ];
            for (begun, schema) in &around {
                let automaton =
                    SchemaAutomaton::new(schema, &options).expect("the schema is taken");
                let effort = Effort {
                    walks: 4,
                    tokens: 16,
                    seed: 5,
                };
                if let Err(difference) = check(&automaton, &vocabulary, &["", begun], effort) {
                    panic!("{schema}, {escapes:?}, {integers:?}: {difference}");
                }
            }
        }
    }
}

#[test]
fn an_index_says_where_its_rows_are_from() {
    let vocabulary = vocabulary(&[]);
    let lazy = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    let index = || {
        let schema = json!({"type": "object", "properties": {"ab": {"type": "string"}}});
        let automaton = SchemaAutomaton::new(&schema, &Options::default()).unwrap();
        Arc::new(Index::lazy(automaton, &vocabulary, &lazy).unwrap())
    };
    let counted = |index: &Arc<Index<SchemaAutomaton>>| {
        Guide::new(Arc::clone(index)).mask().unwrap();
        let stats = index.stats();
        (stats.rows_computed, stats.rows_common)
    };
    let first = index();
    assert_eq!(counted(&first), (1, 0));
    assert_eq!(counted(&first), (1, 0), "it is remembered");
    assert_eq!(counted(&index()), (0, 1), "the vocabulary has it");
}

#[test]
fn alternatives() {
    let schema = json!({
        "oneOf": [
            {"type": "object", "properties": {"a": {"const": "ab"}, "b": {"type": "string"}}, "required": ["a", "b"]},
            {"type": "object", "properties": {"a": {"const": "abc"}, "b": {"type": "integer"}}, "required": ["a"]},
            {"type": "array", "items": {"type": ["string", "integer"]}, "contains": {"const": 12}}
        ]
    });
    checked(
        &schema,
        &[
            "{\"a\": \"ab",
            "{\"a\": \"abc\", \"",
            "[12, \"a",
            "{\"a\": \"abc\", \"b",
        ],
    );
}

#[test]
fn recursion() {
    let schema = json!({
        "$defs": {"tree": {
            "type": "object",
            "properties": {"x": {"type": "integer"}, "c": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
            "required": ["x"],
            "minProperties": 1,
            "maxProperties": 3
        }},
        "$ref": "#/$defs/tree"
    });
    checked(
        &schema,
        &[
            "{\"x\": 1, \"c\": [{\"x\": 1, \"c\": [{\"",
            "{\"x\": 1, \"a\": [[[[[",
        ],
    );
}

#[test]
fn items_that_differ() {
    let schema = json!({
        "type": "array",
        "items": {"properties": {"a": {"enum": ["a", "ab", "abc"]}}, "required": ["a"], "additionalProperties": false},
        "uniqueItems": true
    });
    checked(&schema, &["[{\"a\": \"a\"}, {\"a\": \"a"]);
}

/// Items that are more than free strings, as texts that become different early,
/// late or never, with further items behind them in one token.
#[test]
fn items_of_all_kinds_that_differ() {
    let named = json!({
        "type": "array",
        "items": {"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]},
        "uniqueItems": true
    });
    let beginnings = [
        "[{\"a\": \"ab\"}, {\"a\": \"ab\", \"b\": 12}, {\"a\": \"ab",
        "[{\"a\": \"ab\", \"b\": 123}, {\"a\": \"ab\", \"b\": 1",
        "[{\"a\": \"x\", \"abc\": [1, {\"xy\": 12}]}, {\"a\": \"x\", \"abc\": [1, {\"xy",
        "[{\"a\": \"ab\"}, {\"a\": \"abc",
        "[{\"a\": \"\\nb\"}, {\"a\": \"\\n",
    ];
    checked(&named, &beginnings);
    let closed = json!({
        "type": "array",
        "items": {"properties": {"a": {"enum": ["a", "ab"]}, "b": {"type": "string", "pattern": "^(x|1[23]*)$"}},
                  "required": ["a", "b"], "additionalProperties": false},
        "uniqueItems": true
    });
    let beginnings = [
        "[{\"a\": \"a\", \"b\": \"x\"}, {\"a\": \"a\", \"b\": \"",
        "[{\"a\": \"a\", \"b\": \"12\"}, {\"a\": \"a\", \"b\": \"1",
    ];
    checked(&closed, &beginnings);
    let numbers = json!({"type": "array", "items": {"type": "number"}, "uniqueItems": true});
    let beginnings = [
        "[12, 1",
        "[0.5, 0",
        "[123, 12, -1, ",
        "[1, 12",
        "[0, -",
        "[5, 0.5e1",
    ];
    checked(&numbers, &beginnings);
    let patterns = json!({"items": {"type": "string", "pattern": "^(ab|a[bc]*x|1[23]*)$"}, "uniqueItems": true});
    checked(
        &patterns,
        &["[\"ab\", \"a", "[\"abcx\", \"ab", "[\"12\", \"123\", \"1"],
    );
    let lists = json!({
        "type": "array", "uniqueItems": true,
        "items": {"type": "array", "items": {"type": ["integer", "boolean", "null"]}}
    });
    checked(
        &lists,
        &["[[1, 12], [1, 1", "[[], [true, ", "[[null, 12], ["],
    );
    let nested = json!({
        "type": "array", "uniqueItems": true,
        "items": {"properties": {"a": {"type": "array", "uniqueItems": true, "items": {"type": ["integer", "string"]}},
                                 "b": {"type": "array", "uniqueItems": true}}}
    });
    let beginnings = [
        "[{\"a\": [1, \"ab\"]}, {\"a\": [1, \"a",
        "[{\"b\": [[1], 12]}, {\"b\": [[1",
        "[{\"x\": 1}, {\"a\": [12, 1], \"b",
        "[{\"x\": 1}, {\"a\": [12, 12",
    ];
    checked(&nested, &beginnings);
    let either = json!({
        "items": {"anyOf": [{"const": {"a": 1}}, {"const": {"a": 12}}, {"type": "array", "items": {"type": "null"}}]},
        "uniqueItems": true, "minItems": 3
    });
    checked(
        &either,
        &["[{\"a\": 1}, ", "[{\"a\": 12}, {\"a\": 1", "[[], [null"],
    );
    let sometimes = json!({
        "items": {"type": "object", "additionalProperties": {"type": "integer"}},
        "anyOf": [{"uniqueItems": true}, {"maxItems": 2}]
    });
    checked(&sometimes, &["[{\"a\": 1}, {\"a", "[{}, {\"ab\": 12"]);
}

/// Items of few values, where what is left for later ones counts.
#[test]
fn items_of_few_values_that_differ() {
    let items = |item: Value, least: u32| json!({"type": "array", "items": item, "uniqueItems": true, "minItems": least});
    let words = json!({"enum": ["a", "ab", "abc", "日", "日本", "é"]});
    checked(
        &items(words.clone(), 6),
        &["[\"a\", \"日", "[\"日本\",\"é\",\"ab\",\"abc\",\"a\""],
    );
    let places = json!({"type": "array", "uniqueItems": true, "minItems": 3, "items": words,
        "prefixItems": [{"enum": ["a", "ab", 1, 12]}, {"enum": ["a", 12]}, {"enum": [12, "日"]}]});
    checked(&places, &["[\"ab\", \"a\", 1", "[1, 12, \"日\", \"a"]);
    let counted = json!({"type": "array", "uniqueItems": true, "items": words, "maxItems": 4,
        "contains": {"enum": ["a", "日", "x"]}, "minContains": 2});
    checked(&counted, &["[\"ab\", \"abc\", \"", "[\"日\", \"a"]);
    let tenths = json!({"type": "number", "minimum": 0, "maximum": 1.2, "multipleOf": 0.1});
    checked(
        &items(tenths, 3),
        &["[0.5, 0.", "[1, 1.2, 0.", "[0.1,0.5,0"],
    );
    let short = json!({"type": "string", "pattern": "^[ab]{1,2}$"});
    checked(&items(short, 6), &["[\"a\",\"ab\",\"aa\",\"", "[\"b"]);
    let inner = items(json!({"enum": ["a", "b\"", 1]}), 2);
    checked(
        &items(inner, 2),
        &["[[1, \"a\"], [1", "[[\"b\\\"\",\"a\",1],["],
    );
}

/// Lists of few values inside items that have no end of them: a walk forgets the item that
/// differs, and follows the list. These took up to 1.4 seconds a mask, since nothing was forgotten.
#[test]
fn lists_of_few_values_inside_items_without_end() {
    let list = |items: Value| json!({"type": "array", "uniqueItems": true, "items": items});
    let noted = |more: Value| {
        list(
            json!({"type": "object", "properties": {"a": {"type": "string"}, "abc": more},
                    "required": ["a", "abc"], "additionalProperties": false}),
        )
    };
    let words = json!({"enum": ["a", "ab", 1, 12]});
    let beginnings = [
        "[{\"a\": \"\", \"abc\": []}, {\"a\": \"x",
        "[{\"a\": \"x\", \"abc\": [1]}, {\"a\": \"",
        "[{\"a\": \"x\", \"abc\": [1]}, {\"a\": \"y\", \"abc\": [1,",
        "[{\"a\": \"x\", \"abc\": [1]}, {\"a\": \"x\", \"abc\": [",
        "[{\"a\": \"x\", \"abc\": [1]}, {\"a\": \"y\", \"abc",
    ];
    checked(&noted(list(words.clone())), &beginnings);
    let mut two = list(words.clone());
    two["minItems"] = json!(2);
    two["prefixItems"] = json!([{"enum": [1, "a"]}, {"enum": [1]}]);
    checked(
        &noted(two),
        &[
            "[{\"a\": \"\", \"abc\": [\"a\", 1]}, {\"a\": \"x",
            "[{\"a\": \"x\", \"abc\": [\"a\", 1, 12]}, {\"a\": \"y\", \"abc\": [",
        ],
    );
    checked(
        &noted(list(list(words.clone()))),
        &[
            "[{\"a\": \"\", \"abc\": []}, {\"a\": \"x",
            "[{\"a\": \"x\", \"abc\": [[1]]}, {\"a\": \"y\", \"abc\": [[1],",
        ],
    );
    // Between both, one whose items have no end of values.
    checked(
        &noted(noted(list(json!({"type": "boolean"})))),
        &[
            "[{\"a\": \"x\", \"abc\": []}, {\"a\": \"",
            "[{\"a\": \"x\", \"abc\": [{\"a\": \"\", \"abc\": [true]}]}, {\"a\": \"ab\", \"abc\": [{\"a\": \"",
        ],
    );
    // Behind the list, and around it.
    let behind = list(
        json!({"type": "object", "required": ["ab", "b"], "additionalProperties": false,
        "properties": {"ab": list(words.clone()), "b": {"type": "string"}, "c": list(words.clone())}}),
    );
    checked(
        &behind,
        &[
            "[{\"ab\": [1], \"b\": \"x\"}, {\"ab\": [12], \"b\": \"",
            "[{\"ab\": [1], \"b\": \"x\"}, {\"ab\": [1, \"",
        ],
    );
    checked(
        &list(json!({"anyOf": [{"type": "string"}, list(words), {"type": "integer"}]})),
        &["[\"ab\", [1], \"a", "[[1, 12], [1", "[[1], 12, \"x"],
    );
}

/// The same list inside an item that differs, where walks do not compare what it
/// opens, and outside of all such items, where they do.
#[test]
fn lists_inside_and_outside_of_items_that_differ() {
    let list = json!({"type": "array", "uniqueItems": true, "items": {"type": "string"}});
    let object = json!({
        "type": "object",
        "properties": {"q": {"type": "integer"}, "x": list},
        "additionalProperties": false
    });
    let schema = json!({
        "$defs": {"o": object},
        "type": "object",
        "properties": {
            "y": {"type": "array", "uniqueItems": true, "items": {"$ref": "#/$defs/o"}},
            "z": {"$ref": "#/$defs/o"}
        },
        "additionalProperties": false
    });
    let beginnings = [
        "{\"y\": [{\"q\": 1}, {\"x\": ",
        "{\"z\": {\"x\": ",
        "{\"y\": [{\"q\": 12}, {\"x\":",
        "{\"z\": {\"x\":",
    ];
    checked(&schema, &beginnings);
    let automaton = SchemaAutomaton::new(&schema, &Options::default()).expect("it is taken");
    in_this_order(&automaton, &beginnings);
}

#[test]
fn strings_that_differ() {
    let strings = json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true});
    let beginnings = [
        "[\"ab\", \"abc\", \"a",
        "[\"a\\n\", \"",
        "[\"\", \"a\", \"é",
        "[\"x\", \"\\u00",
    ];
    checked(&strings, &beginnings);
    let mixed = json!({"items": {"type": ["string", "integer", "object"]}, "uniqueItems": true});
    checked(
        &mixed,
        &["[\"ab\", 1, {\"a\": \"x\"}, \"a", "[{\"a\": [\"ab"],
    );
    let nested = json!({"type": "array", "items": strings, "uniqueItems": true});
    checked(&nested, &["[[\"a\"], [\"a\", \"", "[[], [\"ab"]);
    let sometimes =
        json!({"items": {"type": "string"}, "anyOf": [{"uniqueItems": true}, {"maxItems": 2}]});
    checked(&sometimes, &["[\"ab\", \"a"]);
    let inside = json!({"properties": {"a": strings, "b": {}}, "additionalProperties": false});
    checked(&inside, &["{\"a\": [\"ab\", \"a"]);
}

#[test]
fn patterns_that_are_searched_for() {
    let schema = json!({
        "properties": {
            "a": {"type": "string", "pattern": "[a-c]{2}-[0-9]"},
            "b": {"type": "string", "pattern": "^x.*$"},
            "c": {"type": "string", "pattern": "^ab|xy$"}
        },
        "patternProperties": {"^[a-c]+[0-9]$": {"type": "integer"}, "x": {"maxLength": 2}}
    });
    let beginnings = [
        "{\"a\": \"ab",
        "{\"a\": \"ab-",
        "{\"b\": \"xa",
        "{\"c\": \"1",
        "{\"ab",
        "{\"x\": 1, \"a",
    ];
    checked(&schema, &beginnings);
}

/// What one pattern leaves free another one may not read.
#[test]
fn patterns_side_by_side() {
    let schema = json!({
        "properties": {
            "a": {"type": "string", "anyOf": [{"pattern": "^[a-z]+$"}, {"pattern": "^:[0-9]*$"}]},
            "b": {"anyOf": [{"type": "string", "format": "hostname"}, {"enum": [":abc", ":x"]}]},
            "c": {"type": "string", "maxLength": 40, "pattern": "^(?:[a-z]+[.:]){0,3}[a-z]+$"},
            "d": {"type": "string", "pattern": "^[a-z]{1,40}$"}
        },
        "patternProperties": {"^(:[a-x]+)+$": {}, "^[0-9]+$": {}},
        "additionalProperties": false
    });
    let beginnings = [
        "{\"a\": \"",
        "{\"a\": \":",
        "{\"b\": \"",
        "{\"b\": \":",
        "{\"c\": \"abcdefgh.abcdefgh:",
        "{\"c\": \"",
        "{\"d\": \"abcdefghabcdefghabcdefghabcdefgh",
        "{\":abc",
        "{\"1",
    ];
    checked(&schema, &beginnings);
    // As it is before anything is cut or remembered.
    let automaton = SchemaAutomaton::new(&schema, &Options::default()).expect("it is taken");
    for beginning in beginnings {
        in_this_order(&automaton, &[beginning]);
    }
}

#[test]
fn closed_objects() {
    let schema = json!({
        "properties": {"a\"b": {}, "abc": {"type": "null"}, "ab": {"type": "string"}, "日本": {"enum": [12]}},
        "minProperties": 1,
        "additionalProperties": false
    });
    checked(&schema, &["{\"ab", "{\"abc\": null, \"", "{\"日"]);
    checked(
        &json!({"type": "object", "additionalProperties": false}),
        &["{"],
    );
}

#[test]
fn objects_that_the_options_close_and_caps() {
    let schema = json!({
        "properties": {"abc": {"type": "number"}, "b": {}}, "required": ["d"],
        "anyOf": [{"properties": {"ab": {"type": "object"}}}, {"properties": {"日本": {"type": "integer", "minimum": 12}}}]
    });
    let caps = Caps::default()
        .with_digits(3)
        .with_members(2)
        .with_name_length(2);
    for options in [
        Options::for_generation(),
        Options::default().with_caps(caps),
        Options::for_generation().with_caps(caps),
    ] {
        let automaton = SchemaAutomaton::new(&schema, &options).expect("the schema is taken");
        let effort = Effort {
            walks: 24,
            tokens: 24,
            seed: 3,
        };
        let beginnings = [
            "{\"abc\": 12",
            "{\"b\": {\"a",
            "{\"d\": [0.1",
            "{\"ab\": {\"xy",
        ];
        if let Err(difference) = check(&automaton, &vocabulary(&[]), &beginnings, effort) {
            panic!("{options:?}: {difference}");
        }
    }
}

#[test]
fn whitespace_of_all_kinds() {
    let schema = json!({"properties": {"abc": {"type": "integer"}, "b": {}}, "required": ["abc"]});
    for whitespace in [
        Whitespace::Compact,
        Whitespace::Spaced,
        Whitespace::Bounded(3),
        Whitespace::Pattern(String::from(" ?\n?")),
    ] {
        let options = Options::default().with_whitespace(whitespace.clone());
        let automaton = SchemaAutomaton::new(&schema, &options).expect("the schema is taken");
        let effort = Effort {
            walks: 24,
            tokens: 24,
            seed: 3,
        };
        let beginnings = match whitespace {
            Whitespace::Spaced => ["{\"abc\": 1, \"b\": [", "{\"abc\": 1, "],
            _ => ["{\"abc\":1,\"b\":[", "{\"abc\":1,"],
        };
        if let Err(difference) = check(&automaton, &vocabulary(&[]), &beginnings, effort) {
            panic!("{whitespace:?}: {difference}");
        }
    }
}
