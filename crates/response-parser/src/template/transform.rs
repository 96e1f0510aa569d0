//! Structures with placeholders, filled in from a region's captures and content. For example,
//! `{"name": "{content.name}"}` with the content `{"name": "f"}` becomes `{"name": "f"}`.

use serde_json::Value as Json;

use super::choices::Language;
use crate::error::{Error, ErrorKind};
use crate::pyre::is_word;
use crate::text::Text;
use crate::value::{Object, Value};

/// A structure whose strings may be placeholders such as `{content.name}`.
pub(super) enum Structure {
    Placeholder(Placeholder),
    /// In the extended language: the first of the paths that leads to a value.
    Any {
        paths: Vec<Vec<Text<'static>>>,
        /// Without any value, the member is left out of its map.
        optional: bool,
    },
    List(Vec<Structure>),
    Map(Vec<(Text<'static>, Structure)>),
    Plain(Value<'static>),
}

/// The path of a value in the scope.
pub(super) struct Placeholder {
    path: Vec<Text<'static>>,
    /// No other placeholder shows the value, or a part of it.
    alone: bool,
}

/// The treatment of the scope when a structure is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// It stays as it is.
    Copy,
    /// It is not needed any more: values may be moved out of it.
    Take,
}

/// The values that placeholders stand for; a later name hides an earlier one.
pub(super) struct Scope<'s, 't> {
    pub(super) captures: &'s [(&'s str, &'t str)],
    pub(super) values: Object<'t>,
}

impl Structure {
    /// Reads a structure. Recursion is as deep as the template, which is checked before.
    pub(super) fn new(json: &Json, pointer: &str, language: Language) -> Result<Structure, Error> {
        let mut structure = Structure::read(json, pointer, language)?;
        let mut paths = Vec::new();
        structure.visit(&mut |placeholder| paths.push(placeholder.path.clone()));
        structure.visit(&mut |placeholder| {
            let own = &placeholder.path;
            let overlaps = |other: &&Vec<Text<'static>>| {
                other.starts_with(own.as_slice()) || own.starts_with(other.as_slice())
            };
            placeholder.alone = paths.iter().filter(overlaps).count() == 1;
        });
        Ok(structure)
    }

    fn visit(&mut self, see: &mut dyn FnMut(&mut Placeholder)) {
        match self {
            Structure::Placeholder(placeholder) => see(placeholder),
            Structure::List(items) => items.iter_mut().for_each(|item| item.visit(see)),
            Structure::Map(pairs) => pairs.iter_mut().for_each(|(_, value)| value.visit(see)),
            Structure::Any { .. } | Structure::Plain(_) => {}
        }
    }

    fn read(json: &Json, pointer: &str, language: Language) -> Result<Structure, Error> {
        if let (Json::String(text), Language::Extended) = (json, language)
            && let Some(any) = alternatives(text)
        {
            return Ok(any);
        }
        Ok(match json {
            Json::String(text) => match placeholder(text) {
                Some((path, length)) if length == text.len() => {
                    Structure::Placeholder(Placeholder { path, alone: false })
                }
                Some(_) => {
                    let message = "a placeholder must be the whole of its string";
                    return Err(Error::new(ErrorKind::TemplateLoad, pointer, message));
                }
                None => Structure::Plain(Value::from_json(json).into_owned()),
            },
            Json::Array(items) => {
                let items = items.iter();
                let items = items.map(|item| Structure::read(item, pointer, language));
                Structure::List(items.collect::<Result<_, _>>()?)
            }
            Json::Object(map) => {
                let pairs = map.iter().map(|(key, value)| {
                    let value = Structure::read(value, pointer, language)?;
                    Ok((Text::plain(key.clone()), value))
                });
                Structure::Map(pairs.collect::<Result<_, Error>>()?)
            }
            other => Structure::Plain(Value::from_json(other).into_owned()),
        })
    }

    /// The structure with its placeholders replaced.
    pub(super) fn fill<'t>(
        &self,
        scope: &mut Scope<'_, 't>,
        how: Use,
        pointer: &str,
    ) -> Result<Value<'t>, Error> {
        Ok(match self {
            Structure::Placeholder(Placeholder { path, alone }) => {
                let taken = match *alone && how == Use::Take {
                    true => scope.take(path),
                    false => None,
                };
                match taken {
                    Some(value) => value,
                    None => scope.find(path, pointer)?,
                }
            }
            Structure::List(items) => {
                let items = items.iter().map(|item| item.fill(scope, how, pointer));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Structure::Any { paths, .. } => self.any(paths, scope, pointer)?,
            Structure::Map(pairs) => {
                let mut object = Object::default();
                for (key, value) in pairs {
                    match (value, value.fill(scope, how, pointer)) {
                        (Structure::Any { optional: true, .. }, Err(_)) => {}
                        (_, value) => {
                            object.insert(key.clone(), value?);
                        }
                    }
                }
                Value::Object(object)
            }
            Structure::Plain(value) => value.clone(),
        })
    }

