//! The rules of providers that depend on more than the name of a keyword. For example, OpenAI refuses an
//! object that does not say `"additionalProperties": false`.

use serde_json::Value;

use super::places::{Leads, Place, Places};
use super::rules::{Fate, Finding};

/// Most values of all enums together, of properties, and levels of objects at OpenAI, and the most
/// characters of names and values: because its page says so.
const OPENAI: [usize; 4] = [1_000, 5_000, 10, 120_000];
/// From so many values on the texts of an enum are counted, and so many characters they may have, because
/// OpenAI's page says so.
const OPENAI_LONG_ENUM: [usize; 2] = [250, 15_000];
/// Most optional properties, and most unions, of a request to Anthropic, because its page says so.
const ANTHROPIC: [usize; 2] = [24, 16];

/// The keyword that closes objects, named once because each rule about them asks for it.
const FURTHER: &str = "additionalProperties";

/// OpenAI: closed objects with all names required, one object at the root, sizes.
pub(super) fn openai(places: &Places) -> Vec<Finding> {
    let mut out = Vec::new();
    let mut counts = [0usize; 4];
    for place in &places.all {
        if place.pointer.is_empty() {
            root_of_openai(place, &mut out);
        }
        closed(place, &mut out);
        let optional = place.optional();
        if !optional.is_empty() {
            let names = listed(&optional);
            let finding = Finding::new(
                "required",
                Fate::Refused,
                format!("all properties must be required; {names} may be left out"),
            );
            out.push(
                finding
                    .at(within(place, "required"))
                    .instead("the name in `required`, and `\"null\"` beside its `type`"),
            );
        }
        let kinds = ["type", "enum", "const", "anyOf", "$ref"];
        let is_further = place.holder == FURTHER;
        if !is_further && kinds.iter().all(|keyword| place.get(keyword).is_none()) {
            let finding = Finding::new(
                "type",
                Fate::Undocumented,
                "types and `anyOf` are listed, and not a schema that says none of them",
            );
            out.push(finding.at(&*place.pointer).instead("the `type`"));
        }
        references(place, &mut out);
        count(place, &mut counts);
        if let Some(long) = long_enum(place) {
            out.push(long);
        }
    }
    let names = [
        "values of enums",
        "properties",
        "levels of objects, as counted here",
        "characters of names and values",
    ];
    for ((count, most), name) in counts.into_iter().zip(OPENAI).zip(names) {
        if count > most {
            let why = format!("{count} {name}, of at most {most}");
            out.push(Finding::new("", Fate::Refused, why).instead("a smaller schema"));
        }
    }
    out
}

fn root_of_openai(root: &Place, out: &mut Vec<Finding>) {
    if root.get("anyOf").is_some() {
        let finding = Finding::new(
            "anyOf",
            Fate::Refused,
            "the root must be an object and not `anyOf`",
        );
        out.push(
            finding
                .at("/anyOf")
                .instead("an object with one property that has the `anyOf`"),
        );
    } else if root.texts("type") != ["object"] {
        let finding = Finding::new("type", Fate::Refused, "the root must be an object");
        out.push(
            finding
                .at(within(root, "type"))
                .instead("an object with one property that has the schema"),
        );
    }
}

/// References of which OpenAI's page says nothing: all its examples lead into the document, and stand alone.
fn references(place: &Place, out: &mut Vec<Finding>) {
    let Some(reference) = place.get("$ref").and_then(Value::as_str) else {
        return;
    };
    let why = if !reference.starts_with('#') {
        "a reference that leads out of the document, or by an `$id`"
    } else if place.keywords().any(|(name, _)| !name.starts_with('$')) {
        "a reference with keywords beside it"
    } else {
        return;
    };
    let finding = Finding::new("$ref", Fate::Undocumented, why);
    out.push(
        finding
            .at(place.of("$ref"))
            .instead("a reference into `$defs`, alone"),
    );
}

/// Adds up what OpenAI limits.
fn count(place: &Place, counts: &mut [usize; 4]) {
    let length = |value: &Value| value.as_str().map_or(0, |text| text.chars().count());
    if let Some(Value::Array(values)) = place.get("enum") {
        counts[0] += values.len();
        counts[3] += values.iter().map(length).sum::<usize>();
    }
    counts[3] += place.get("const").map_or(0, length);
    let names = place.properties().into_iter().flat_map(|all| all.keys());
    let names = names.map(|name| name.chars().count());
    counts[3] += names.sum::<usize>();
    counts[1] += place.properties().map_or(0, serde_json::Map::len);
    counts[2] = counts[2].max(place.objects);
    if json_tree::subschemas::is_of_definitions(place.holder) {
        let name = place.pointer.rsplit('/').next().unwrap_or("");
        counts[3] += json_tree::pointer::unescape(name).chars().count();
    }
}

