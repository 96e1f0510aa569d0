//! presets
use super::malformed;
use crate::Error;
use serde_json::Value;
/// A preset.
#[derive(Clone, Debug)]
pub struct Preset;
impl Preset {
    /// Reads.
    /// # Errors
    /// x
    pub fn from_value(_: &Value) -> Result<Preset, Error> {
        Err(malformed("", "later"))
    }
    /// Expands.
    /// # Errors
    /// x
    pub fn expand(&self) -> Result<Value, Error> {
        Err(malformed("", "later"))
    }
}
