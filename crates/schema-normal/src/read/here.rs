//! The keywords of one object while they are read, and their values by type. For example,
//! `minLength` of `{"type": "integer", "minLength": 3}` is read as a count, and its value must be a
//! whole number.

use std::borrow::Cow;

use json_tree::subschemas::IN_PLACE;
use serde_json::{Map, Value};

use crate::decimal::Decimal;
use crate::error::{Error, ErrorKind};
use crate::ir::pointer::Pointer;
use crate::ir::{Atom, AtomKind, Kinds, Name, Status};
use crate::ledger::{self, Keyword};
use crate::options::Draft;
use crate::read::exact_numbers::{Numbers, Role};
use crate::read::json_text::name_of;
use crate::read::references::{Place, lookup};

/// The fate of each keyword of a location.
pub(super) type Notes = Vec<(Cow<'static, str>, Status)>;

/// The keywords of one object while they are read.
pub(super) struct Here<'a, 'p> {
    pub(super) place: &'p Place<'a>,
    pub(super) map: &'a Map<String, Value>,
    pub(super) draft: Draft,
    pub(super) atoms: Vec<Atom>,
    pub(super) notes: Notes,
    pub(super) members_read: bool,
    pub(super) items_read: bool,
}

impl<'a> Here<'a, '_> {
    /// The value of a keyword, where the draft has that keyword.
    pub(super) fn get(&self, keyword: &str) -> Option<&'a Value> {
        let found = lookup(self.map, keyword)?;
        (!ledger::is_later(keyword, self.draft)).then_some(found)
    }

    pub(super) fn push(&mut self, keyword: &'static str, kind: AtomKind) {
        self.atoms.push(Atom { keyword, kind });
    }

    pub(super) fn invalid(&self, keyword: &str, message: &str) -> Error {
        self.error(ErrorKind::Invalid, keyword, message)
    }

    pub(super) fn refused(&self, keyword: &str, message: &str) -> Error {
        self.error(ErrorKind::Refused, keyword, message)
    }

    /// The value of a keyword is of another type than it must be.
    pub(super) fn must_be(&self, keyword: &str, what: &str, value: &Value) -> Error {
        self.invalid(keyword, &format!("must be {what}, not {}", name_of(value)))
    }

    #[cold]
    fn error(&self, kind: ErrorKind, keyword: &str, message: &str) -> Error {
        let message = format!("`{keyword}` {message}");
        Error::at(kind, &self.place.pointer, keyword, message)
    }

    pub(super) fn note(&mut self, keyword: &str, status: Status) {
        self.notes.push((name_of_keyword(keyword), status));
    }

    pub(super) fn refuse(&mut self, keyword: &'static str, kinds: Kinds, reason: String) {
        self.note(keyword, Status::Refused(reason.clone()));
        self.push(keyword, AtomKind::Refused { kinds, reason });
    }

    pub(super) fn has(&self, keyword: &str) -> bool {
        self.get(keyword).is_some()
    }

    /// Returns the first of some keywords that is there, or else the last one.
    pub(super) fn first_of(&self, keywords: &[&'static str]) -> &'static str {
        let there = keywords.iter().find(|keyword| self.has(keyword));
        there.or(keywords.last()).copied().unwrap_or_default()
    }

    /// Tells whether keywords stand beside that apply schemas in place, or some further ones, so
    /// that these may evaluate members or items.
    pub(super) fn applies(&self, more: &[&str]) -> bool {
        let references = ["$ref", "$dynamicRef", "$recursiveRef"];
        let mut all = references.iter().chain(&IN_PLACE).chain(more);
        all.any(|keyword| self.has(keyword))
    }

    /// For a keyword whose schema is not read.
    pub(super) fn must_be_schema(&self, keyword: &str, value: &Value) -> Result<(), Error> {
        match is_schema(value) {
            true => Ok(()),
            false => Err(self.must_be(keyword, "a schema, an object or a boolean", value)),
        }
    }

    pub(super) fn decimal(
        &self,
        keyword: &str,
        value: &Value,
        numbers: &Numbers,
        role: Role,
    ) -> Result<Decimal, Error> {
        let exact = numbers.exact(value, role);
        exact.map_err(|reason| match value {
            Value::Number(_) => self.refused(keyword, &reason),
            _ => self.invalid(keyword, &reason),
        })
    }

    /// A number that is not negative and whole; `3.0` is one.
    pub(super) fn count(&self, keyword: &str, value: &Value) -> Result<u64, Error> {
        let whole = value.as_u64().or_else(|| {
            let real = value.as_f64()?;
            (real.fract() == 0.0 && (0.0..1e15).contains(&real)).then_some(real as u64)
        });
        whole.ok_or_else(|| {
            let found = match value {
                Value::Number(n) => n.to_string(),
                other => name_of(other).to_owned(),
            };
            let message = format!("must be a whole number, 0 or more, not {found}");
            self.invalid(keyword, &message)
        })
    }

    pub(super) fn string<'v>(&self, keyword: &str, value: &'v Value) -> Result<&'v str, Error> {
        let string = value.as_str();
        string.ok_or_else(|| self.must_be(keyword, "a string", value))
    }

    pub(super) fn strings(&self, keyword: &str, value: &Value) -> Result<Vec<Name>, Error> {
        let bad = || self.must_be(keyword, "an array of strings", value);
        let list = value.as_array().ok_or_else(bad)?;
        let mut names = Vec::with_capacity(list.len());
        for name in list {
            names.push(name.as_str().ok_or_else(bad)?.into());
        }
        Ok(names)
    }

    pub(super) fn object<'v>(
        &self,
        keyword: &str,
        value: &'v Value,
    ) -> Result<&'v Map<String, Value>, Error> {
        let map = value.as_object();
        map.ok_or_else(|| self.must_be(keyword, "an object", value))
    }
}

/// Returns the name of a keyword; those of the ledger are not copied.
pub(super) fn name_of_keyword(keyword: &str) -> Cow<'static, str> {
    match Keyword::named(keyword) {
        Some(known) => Cow::Borrowed(known.name),
        None => Cow::Owned(keyword.to_owned()),
    }
}

pub(super) fn is_true(value: &Value) -> bool {
    value == &Value::Bool(true)
}

pub(super) fn is_schema(value: &Value) -> bool {
    matches!(value, Value::Object(_) | Value::Bool(_))
}

/// A place where a schema must be has something else.
#[cold]
pub(super) fn no_schema(pointer: &Pointer, value: &Value) -> Error {
    let found = name_of(value);
    let message = format!("a schema is an object or a boolean, not {found}");
    Error::new(ErrorKind::Invalid, pointer, message)
}
