//! The place of the schema at which a state stands, for traces and explanations.
//!
//! For example, behind `{"a": [` a value of `/properties/a/items` comes next.

use crate::automaton::machine::Machine;
use crate::automaton::run::config::{Frame, Gap, Top, UNITS};
use crate::automaton::run::scratch::{Noted, Scratch};
use crate::automaton::run::state::{self, Load, State};

/// Returns the token that is being read, its node, and the goals that are wanted of it.
/// O(size of the state).
pub(super) fn innermost(machine: &Machine, state: &State) -> (&'static str, u32, Vec<u32>) {
    let mut x = Scratch::new();
    let config = state::load(machine, state, &mut x, Load::Text);
    let frame = (config.stack != 0).then(|| x.peek(Noted::beside_masks(config.stack)).frame);
    let goals = |set: u32| x.list(set).to_vec();
    match config.top {
        Top::Value { node, set, .. } => ("before a value", node, goals(set)),
        Top::Number { node, set, .. } => ("in a number", node, goals(set)),
        Top::String { node, set, .. } => ("in a string", node, goals(set)),
        Top::Unit { word, set, .. } => {
            let what = match UNITS.get(word as usize).map(|unit| unit.first()) {
                Some(Some(b'n')) => "in `null`",
                Some(Some(b't')) => "in `true`",
                _ => "in `false`",
            };
            let node = frame.map_or(0, |frame| open_member(machine, &frame));
            (what, node, goals(set))
        }
        Top::Key(_) => of_frame(machine, "in a name", frame, &x),
        Top::Gap(gap, _) => {
            let what = match gap {
                Gap::ObjectStart => "after `{`",
                Gap::BeforeKey | Gap::BeforeFurther => "before a name",
                Gap::Colon => "before `:`",
                Gap::AfterMember => "after a member",
                Gap::ArrayStart => "after `[`",
                Gap::AfterItem => "after an item",
            };
            of_frame(machine, what, frame, &x)
        }
        Top::End => {
            let all = machine.nodes().first().map_or(0, |node| node.goals.len());
            ("after the value", 0, (0..all as u32).collect())
        }
    }
}

/// An open array or object itself, for those of its goals that some thread
/// still serves.
fn of_frame(
    machine: &Machine,
    what: &'static str,
    frame: Option<Frame>,
    x: &Scratch,
) -> (&'static str, u32, Vec<u32>) {
    let Some(frame) = frame else {
        return (what, 0, Vec::new());
    };
    let node = machine.node(frame.node);
    let goal = |thread: u32| {
        let at = thread as usize;
        match frame.is_object {
            true => Some(node.object.as_ref()?.threads.get(at)?.goal),
            false => Some(node.array.as_ref()?.threads.get(at)?.goal),
        }
    };
    let threads = x.list(frame.threads);
    let goals = threads.iter().step_by(2).filter_map(|t| goal(*t));
    (what, frame.node, goals.collect())
}

/// The node of the member or item that is open in a frame.
fn open_member(machine: &Machine, frame: &Frame) -> u32 {
    let node = machine.node(frame.node);
    let member = match (frame.is_object, &node.object, &node.array) {
        (true, Some(object), _) => Some(object.member(frame.member)),
        (false, _, Some(array)) => {
            let last = array.members.len().saturating_sub(1);
            array.members.get((frame.pos as usize).min(last))
        }
        _ => None,
    };
    member.map_or(u32::MAX, |member| member.node)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use fsm_index::ByteAutomaton;

    use crate::Options;
    use crate::automaton::SchemaAutomaton;

    fn places(schema: serde_json::Value, text: &str) -> Vec<String> {
        let automaton = SchemaAutomaton::new(&schema, &Options::default()).unwrap();
        let mut x = automaton.scratch();
        let mut state = automaton.start();
        let mut all = Vec::new();
        for byte in text.bytes() {
            automaton.advance(&mut state, &[byte], &mut x).unwrap();
            let place = automaton.location(&state);
            let place = format!("{}: {}", place.state, place.locations.join(" | "));
            if all.last() != Some(&place) {
                all.push(place);
            }
        }
        all
    }

    #[test]
    fn places_follow_the_text() {
        let schema = json!({
            "type": "object",
            "properties": {
                "a": {"$ref": "#/$defs/list"},
                "b": {"anyOf": [{"type": "boolean"}, {"type": "string", "maxLength": 3}]},
            },
            "required": ["a", "b"],
            "additionalProperties": false,
            "$defs": {"list": {"type": "array", "items": {"type": "integer", "minimum": 5}}},
        });
        let all = places(schema, r#"{"a":[17,8],"b":true}"#);
        let expected = [
            "after `{`, 1 level deep: ",
            "in a name, 1 level deep: ",
            "before `:`, 1 level deep: ",
            "before a value, 1 level deep: /properties/a",
            "after `[`, 2 levels deep: /properties/a",
            "in a number, 2 levels deep: /$defs/list/items",
            "before a value, 2 levels deep: /$defs/list/items",
            "in a number, 2 levels deep: /$defs/list/items",
            "after a member, 1 level deep: ",
            "before a name, 1 level deep: ",
            "in a name, 1 level deep: ",
            "before `:`, 1 level deep: ",
            "before a value, 1 level deep: /properties/b",
            "in `true`, 1 level deep: /properties/b",
            "after a member, 1 level deep: ",
            "after the value: ",
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn alternatives_that_are_lost_are_not_named() {
        let schema = json!({
            "oneOf": [
                {"type": "object", "properties": {"kind": {"const": "a"}, "n": {"type": "integer"}}, "required": ["kind", "n"], "additionalProperties": false},
                {"type": "object", "properties": {"kind": {"const": "b"}, "s": {"type": "string"}}, "required": ["kind", "s"], "additionalProperties": false},
            ],
        });
        let all = places(schema, r#"{"kind":"b","s":"x"}"#);
        let expected = [
            "after `{`, 1 level deep: ",
            "in a name, 1 level deep: ",
            "before `:`, 1 level deep: ",
            "before a value, 1 level deep: /oneOf/0/properties/kind | /oneOf/1/properties/kind",
            "in a string, 1 level deep: /oneOf/0/properties/kind | /oneOf/1/properties/kind",
            "after a member, 1 level deep: ",
            "before a name, 1 level deep: ",
            "in a name, 1 level deep: ",
            "before `:`, 1 level deep: ",
            "before a value, 1 level deep: /oneOf/1/properties/s",
            "in a string, 1 level deep: /oneOf/1/properties/s",
            "after a member, 1 level deep: ",
            "after the value: ",
        ];
        assert_eq!(all, expected);
    }
}
