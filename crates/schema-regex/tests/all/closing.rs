//! Random schemas without the members of which they say nothing: nothing but members is lost.

use schema_regex::automaton::SchemaAutomaton;
use schema_regex::{Options, parse};

use crate::common::{schemas, values};

/// What a closed schema admits the open one admits, and where the open one has values the
/// closed one has some.
#[test]
fn closed_schemas_of_every_kind_are_subsets() {
    use fsm_index::ByteAutomaton as _;

    let (mut runner, _) = schemas::runner(400);
    let cases = (schemas::schema(), proptest::prelude::any::<u64>());
    let outcome = runner.run(&cases, |(schema, seed)| {
        let parsed = parse(&schema).expect("the schemas are read");
        let open = SchemaAutomaton::compile(parsed.clone(), &Options::default());
        let narrow = SchemaAutomaton::compile(parsed, &Options::for_generation());
        let (Ok(open), Ok(narrow)) = (&open, &narrow) else {
            // Limits aside, both are refused for the same reason.
            let kinds = [open.err().map(|e| e.kind()), narrow.err().map(|e| e.kind())];
            proptest::prop_assert_eq!(kinds[0], kinds[1], "{}", schema);
            return Ok(());
        };
        let mut shortest = Vec::new();
        let completed = narrow.completion(&narrow.start(), 1 << 12, &mut shortest);
        if completed.is_some() {
            proptest::prop_assert!(open.is_match(&shortest), "{schema}");
        }
        let mut chance = schemas::Chance(seed);
        for _ in 0..24 {
            let value = match chance.one_in(2) {
                true => schemas::near(&schema, &schema, &mut chance, 0),
                false => schemas::value(&mut chance, 0),
            };
            for text in values::orders(&value) {
                let bytes = text.as_bytes();
                let is_lost = narrow.is_match(bytes) && !open.is_match(bytes);
                proptest::prop_assert!(!is_lost, "{schema}: {text}");
            }
        }
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}
