//! Keywords that constrain nothing: only their types are looked at.
//!
//! For example, `description: null` is noted and refuses no schema, because nothing depends on it;
//! `$id: null` does, because references do.

use serde_json::Value;

use crate::error::Error;
use crate::ir::Status;
use crate::ir::pointer::Last;
use crate::ledger::{General, Keyword};
use crate::options::Draft::{self, Draft4, Draft6, Draft7, Draft201909, Draft202012};
use crate::read::here::{Here, is_schema, no_schema};
use crate::read::reader::Reader;

impl<'a> Reader<'a, '_> {
    /// Notes a keyword that constrains nothing here; an annotation of another type than the draft
    /// says is noted as one that is ignored.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid): what names a place, or is read where a reference leads, is of
    /// another type.
    pub(super) fn annotation(
        &self,
        here: &mut Here<'a, '_>,
        key: &str,
        value: &'a Value,
        status: Status,
    ) -> Result<(), Error> {
        let status = match self.typed(here, key, value) {
            Err(error) if general(key) == Some(General::Annotation) => {
                Status::Ignored(error.message().to_owned())
            }
            checked => checked.map(|()| status)?,
        };
        here.note(key, status);
        Ok(())
    }

    /// Checks the type of a keyword that constrains nothing here, where the draft has it.
    fn typed(&self, here: &Here<'a, '_>, key: &str, value: &'a Value) -> Result<(), Error> {
        let since = |draft: Draft| self.draft >= draft;
        let wanted = match key {
            "$schema" | "title" | "description" if !value.is_string() => "a string",
            "$id" if since(Draft6) && !value.is_string() => "a string",
            "id" if self.draft == Draft4 && !value.is_string() => "a string",
            "$anchor" if since(Draft201909) && !value.is_string() => "a string",
            "$dynamicAnchor" if since(Draft202012) && !value.is_string() => "a string",
            "$comment" | "contentEncoding" | "contentMediaType"
                if since(Draft7) && !value.is_string() =>
            {
                "a string"
            }
            "$recursiveAnchor" if self.draft == Draft201909 && !value.is_boolean() => "a boolean",
            "readOnly" | "writeOnly" if since(Draft7) && !value.is_boolean() => "a boolean",
            "deprecated" if since(Draft201909) && !value.is_boolean() => "a boolean",
            "examples" if since(Draft6) && !value.is_array() => "an array",
            "contentSchema" if since(Draft201909) => return here.must_be_schema(key, value),
            "minContains" | "maxContains" if since(Draft201909) => {
                return here.count(key, value).map(|_| ());
            }
            "$vocabulary" if since(Draft201909) => match value {
                Value::Object(map) if map.values().all(Value::is_boolean) => return Ok(()),
                Value::Object(_) => {
                    return Err(here.invalid(key, "must have booleans as its values"));
                }
                _ => "an object of booleans",
            },
            "definitions" | "$defs" if key == "definitions" || since(Draft201909) => match value {
                Value::Object(map) => {
                    let Some((name, found)) = map.iter().find(|(_, v)| !is_schema(v)) else {
                        return Ok(());
                    };
                    let definitions = here.place.pointer.below("", Last::Name(key.into()));
                    let at = definitions.below("", Last::Name(name.as_str().into()));
                    return Err(no_schema(&at, found));
                }
                _ => "an object of schemas",
            },
            _ => return Ok(()),
        };
        Err(here.must_be(key, wanted, value))
    }
}

/// Returns the fate of a keyword that the reader has no rule for.
pub(super) fn status_of_other(name: &str) -> Status {
    match general(name) {
        Some(General::Refused) => Status::Refused("not supported".to_owned()),
        _ => Status::Annotation,
    }
}

fn general(name: &str) -> Option<General> {
    Keyword::named(name).map(|known| known.general)
}
