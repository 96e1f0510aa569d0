//! A template that is ready to read, with the choices that it was built by. For example, the events of a
//! stream and its message follow the same choice of what becomes of broken calls.

use serde_json::Value as Json;

use super::choices::{Broken, Pieces};
use super::fields::Template;
use super::tools::Names;
use crate::value::Beyond;

/// A compiled template and the choices about it.
pub(super) struct TemplateInner {
    pub(super) template: Template,
    pub(super) json: Json,
    pub(super) beyond: Beyond,
    pub(super) broken: Broken,
    pub(super) names: Names,
    pub(super) pieces: Pieces,
}
