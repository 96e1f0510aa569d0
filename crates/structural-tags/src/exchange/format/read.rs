//! Reads formats from JSON. For example, `{"type": "const_string", "value": "ab"}` is the text `ab`.

use serde_json::{Map, Value};

use super::kinds::{
    End, Few, Format, JsonFormat, Mark, Style, TagFormat, TokenName, TokenRef, malformed,
};
use crate::Error;

/// An object of the JSON, with its JSON Pointer.
#[derive(Clone, Copy)]
struct Object<'v> {
    map: &'v Map<String, Value>,
    at: &'v str,
}

/// The JSON Pointer of a member.
fn below(at: &str, key: impl std::fmt::Display) -> String {
    format!("{at}/{}", json_tree::pointer::escape(&key.to_string()))
}

impl<'v> Object<'v> {
    fn get(&self, key: &str) -> Option<&'v Value> {
        self.map.get(key)
    }

    fn at(&self, key: &str) -> String {
        below(self.at, key)
    }

    #[cold]
    fn wrong(&self, key: &str, wanted: &str) -> Error {
        match self.get(key) {
            None => malformed(self.at, format!("{key:?} is missing; it is {wanted}")),
            Some(_) => malformed(&self.at(key), format!("{key:?} is {wanted}")),
        }
    }

    fn string(&self, key: &str) -> Result<String, Error> {
        let text = self.get(key).and_then(Value::as_str);
        text.map(str::to_owned)
            .ok_or_else(|| self.wrong(key, "a string"))
    }

    fn flag(&self, key: &str, default: bool) -> Result<bool, Error> {
        match self.get(key) {
            None => Ok(default),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(self.wrong(key, "true or false")),
        }
    }

    /// Strings, of which none may be empty unless `with_empty`.
    fn strings(&self, key: &str, with_empty: bool) -> Result<Vec<String>, Error> {
        let wanted = match with_empty {
            true => "a list of strings",
            false => "a list of strings that are not empty",
        };
        let Some(given) = self.get(key) else {
            return Ok(Vec::new());
        };
        let strings = given.as_array().and_then(|list| {
            let texts = list.iter().map(|text| text.as_str().map(str::to_owned));
            texts.collect::<Option<Vec<String>>>()
        });
        match strings {
            Some(texts) if with_empty || !texts.iter().any(String::is_empty) => Ok(texts),
            _ => Err(self.wrong(key, wanted)),
        }
    }

    /// A number of 0 or more, or null.
    fn budget(&self, key: &str) -> Result<Option<u32>, Error> {
        let wanted = "null, or a whole number from 0 to 2147483647";
        match self.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(given) => match whole(given) {
                Some(number) if (0..=i64::from(i32::MAX)).contains(&number) => {
                    Ok(Some(number as u32))
                }
                _ => Err(self.wrong(key, wanted)),
            },
        }
    }

    fn list(&self, key: &str) -> Result<&'v [Value], Error> {
        match self.get(key) {
            Some(Value::Array(list)) if !list.is_empty() => Ok(list),
            _ => Err(self.wrong(key, "a list that is not empty")),
        }
    }

    fn few(&self) -> Result<Few, Error> {
        Ok(Few {
            at_least_one: self.flag("at_least_one", false)?,
            stop_after_first: self.flag("stop_after_first", false)?,
        })
    }

    fn token(&self, key: &str) -> Result<TokenRef, Error> {
        match self.get(key) {
            Some(given) => token(given, &self.at(key)),
            None => Err(self.wrong(key, "a token's number or text")),
        }
    }

    fn tokens(&self, key: &str) -> Result<Vec<TokenRef>, Error> {
        match self.get(key) {
            None => Ok(Vec::new()),
            Some(Value::Array(list)) => {
                let at = self.at(key);
                let each = list.iter().enumerate();
                each.map(|(i, given)| token(given, &below(&at, i)))
                    .collect()
            }
            Some(_) => Err(self.wrong(key, "a list of tokens")),
        }
    }

    fn tags(&self) -> Result<Vec<TagFormat>, Error> {
        let at = self.at("tags");
        let each = self.list("tags")?.iter().enumerate();
        each.map(|(i, given)| {
            let at = below(&at, i);
            let object = object(given, &at)?;
            match object.get("type") {
                None => object.tag(),
                Some(Value::String(name)) if name == "tag" => object.tag(),
                Some(_) => Err(object.wrong("type", "\"tag\"")),
            }
        })
        .collect()
    }

    fn content(&self) -> Result<Format, Error> {
        match self.get("content") {
            Some(content) => format(content, &self.at("content")),
            None => Err(self.wrong("content", "a format")),
        }
    }

    fn begin(&self) -> Result<Mark, Error> {
        match self.get("begin") {
            Some(Value::String(text)) => Ok(Mark::Text(text.clone())),
            Some(Value::Object(map)) => {
                let at = self.at("begin");
                token_format(Object { map, at: &at }).map(Mark::Token)
            }
            _ => Err(self.wrong("begin", "a string or a token")),
        }
    }

    fn end(&self) -> Result<End, Error> {
        match self.get("end") {
            Some(Value::String(text)) => Ok(End::Texts(vec![text.clone()])),
            Some(Value::Array(list)) if !list.is_empty() => {
                self.strings("end", true).map(End::Texts)
            }
            Some(Value::Object(map)) => {
                let at = self.at("end");
                token_format(Object { map, at: &at }).map(End::Token)
            }
            _ => Err(self.wrong(
                "end",
                "a string, a list of strings that is not empty, or a token",
            )),
        }
    }

    fn tag(&self) -> Result<TagFormat, Error> {
        let tag = TagFormat {
            begin: self.begin()?,
            content: self.content()?,
            end: self.end()?,
            at: self.at.to_owned(),
        };
        let is_open = match &tag.end {
            End::Texts(ends) => ends.iter().all(String::is_empty),
            End::Token(_) => false,
        };
        if is_open && tag.content.is_unlimited() && !tag.content.is_free_with_excludes() {
            return Err(malformed(
                &self.at("end"),
                "the content has no end of its own, so at least one end must not be empty",
            ));
        }
        Ok(tag)
    }

    fn json(&self) -> Result<JsonFormat, Error> {
        let schema = match self.get("json_schema") {
            Some(schema @ (Value::Object(_) | Value::Bool(_))) => schema.clone(),
            _ => return Err(self.wrong("json_schema", "an object, true or false")),
        };
        let style = match self.get("style") {
            Some(Value::String(name)) => {
                let known = Style::NAMES.iter().find(|(known, _)| known == name);
                let names = Style::NAMES.map(|(name, _)| name).join(", ");
                known
                    .map(|(_, style)| *style)
                    .ok_or_else(|| self.wrong("style", &format!("one of {names}")))?
            }
            _ => Style::Json,
        };
        let max_space = match self.get("max_whitespace_cnt") {
            None | Some(Value::Null) => None,
            Some(given) => match whole(given) {
                Some(number) if (1..=i64::from(i32::MAX)).contains(&number) => Some(number as u32),
                _ => return Err(self.wrong("max_whitespace_cnt", "null, or a whole number from 1")),
            },
        };
        Ok(JsonFormat {
            schema,
            style,
            any_order: self.flag("any_order", false)?,
            max_space,
            excludes: self.strings("excludes", false)?,
            at: self.at("json_schema"),
        })
    }

    fn text(&self) -> Result<Format, Error> {
        Ok(Format::Text {
            excludes: self.strings("excludes", true)?,
            max_tokens: self.budget("max_tokens")?,
            max_chars: self.budget("max_chars")?,
        })
    }

    fn elements(&self) -> Result<Vec<Format>, Error> {
        let at = self.at("elements");
        let each = self.list("elements")?.iter().enumerate();
        each.map(|(i, given)| format(given, &below(&at, i)))
            .collect()
    }

    fn repeat(&self) -> Result<Format, Error> {
        let number = |key: &str| {
            let given = self.get(key).filter(|given| given.is_number());
            given
                .and_then(whole)
                .ok_or_else(|| self.wrong(key, "a whole number"))
        };
        let (least, most) = (number("min")?, number("max")?);
        if !(0..=i64::from(i32::MAX)).contains(&least) {
            return Err(self.wrong("min", "a whole number from 0 to 2147483647"));
        }
        let most = match most {
            -1 => None,
            most if most < 0 => {
                return Err(self.wrong("max", "a whole number from 0, or -1 for any number"));
            }
            most if most > i64::from(i32::MAX) => None,
            most if most < least => return Err(self.wrong("max", "not less than \"min\"")),
            most => Some(most as u32),
        };
        Ok(Format::Repeat {
            least: least as u32,
            most,
            content: Box::new(self.content()?),
        })
    }

    fn triggered(&self) -> Result<Format, Error> {
        self.list("triggers")?;
        let triggered = Format::Triggered {
            triggers: self.strings("triggers", false)?,
            tags: self.tags()?,
            excludes: self.strings("excludes", false)?,
            count: self.few()?,
        };
        check_triggers(&triggered, self.at)?;
        Ok(triggered)
    }

    fn separated(&self) -> Result<Format, Error> {
        Ok(Format::Separated {
            tags: self.tags()?,
            separator: self.string("separator")?,
            count: self.few()?,
        })
    }

    fn rules<T>(
        &self,
        first: impl Fn(&Value, &str) -> Result<T, Error>,
    ) -> Result<Vec<(T, Format)>, Error> {
        let at = self.at("rules");
        let each = self.list("rules")?.iter().enumerate();
        each.map(|(i, given)| {
            let at = below(&at, i);
            match given.as_array().map(Vec::as_slice) {
                Some([key, then]) => {
                    Ok((first(key, &below(&at, 0))?, format(then, &below(&at, 1))?))
                }
                _ => Err(malformed(
                    &at,
                    "a rule is a list of two: what it waits for, and a format",
                )),
            }
        })
        .collect()
    }

    fn dispatch(&self) -> Result<Format, Error> {
        Ok(Format::Dispatch {
            rules: self.rules(|key, at| {
                let text = key.as_str().map(str::to_owned);
                text.ok_or_else(|| malformed(at, "a rule waits for a string"))
            })?,
            again: self.flag("loop", true)?,
            excludes: self.strings("excludes", false)?,
        })
    }

    fn token_dispatch(&self) -> Result<Format, Error> {
        Ok(Format::TokenDispatch {
            rules: self.rules(token)?,
            again: self.flag("loop", true)?,
            excluded: self.tokens("exclude_tokens")?,
        })
    }

    fn token_triggered(&self) -> Result<Format, Error> {
        self.list("trigger_tokens")?;
        Ok(Format::TokenTriggered {
            triggers: self.tokens("trigger_tokens")?,
            tags: self.tags()?,
            excluded: self.tokens("exclude_tokens")?,
            count: self.few()?,
        })
    }

    fn of_type(&self, name: &str) -> Result<Format, Error> {
        let boxed = || self.content().map(Box::new);
        Ok(match name {
            "const_string" => Format::Const(self.string("value")?),
            "any_text" => self.text()?,
            "json_schema" => Format::Json(self.json()?),
            "qwen_xml_parameter" => Format::Json(JsonFormat {
                style: Style::Qwen,
                any_order: false,
                max_space: None,
                excludes: Vec::new(),
                ..self.json()?
            }),
            "regex" => {
                let pattern = self.string("pattern")?;
                if pattern.is_empty() {
                    return Err(self.wrong("pattern", "a string that is not empty"));
                }
                Format::Regex {
                    pattern,
                    at: self.at("pattern"),
                }
            }
            "grammar" => {
                let text = self.string("grammar")?;
                if text.is_empty() {
                    return Err(self.wrong("grammar", "a string that is not empty"));
                }
                Format::Grammar {
                    text,
                    at: self.at("grammar"),
                }
            }
            "sequence" => Format::Sequence(self.elements()?),
            "or" => Format::Or(self.elements()?),
            "optional" => Format::Optional(boxed()?),
            "star" => Format::Star(boxed()?),
            "plus" => Format::Plus(boxed()?),
            "repeat" => self.repeat()?,
            "tag" => Format::Tag(Box::new(self.tag()?)),
            "tags_with_separator" => self.separated()?,
            "triggered_tags" => self.triggered()?,
            "dispatch" => self.dispatch()?,
            "token" => Format::Token(self.token("token")?),
            "exclude_token" => Format::ExcludeToken(self.tokens("exclude_tokens")?),
            "any_tokens" => Format::AnyTokens {
                excluded: self.tokens("exclude_tokens")?,
                most: self.budget("max_tokens")?,
            },
            "token_triggered_tags" => self.token_triggered()?,
            "token_dispatch" => self.token_dispatch()?,
            other => {
                return Err(malformed(
                    &self.at("type"),
                    format!("there is no format {other:?}"),
                ));
            }
        })
    }

    /// A format without a type: the first whose fields are there. The format inside is read once,
    /// whichever it is.
    fn untyped(&self) -> Result<Format, Error> {
        let has = |key: &str| self.get(key).is_some();
        if has("content") && self.begin().is_ok() && self.end().is_ok() {
            return self.tag().map(|tag| Format::Tag(Box::new(tag)));
        }
        if let Ok(value) = self.string("value") {
            return Ok(Format::Const(value));
        }
        if let Ok(json) = self.json() {
            return Ok(Format::Json(json));
        }
        if has("excludes")
            && let Ok(text) = self.text()
        {
            // Members of other formats have excludes, too; text comes before them.
            return Ok(text);
        }
        if has("elements") {
            return self.elements().map(Format::Sequence);
        }
        if has("triggers") {
            return self.triggered();
        }
        if has("tags") {
            return self.separated();
        }
        if has("content") {
            return self.content().map(|f| Format::Optional(Box::new(f)));
        }
        if has("rules") {
            let first = self.list("rules")?[0].get(0);
            return match first {
                Some(Value::Number(_) | Value::Object(_)) => self.token_dispatch(),
                _ => self.dispatch(),
            };
        }
        Err(malformed(
            self.at,
            "it has no \"type\", and fields of no format",
        ))
    }
}

