//! Reads the keywords of arrays that stand for one another. For example, `items: [a, b]` of draft 7
//! is read as `prefixItems: [a, b]` of 2020-12.

use serde_json::Value;

use crate::error::Error;
use crate::ir::pointer::Last;
use crate::ir::{ALWAYS, AtomKind, Items};
use crate::options::Draft;
use crate::read::here::{Here, is_true};
use crate::read::reader::Reader;

/// The further keywords that may evaluate items, because they apply schemas to items.
const ITEM_APPLICATORS: &[&str] = &["contains"];

/// `items` in both forms, with what goes with it.
pub(super) fn items<'a>(
    reader: &mut Reader<'a, '_>,
    here: &mut Here<'a, '_>,
    key: &str,
    value: &'a Value,
) -> Result<(), Error> {
    if key == "additionalItems" && reader.draft < Draft::Draft202012 {
        here.must_be_schema(key, value)?;
    }
    // `true` constrains nothing, and evaluates all items: as `items` does.
    let is_applied = here.applies(ITEM_APPLICATORS);
    let is_left = |value: &Value| !is_true(value) && is_applied;
    if key == "unevaluatedItems" && is_left(value) {
        let node = reader.child(here, value, "unevaluatedItems", Last::Nothing)?;
        here.push("unevaluatedItems", AtomKind::UnevaluatedItems(node));
        return Ok(());
    }
    if here.items_read {
        return Ok(());
    }
    here.items_read = true;
    let mut prefix = Vec::new();
    let mut rest = ALWAYS;
    let mut said = false;
    if let Some(list) = here.get("prefixItems") {
        prefix = reader.children(here, "prefixItems", list)?;
    }
    match here.get("items") {
        Some(list @ Value::Array(_)) => {
            prefix = reader.children(here, "items", list)?;
            if let Some(more) = here.get("additionalItems") {
                rest = reader.child(here, more, "additionalItems", Last::Nothing)?;
                said = true;
            }
        }
        Some(one) => {
            rest = reader.child(here, one, "items", Last::Nothing)?;
            said = true;
        }
        None => {}
    }
    if !said
        && let Some(more) = here.get("unevaluatedItems")
        && !is_left(more)
    {
        rest = reader.child(here, more, "unevaluatedItems", Last::Nothing)?;
        said = true;
    }
    if !prefix.is_empty() || said {
        let keyword = here.first_of(&["items", "prefixItems"]);
        let rest_said = said;
        let items = Items {
            prefix,
            rest,
            rest_said,
        };
        here.push(keyword, AtomKind::Items(items));
    }
    Ok(())
}

pub(super) fn contains<'a>(
    reader: &mut Reader<'a, '_>,
    here: &mut Here<'a, '_>,
    value: &'a Value,
) -> Result<(), Error> {
    let node = reader.child(here, value, "contains", Last::Nothing)?;
    let limit = |name: &str| match here.get(name) {
        Some(v) => here.count(name, v).map(Some),
        None => Ok(None),
    };
    let min = limit("minContains")?.unwrap_or(1);
    let max = limit("maxContains")?;
    let evaluates = reader.draft >= Draft::Draft202012;
    here.push(
        "contains",
        AtomKind::Contains {
            node,
            min,
            max,
            evaluates,
        },
    );
    Ok(())
}
