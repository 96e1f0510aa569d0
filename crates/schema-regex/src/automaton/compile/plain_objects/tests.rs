//! Plain objects have the machines that all objects have.

use schema_normal::ParseOptions;
use schema_normal::ir::ROOT;
use schema_normal::ir::signed::Signed;
use schema_normal::normal::alternative::{Kind, Shape};
use schema_normal::normal::in_place::refuse_cycles;
use schema_normal::normal::normaliser::Normaliser;
use schema_normal::normal::search::shapes::known_shapes;
use schema_normal::options::{Options, PropertyOrder, Target};
use serde_json::{Value, json};

use crate::automaton::compile::builder::Builder;
use crate::automaton::compile::{nodes, objects, plain_objects};

/// How many objects of a schema are plain, each compared with what is made of it as of any
/// other.
fn compared(schema: &Value, options: &Options) -> usize {
    let Ok(mut read) = schema_normal::parse_with(schema, &ParseOptions::default()) else {
        return 0;
    };
    let options = read.options(options);
    read.annotate(&options);
    let mut normaliser = Normaliser::new(read, options, Target::Automaton);
    if refuse_cycles(&normaliser).is_err() {
        return 0;
    }
    let root = normaliser.intern(&[Signed::yes(ROOT)]);
    let mut builder = Builder::new(normaliser);
    if nodes::build(&mut builder, root).is_err() {
        return 0;
    }
    let mut count = 0;
    let goals: Vec<_> = builder.normaliser.sets().collect();
    for goal in goals {
        let known = known_shapes(&builder.normaliser, goal, Kind::Object);
        let Some([Shape::Object(object)]) = known.map(|shapes| &shapes[..]) else {
            continue;
        };
        let object = object.clone();
        let Ok(Some(plain)) = plain_objects::plain_object(&mut builder, goal, &object) else {
            continue;
        };
        let machine = objects::object_machine(&mut builder, &[goal], &[(0, &object)]);
        let machine = machine.expect("it was made once");
        assert_eq!(format!("{plain:#?}"), format!("{machine:#?}"), "{schema}");
        count += 1;
    }
    count
}

#[test]
fn plain_objects_are_made_as_all_objects() {
    let several = json!({
        "type": "object",
        "properties": {
            "b": {"type": "string"},
            "a": {"$ref": "#/$defs/point"},
            "never": false,
            "any": {},
        },
        "required": ["z", "a", "y"],
        "minProperties": 2,
        "maxProperties": 5,
        "additionalProperties": {"type": "object", "additionalProperties": false},
        "$defs": {
            "point": {
                "type": "object",
                "properties": {"y": {"type": "number"}, "x": {"type": "number"}},
                "required": ["x"],
                "additionalProperties": false,
            },
        },
    });
    let mut schemas = vec![several, json!({}), json!({"type": "object"})];
    if let Some(folder) = std::env::var_os("TOKENMOLD_DATA") {
        let folder = std::path::Path::new(&folder).join("json-schema-test-suite");
        let text = std::fs::read_to_string(folder.join("draft2020-12.jsonl")).unwrap();
        schemas.extend(text.lines().map(|line| {
            let case: Value = serde_json::from_str(line).unwrap();
            case["schema"].clone()
        }));
    }
    for order in [PropertyOrder::Schema, PropertyOrder::Any] {
        let options = Options::default().with_property_order(order);
        let counts = schemas.iter().map(|schema| compared(schema, &options));
        let counts: Vec<usize> = counts.collect();
        assert_eq!(counts[..3], [4, 1, 2]);
    }
}