/// A whole number, `3.0` among them.
fn whole(given: &Value) -> Option<i64> {
    let rounded = || {
        given
            .as_f64()
            .filter(|n| n.fract() == 0.0 && n.abs() < 9e15)
    };
    given.as_i64().or_else(|| rounded().map(|n| n as i64))
}

fn object<'v>(given: &'v Value, at: &'v str) -> Result<Object<'v>, Error> {
    match given {
        Value::Object(map) => Ok(Object { map, at }),
        _ => Err(malformed(at, "a format is an object")),
    }
}

fn token(given: &Value, at: &str) -> Result<TokenRef, Error> {
    let name = match given {
        Value::String(text) if !text.is_empty() => TokenName::Text(text.clone()),
        Value::Number(number) => match number.as_u64().and_then(|id| u32::try_from(id).ok()) {
            Some(id) => TokenName::Id(id),
            None => return Err(malformed(at, "a token's number is a whole number from 0")),
        },
        Value::Object(map) => return token_format(Object { map, at }),
        _ => {
            return Err(malformed(
                at,
                "a token is a number, or a text that is not empty",
            ));
        }
    };
    Ok(TokenRef {
        name,
        at: at.to_owned(),
    })
}

fn token_format(object: Object<'_>) -> Result<TokenRef, Error> {
    match object.get("type") {
        Some(Value::String(name)) if name == "token" => object.token("token"),
        _ => Err(object.wrong("type", "\"token\"")),
    }
}

