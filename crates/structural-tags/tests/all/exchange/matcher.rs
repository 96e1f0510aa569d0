//! The automaton against a matcher that tries all ways.

use std::collections::BTreeSet;

use fsm_index::ByteAutomaton;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{compile, vocabulary};

/// Where a text may go on behind a format that begins at `from`: all places, by trying. What
/// the nearest tag around ends with is `ends`.
fn places(format: &Value, text: &[u8], from: usize, ends: &[String]) -> BTreeSet<usize> {
    let strings = |key: &str| -> Vec<String> {
        let list = format[key].as_array().into_iter().flatten();
        list.filter_map(|s| s.as_str().map(str::to_owned)).collect()
    };
    let flag = |key: &str| format[key] == json!(true);
    match format["type"].as_str().unwrap() {
        "const_string" => spelt(format["value"].as_str().unwrap(), text, from),
        "any_text" => {
            let mut stops = strings("excludes");
            stops.extend(ends.iter().filter(|e| !e.is_empty()).cloned());
            let most = format["max_chars"].as_u64().map(|n| n as usize);
            (from..=text.len())
                .filter(|&to| is_free(&text[from..to], &stops, &[]))
                .filter(|&to| most.is_none_or(|most| chars(&text[from..to]) <= most))
                .collect()
        }
        "sequence" => {
            let mut at = BTreeSet::from([from]);
            for element in format["elements"].as_array().unwrap() {
                at = at
                    .iter()
                    .flat_map(|&at| places(element, text, at, ends))
                    .collect();
            }
            at
        }
        "or" => {
            let all = format["elements"].as_array().unwrap().iter();
            all.flat_map(|one| places(one, text, from, ends)).collect()
        }
        "optional" => {
            let mut at = places(&format["content"], text, from, ends);
            at.insert(from);
            at
        }
        kind @ ("star" | "plus" | "repeat") => {
            let (least, most) = match kind {
                "star" => (0, None),
                "plus" => (1, None),
                _ => (
                    format["min"].as_u64().unwrap() as usize,
                    format["max"]
                        .as_i64()
                        .filter(|n| *n >= 0)
                        .map(|n| n as usize),
                ),
            };
            let mut found = BTreeSet::new();
            let mut at = BTreeSet::from([from]);
            // More often than there are bytes only the empty text is repeated.
            for times in 0..=most.unwrap_or(least + text.len() + 1) {
                if times >= least {
                    found.extend(&at);
                }
                at = at
                    .iter()
                    .flat_map(|&at| places(&format["content"], text, at, ends))
                    .collect();
            }
            found
        }
        "tag" => tag(format, text, from, ""),
        "tags_with_separator" => {
            let one = |from: usize| -> BTreeSet<usize> {
                let tags = format["tags"].as_array().unwrap().iter();
                tags.flat_map(|one| tag(one, text, from, "")).collect()
            };
            let separator = format["separator"].as_str().unwrap();
            let mut found = BTreeSet::new();
            let mut open: Vec<usize> = one(from).into_iter().collect();
            while let Some(at) = open.pop() {
                if found.insert(at) && !flag("stop_after_first") {
                    for next in spelt(separator, text, at) {
                        open.extend(one(next));
                    }
                }
            }
            if !flag("at_least_one") {
                found.insert(from);
            }
            found
        }
        "triggered_tags" => {
            let triggers = strings("triggers");
            let mut stops = strings("excludes");
            stops.extend(ends.iter().filter(|e| !e.is_empty()).cloned());
            let tags = format["tags"].as_array().unwrap();
            let then = |trigger: &str, at: usize| -> BTreeSet<usize> {
                let mine = tags
                    .iter()
                    .filter(|t| t["begin"].as_str().unwrap().starts_with(trigger));
                mine.flat_map(|one| tag(one, text, at, trigger)).collect()
            };
            let begins = |from: usize| -> BTreeSet<usize> {
                tags.iter().flat_map(|t| tag(t, text, from, "")).collect()
            };
            free(
                text,
                from,
                (&stops, &triggers),
                &then,
                (
                    flag("at_least_one").then_some(&begins as Places<'_>),
                    !flag("stop_after_first"),
                ),
            )
        }
        "dispatch" => {
            let rules = format["rules"].as_array().unwrap();
            let triggers: Vec<String> = rules
                .iter()
                .map(|rule| rule[0].as_str().unwrap().to_owned())
                .collect();
            let then = |trigger: &str, at: usize| -> BTreeSet<usize> {
                let mine = rules.iter().filter(|rule| rule[0] == trigger);
                mine.flat_map(|rule| places(&rule[1], text, at, ends))
                    .collect()
            };
            let again = format["loop"] != json!(false);
            free(
                text,
                from,
                (&strings("excludes"), &triggers),
                &then,
                (None, again),
            )
        }
        other => panic!("{other}"),
    }
}

/// Where a text may go on from a place.
type Places<'a> = &'a dyn Fn(usize) -> BTreeSet<usize>;

/// Free text in which no trigger is completed without what follows it.
fn free(
    text: &[u8],
    from: usize,
    (stops, triggers): (&[String], &[String]),
    then: &dyn Fn(&str, usize) -> BTreeSet<usize>,
    (begins, again): (Option<Places<'_>>, bool),
) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut met = BTreeSet::new();
    let mut open = match begins {
        None => vec![from],
        Some(begins) => {
            let first = begins(from);
            if !again {
                return first;
            }
            first.into_iter().collect()
        }
    };
    while let Some(at) = open.pop() {
        if !met.insert(at) {
            continue;
        }
        for to in at..=text.len() {
            let run = &text[at..to];
            if !is_free(run, stops, &[]) {
                break;
            }
            let fired: Vec<&String> = triggers
                .iter()
                .filter(|t| run.ends_with(t.as_bytes()))
                .collect();
            if fired.is_empty() {
                found.insert(to);
                continue;
            }
            for trigger in fired {
                let behind = then(trigger, to);
                match again {
                    true => open.extend(behind),
                    false => found.extend(behind),
                }
            }
            break;
        }
    }
    found
}

fn tag(tag: &Value, text: &[u8], from: usize, trigger: &str) -> BTreeSet<usize> {
    let begin = tag["begin"]
        .as_str()
        .unwrap()
        .strip_prefix(trigger)
        .unwrap();
    let ends: Vec<String> = match &tag["end"] {
        Value::Array(list) => list
            .iter()
            .map(|e| e.as_str().unwrap().to_owned())
            .collect(),
        one => vec![one.as_str().unwrap().to_owned()],
    };
    let mut found = BTreeSet::new();
    for at in spelt(begin, text, from) {
        for at in places(&tag["content"], text, at, &ends) {
            for end in &ends {
                found.extend(spelt(end, text, at));
            }
        }
    }
    found
}

fn spelt(word: &str, text: &[u8], from: usize) -> BTreeSet<usize> {
    let is_there = text[from..].starts_with(word.as_bytes());
    is_there.then_some(from + word.len()).into_iter().collect()
}

fn is_free(run: &[u8], stops: &[String], more: &[String]) -> bool {
    let mut stops = stops.iter().chain(more);
    !stops.any(|s| run.windows(s.len()).any(|w| w == s.as_bytes()))
}

fn chars(run: &[u8]) -> usize {
    run.iter().filter(|b| !(0x80..0xC0).contains(*b)).count()
}

fn word() -> impl Strategy<Value = String> {
    "[ab!]{1,3}"
}

fn one_tag() -> impl Strategy<Value = Value> {
    let content = prop_oneof![
        "[ab]{0,2}".prop_map(|value| json!({"type": "const_string", "value": value})),
        prop::collection::vec(word(), 0..2)
            .prop_map(|excludes| json!({"type": "any_text", "excludes": excludes})),
    ];
    let ends = prop::collection::vec(word(), 1..3);
    ("[ab!]{0,3}", content, ends).prop_map(|(begin, content, end)| {
        json!({"type": "tag", "begin": begin, "content": content, "end": end})
    })
}

fn format() -> impl Strategy<Value = Value> {
    let few = (any::<bool>(), any::<bool>());
    let leaf = prop_oneof![
        3 => "[ab!]{0,3}".prop_map(|value| json!({"type": "const_string", "value": value})),
        2 => (prop::collection::vec(word(), 0..3), prop::option::of(0u32..4)).prop_map(
            |(excludes, most)| json!({"type": "any_text", "excludes": excludes, "max_chars": most})
        ),
        2 => one_tag(),
        // One trigger, with which all tags begin: no other tag is in doubt.
        2 => (word(), prop::collection::vec(one_tag(), 1..3), prop::collection::vec(word(), 0..2), few)
            .prop_map(|(trigger, mut tags, excludes, (at_least_one, stop_after_first))| {
                for tag in &mut tags {
                    let begin = format!("{trigger}{}", tag["begin"].as_str().unwrap());
                    tag["begin"] = json!(begin);
                }
                json!({"type": "triggered_tags", "triggers": [trigger], "tags": tags,
                    "excludes": excludes, "at_least_one": at_least_one,
                    "stop_after_first": stop_after_first})
            }),
        1 => (prop::collection::vec(one_tag(), 1..3), "[ab,]{0,1}", few).prop_map(
            |(tags, separator, (at_least_one, stop_after_first))| json!({
                "type": "tags_with_separator", "tags": tags, "separator": separator,
                "at_least_one": at_least_one, "stop_after_first": stop_after_first})
        ),
        1 => (word(), one_tag(), any::<bool>(), prop::collection::vec(word(), 0..2)).prop_map(
            |(pattern, then, again, excludes)| json!({
                "type": "dispatch", "rules": [[pattern, then]], "loop": again,
                "excludes": excludes})
        ),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let several = prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            several
                .clone()
                .prop_map(|e| json!({"type": "sequence", "elements": e})),
            several.prop_map(|e| json!({"type": "or", "elements": e})),
            inner
                .clone()
                .prop_map(|c| json!({"type": "optional", "content": c})),
            inner
                .clone()
                .prop_map(|c| json!({"type": "star", "content": c})),
            inner
                .clone()
                .prop_map(|c| json!({"type": "plus", "content": c})),
            (inner.clone(), 0u32..3, 0u32..3).prop_map(|(c, least, more)| {
                json!({"type": "repeat", "min": least, "max": least + more, "content": c})
            }),
            (inner, "[ab!]{0,2}", word()).prop_map(|(content, begin, end)| {
                json!({"type": "tag", "begin": begin, "content": content, "end": end})
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// All ways of cutting a text are tried: what some way admits is admitted, and nothing
    /// else; and what was read so far can be completed by the text that the automaton names.
    #[test]
    fn all_ways_are_tried(
        format in format(),
        texts in prop::collection::vec("[ab!,é]{0,8}", 24),
    ) {
        let vocabulary = vocabulary(&[], &[]);
        let automaton = compile(&format, &vocabulary);
        let mut scratch = automaton.scratch();
        for text in &texts {
            let bytes = text.as_bytes();
            let expected = places(&format, bytes, 0, &[]).contains(&bytes.len());
            prop_assert_eq!(automaton.is_match(bytes), expected, "{} on {:?}", format, text);
            let mut state = automaton.start();
            for (at, byte) in bytes.iter().enumerate() {
                if automaton.advance(&mut state, &[*byte], &mut scratch).is_err() {
                    break;
                }
                let mut whole = bytes[..=at].to_vec();
                automaton.completion(&state, fsm_index::MAX_COMPLETION, &mut whole);
                let complete = places(&format, &whole, 0, &[]).contains(&whole.len());
                prop_assert!(complete, "{} completes to {:?}", format, String::from_utf8_lossy(&whole));
            }
        }
    }
}