fn long_enum(place: &Place) -> Option<Finding> {
    let values = place.get("enum")?.as_array()?;
    let [from, most] = OPENAI_LONG_ENUM;
    let texts = values.iter().filter_map(Value::as_str);
    let length: usize = texts.map(|text| text.chars().count()).sum();
    (values.len() > from && length > most).then(|| {
        let why = format!(
            "{} values with {length} characters: with more than {from} values, at most {most}",
            values.len()
        );
        Finding::new("enum", Fate::Refused, why)
            .at(place.of("enum"))
            .instead("fewer or shorter values")
    })
}

/// Objects that are not closed, which OpenAI and Anthropic refuse.
fn closed(place: &Place, out: &mut Vec<Finding>) {
    let further = place.get(FURTHER);
    let is_open = place.is_object() && further.is_none();
    if is_open || further.is_some_and(|further| *further != Value::Bool(false)) {
        let why = "must be `false` in each object: further members are lost";
        let finding = Finding::new(FURTHER, Fate::Refused, why);
        let instead = "`\"additionalProperties\": false`; names that are not known as an array of objects with a name and a value";
        out.push(finding.at(within(place, FURTHER)).instead(instead));
    }
}

/// Anthropic: closed objects, plain enums, no circles, few optional names and unions.
pub(super) fn anthropic(places: &Places) -> Vec<Finding> {
    let mut out = Vec::new();
    let (mut optional, mut unions) = (0, 0);
    for (number, place) in places.all.iter().enumerate() {
        closed(place, &mut out);
        optional += place.optional().len();
        unions += usize::from(place.get("anyOf").is_some() || place.texts("type").len() > 1);
        out.extend(values_of_anthropic(place));
        match place.get("minItems").and_then(Value::as_f64) {
            Some(least) if least > 1.0 => {
                let finding = Finding::new("minItems", Fate::Refused, "only 0 and 1 are taken");
                out.push(finding.at(place.of("minItems")));
            }
            _ => {}
        }
        if place.holder == "allOf" && place.get("$ref").is_some() {
            let finding = Finding::new("$ref", Fate::Refused, "no reference may stand in `allOf`");
            out.push(
                finding
                    .at(place.of("$ref"))
                    .instead("one schema with the keywords of all branches"),
            );
        }
        out.extend(pattern_of_anthropic(place));
        let reference = |fate, why: &str| Finding::new("$ref", fate, why).at(place.of("$ref"));
        match places.references.get(&number) {
            Some(Leads::Back | Leads::BackOptionally) => out.push(
                reference(Fate::Refused, "recursive schemas are not supported")
                    .instead("the levels that are needed, each by its own definition"),
            ),
            Some(Leads::Out) => out.push(
                reference(Fate::Refused, "it must lead into the document")
                    .instead("a copy of the schema in `$defs`"),
            ),
            Some(Leads::ById) => out.push(
                reference(Fate::Undocumented, "a reference by an `$id`")
                    .instead("a reference into `$defs`"),
            ),
            _ => {}
        }
        if let Some(finding) = order_of_anthropic(place) {
            out.push(finding);
        }
    }
    let [most_optional, most_unions] = ANTHROPIC;
    let limits = [
        (
            optional,
            most_optional,
            "optional properties",
            "required properties with `\"null\"` beside the `type`, or fewer",
        ),
        (
            unions,
            most_unions,
            "places with `anyOf` or several types",
            "fewer unions",
        ),
    ];
    for (count, most, name, instead) in limits {
        if count > most {
            let why = format!("{count} {name}, of at most {most} in a request");
            out.push(Finding::new("", Fate::Refused, why).instead(instead));
        }
    }
    out
}

fn values_of_anthropic(place: &Place) -> Option<Finding> {
    let (keyword, values) = match (place.get("enum"), place.get("const")) {
        (Some(Value::Array(values)), _) => ("enum", values.as_slice()),
        (_, Some(value)) => ("const", std::slice::from_ref(value)),
        _ => return None,
    };
    let finding = if keyword == "enum" && values.iter().any(|v| v.is_array() || v.is_object()) {
        let finding = Finding::new(
            keyword,
            Fate::Refused,
            "arrays and objects are not taken in an enum",
        );
        finding.instead("`anyOf` of schemas with `const`s inside")
    } else if values
        .iter()
        .filter_map(Value::as_str)
        .any(|text| text.chars().any(char::is_alphabetic))
    {
        let why = "capital letters may come where the value has small ones, and the other way";
        let finding = Finding::new(keyword, Fate::Lost, why);
        finding.instead("values that differ in more than that, and compare without case")
    } else {
        return None;
    };
    Some(finding.at(place.of(keyword)))
}