/// Reads a format. Recursion is as deep as the JSON, which is bounded.
pub(in crate::exchange) fn format(given: &Value, at: &str) -> Result<Format, Error> {
    let object = object(given, at)?;
    match object.get("type") {
        None => object.untyped(),
        Some(Value::String(name)) => object.of_type(name),
        Some(_) => Err(object.wrong("type", "a string")),
    }
    .map(|format| match format {
        Format::Sequence(_)
        | Format::Or(_)
        | Format::Optional(_)
        | Format::Star(_)
        | Format::Plus(_)
        | Format::Repeat { .. } => Format::At(at.to_owned(), Box::new(format)),
        other => other,
    })
}

/// The legacy form: triggers, and structures with their schemas.
pub(in crate::exchange) fn legacy(given: &Map<String, Value>) -> Result<Format, Error> {
    let whole = Object { map: given, at: "" };
    let Some(Value::Array(structures)) = whole.get("structures") else {
        return Err(whole.wrong("structures", "a list"));
    };
    let mut tags = Vec::new();
    for (i, structure) in structures.iter().enumerate() {
        let at = below("/structures", i);
        let one = object(structure, &at)?;
        let schema = match one.get("schema") {
            Some(schema @ (Value::Object(_) | Value::Bool(_))) => schema.clone(),
            _ => return Err(one.wrong("schema", "an object, true or false")),
        };
        tags.push(TagFormat {
            begin: Mark::Text(one.string("begin")?),
            content: Format::Json(JsonFormat {
                schema,
                style: Style::Json,
                any_order: false,
                max_space: None,
                excludes: Vec::new(),
                at: one.at("schema"),
            }),
            end: End::Texts(vec![one.string("end")?]),
            at,
        });
    }
    whole.list("triggers")?;
    whole.list("structures")?;
    let triggered = Format::Triggered {
        triggers: whole.strings("triggers", false)?,
        tags,
        excludes: Vec::new(),
        count: Few {
            at_least_one: whole.flag("at_least_one", false)?,
            stop_after_first: false,
        },
    };
    check_triggers(&triggered, "")?;
    Ok(triggered)
}

/// Each tag has one trigger, and each trigger a tag.
fn check_triggers(triggered: &Format, at: &str) -> Result<(), Error> {
    let Format::Triggered {
        triggers,
        tags,
        count,
        ..
    } = triggered
    else {
        return Ok(());
    };
    let mut used = vec![false; triggers.len()];
    for tag in tags {
        let Mark::Text(begin) = &tag.begin else {
            return Err(malformed(
                &below(&tag.at, "begin"),
                "a tag that a string triggers begins with a string",
            ));
        };
        let mut mine = (0..triggers.len()).filter(|at| begin.starts_with(&triggers[*at]));
        match (mine.next(), mine.next()) {
            (Some(one), None) => used[one] = true,
            (None, _) => return Err(malformed(&tag.at, "no trigger is the beginning of the tag")),
            _ => {
                return Err(malformed(
                    &tag.at,
                    "more than one trigger is the beginning of the tag",
                ));
            }
        }
    }
    let is_free = count.at_least_one && count.stop_after_first;
    match used.iter().position(|used| !used).filter(|_| !is_free) {
        Some(unused) => Err(malformed(
            &below(&below(at, "triggers"), unused),
            "no tag begins with this trigger",
        )),
        None => Ok(()),
    }
}