    /// The value of the first path that leads to one that is not null.
    fn any<'t>(
        &self,
        paths: &[Vec<Text<'static>>],
        scope: &Scope<'_, 't>,
        pointer: &str,
    ) -> Result<Value<'t>, Error> {
        let mut failed = None;
        for path in paths {
            match scope.find(path, pointer) {
                Ok(Value::Null) => {}
                Ok(value) => return Ok(value),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        Err(failed.unwrap_or_else(|| {
            let message = "no placeholder leads to a value";
            Error::new(ErrorKind::TransformPath, pointer, message)
        }))
    }

    /// Returns the place in the scope from which the value comes that the filled structure has at
    /// `path`, if it comes from one place as it is.
    pub(super) fn source(&self, path: &[&str]) -> Option<Vec<Text<'static>>> {
        match self {
            Structure::Placeholder(Placeholder { path: from, .. }) => {
                let rest = path.iter().map(|&key| Text::plain(key.to_owned()));
                Some(from.iter().cloned().chain(rest).collect())
            }
            Structure::Map(pairs) => {
                let (&first, rest) = path.split_first()?;
                let (_, inner) = pairs.iter().rfind(|(key, _)| key.as_str() == first)?;
                inner.source(rest)
            }
            Structure::Any { .. } | Structure::List(_) | Structure::Plain(_) => None,
        }
    }
}

impl<'t> Scope<'_, 't> {
    fn find(&self, path: &[Text<'static>], pointer: &str) -> Result<Value<'t>, Error> {
        let Some((root, rest)) = path.split_first() else {
            return Ok(Value::Null);
        };
        let mut captures = self.captures.iter().rev();
        let captured = captures.find(|(name, _)| *name == root.as_str());
        let captured = captured.map(|(_, text)| Value::text(text));
        let Some(value) = self.values.get(root).or(captured.as_ref()) else {
            let (root, path) = (root.as_str(), shown(path));
            let message = format!("nothing is called {root}, of {{{path}}}");
            return Err(Error::new(
                ErrorKind::TransformMissingRoot,
                pointer,
                message,
            ));
        };
        let nowhere = |word: &Text<'_>| {
            let message = format!("{{{}}} leads nowhere at {}", shown(path), word.as_str());
            Error::new(ErrorKind::TransformPath, pointer, message)
        };
        let mut value = value;
        for (i, word) in rest.iter().enumerate() {
            if let Value::Json(json) = value {
                let mut json = json;
                for word in &rest[i..] {
                    let inner = json.as_object().and_then(|map| map.get(word.as_str()));
                    json = inner.ok_or_else(|| nowhere(word))?;
                }
                return Ok(Value::finished(json.clone()));
            }
            value = match value {
                Value::Object(object) => object.get(word).ok_or_else(|| nowhere(word))?,
                _ => return Err(nowhere(word)),
            };
        }
        Ok(value.clone())
    }

    /// Moves the value at `path` out of the scope.
    fn take(&mut self, path: &[Text<'static>]) -> Option<Value<'t>> {
        let (root, rest) = path.split_first()?;
        let mut value = self.values.get_mut(root)?;
        for (i, word) in rest.iter().enumerate() {
            if let Value::Json(json) = value {
                let mut json = json;
                for word in &rest[i..] {
                    json = json.as_object_mut()?.get_mut(word.as_str())?;
                }
                return Some(Value::finished(json.take()));
            }
            let Value::Object(object) = value else {
                return None;
            };
            value = object.get_mut(word)?;
        }
        Some(std::mem::replace(value, Value::Null))
    }

    /// The value at `path`, to be changed.
    pub(super) fn find_mut(&mut self, path: &[Text<'static>]) -> Option<&mut Value<'t>> {
        let (root, rest) = path.split_first()?;
        let mut value = self.values.get_mut(root)?;
        for word in rest {
            let Value::Object(object) = value else {
                return None;
            };
            value = object.get_mut(word)?;
        }
        Some(value)
    }
}

/// A path as its placeholder has it.
fn shown(path: &[Text<'static>]) -> String {
    let words: Vec<&str> = path.iter().map(Text::as_str).collect();
    words.join(".")
}

/// Placeholders one of which is to be taken: `{a.b|c}`, with a last empty one `{a.b|}` if there need be none.
fn alternatives(text: &str) -> Option<Structure> {
    let inside = text.strip_prefix('{')?.strip_suffix('}')?;
    let (paths, optional) = match inside.strip_suffix('|') {
        Some(paths) => (paths, true),
        None => (inside, false),
    };
    if !inside.contains('|') {
        return None;
    }
    let paths = paths.split('|').map(|path| {
        let (path, length) = placeholder(&format!("{{{path}}}"))?;
        (length < usize::MAX).then_some(path)
    });
    let paths = paths.collect::<Option<Vec<_>>>()?;
    Some(Structure::Any { paths, optional })
}

/// The first placeholder in `text`: its words, and the length it takes if it starts the text
/// (else no length that a text has).
fn placeholder(text: &str) -> Option<(Vec<Text<'static>>, usize)> {
    for (open, _) in text.match_indices('{') {
        let inside = &text[open + 1..];
        let length = inside.find(|c: char| c != '.' && !is_word(c))?;
        let path = &inside[..length];
        if inside[length..].starts_with('}') && path.split('.').all(|word| !word.is_empty()) {
            let words = path.split('.').map(|word| Text::plain(word.to_owned()));
            let end = if open == 0 { length + 2 } else { usize::MAX };
            return Some((words.collect(), end));
        }
    }
    None
}