fn pattern_of_anthropic(place: &Place) -> Option<Finding> {
    let pattern = place.get("pattern")?.as_str()?;
    let why = refused_in(pattern)?;
    let finding = Finding::new("pattern", Fate::Refused, format!("{why} are not supported"));
    Some(finding.at(place.of("pattern")))
}

/// Finds what Anthropic's page excludes from a pattern. Escapes are skipped, and in a class there is none of it.
fn refused_in(pattern: &str) -> Option<&'static str> {
    let mut rest = pattern.chars();
    let mut in_class = false;
    while let Some(c) = rest.next() {
        let ahead = rest.as_str();
        match c {
            '\\' => match rest.next() {
                Some('b' | 'B') if !in_class => return Some("word boundaries"),
                Some('1'..='9' | 'k') if !in_class => return Some("references to groups"),
                _ => {}
            },
            '[' => in_class = true,
            ']' => in_class = false,
            '(' if !in_class
                && ["?=", "?!", "?<=", "?<!"]
                    .iter()
                    .any(|look| ahead.starts_with(look)) =>
            {
                return Some("lookahead and lookbehind");
            }
            _ => {}
        }
    }
    None
}

/// Required members come before optional ones, in whatever order the schema has them.
fn order_of_anthropic(place: &Place) -> Option<Finding> {
    let required = place.required();
    let is_required = |name: &&String| required.contains(name.as_str());
    let names = place.properties()?.keys();
    let mut names = names.skip_while(is_required);
    let first = names.next()?;
    let later = names.find(is_required)?;
    let why = format!("`{later}` comes before `{first}`, because required members come first");
    let finding = Finding::new("properties", Fate::Changed, why).at(place.of("properties"));
    Some(finding.instead("all names in `required`, if the order matters"))
}

/// Gemini: `oneOf` as `anyOf`, circles that are cut, references that stand alone, enums of texts and numbers.
pub(super) fn gemini(places: &Places) -> Vec<Finding> {
    let mut out = Vec::new();
    for (number, place) in places.all.iter().enumerate() {
        if place.get("oneOf").is_some() {
            let finding = Finding::new(
                "oneOf",
                Fate::Changed,
                "it is read as `anyOf`: a value may be right by several branches",
            );
            out.push(finding.at(place.of("oneOf")));
        }
        if let Some(Value::Array(values)) = place.get("enum")
            && !values
                .iter()
                .all(|value| value.is_string() || value.is_number())
        {
            let finding = Finding::new("enum", Fate::Lost, "it is taken for texts and numbers");
            out.push(
                finding
                    .at(place.of("enum"))
                    .instead("`\"type\": \"boolean\"` or `\"null\"` for these, by `anyOf`"),
            );
        }
        if place.get("$ref").is_some() && place.keywords().any(|(name, _)| !name.starts_with('$')) {
            let why = "beside it there may only stand keywords that begin with `$`";
            let finding = Finding::new("$ref", Fate::Refused, why).at(place.of("$ref"));
            out.push(finding.instead("the other keywords in the schema that it leads to"));
        }
        let reference = |fate, why: &str| Finding::new("$ref", fate, why).at(place.of("$ref"));
        match places.references.get(&number) {
            Some(Leads::Back) => out.push(
                reference(Fate::Refused, "a circle must lead through a property that is not required; `null` beside it does not suffice")
                    .instead("the name left out of `required`"),
            ),
            Some(Leads::BackOptionally) => out.push(
                reference(Fate::Changed, "the circle is unrolled to a limited degree; how far is not said")
                    .instead("the levels that are needed, each by its own definition"),
            ),
            Some(Leads::Out) => out.push(
                reference(Fate::Undocumented, "a reference that leads out of the document").instead("a copy of the schema in `$defs`"),
            ),
            _ => {}
        }
    }
    out
}

/// The place of a keyword, or that of the schema that lacks it.
fn within(place: &Place, keyword: &str) -> String {
    match place.get(keyword) {
        Some(_) => place.of(keyword),
        None => place.pointer.clone(),
    }
}

/// The first names, because a line with hundreds is not read.
fn listed(names: &[&str]) -> String {
    let first: Vec<String> = names
        .iter()
        .take(3)
        .map(|name| format!("`{name}`"))
        .collect();
    match names.len().saturating_sub(3) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}
