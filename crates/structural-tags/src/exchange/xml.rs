use super::format::JsonFormat;
use super::lower::Lowering;
use super::refused;
use crate::Error;
use crate::build::Node;
pub(super) fn node(json: &JsonFormat, _lowering: &mut Lowering<'_>) -> Result<Node, Error> {
    Err(refused(&json.at, "later"))
}
