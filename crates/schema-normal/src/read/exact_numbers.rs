//! Numbers of a document, exactly: with the digits that were written where they are known, and
//! refused where they may have been rounded. For example, `0.1` is read as one tenth, and not as
//! the `f64` nearest to it.

use serde_json::Value;

use crate::decimal::Decimal;
use crate::read::json_text::Digits;
use crate::read::json_text::name_of;
use crate::read::parse_options::Rounded;

/// The reader of the numbers of a document.
pub(crate) struct Numbers {
    pub(super) rounded: Rounded,
    pub(super) digits: Digits,
}

impl Numbers {
    /// A number of the document, exactly; an error is a reason.
    pub(super) fn exact(&self, value: &Value, role: Role) -> Result<Decimal, String> {
        let Value::Number(n) = value else {
            return Err(format!("must be a number, not {}", name_of(value)));
        };
        if let Some(written) = self.digits.get(&std::ptr::from_ref(value)) {
            return Decimal::parse(written).ok_or_else(|| too_many_digits(written));
        }
        let exact = Decimal::from_number(n).ok_or_else(|| too_many_digits(&n.to_string()))?;
        if self.rounded == Rounded::Refuse && n.is_f64() && may_be_rounded(n, &exact, role) {
            return Err(format!(
                "has the number {n}, which may have been rounded before it was read; give the schema as text to `parse_str`, or say that it was not with ParseOptions::rounded"
            ));
        }
        Ok(exact)
    }

    /// Looks at the numbers inside a listed value: an error is a reason.
    pub(super) fn inside(&self, value: &Value) -> Result<(), String> {
        let mut todo = vec![value];
        while let Some(value) = todo.pop() {
            match value {
                Value::Number(_) if self.digits.contains_key(&std::ptr::from_ref(value)) => {
                    return Err("has a number inside an array or object with more digits than are kept there".to_owned());
                }
                Value::Number(n) if n.is_f64() => {
                    self.exact(value, Role::Value)?;
                }
                Value::Array(items) => todo.extend(items),
                Value::Object(map) => todo.extend(map.values()),
                _ => {}
            }
        }
        Ok(())
    }
}

/// The purpose of a number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A bound or a listed value.
    Value,
    Divisor,
}

/// Tells whether other digits may well have been written where an `f64` is at hand.
fn may_be_rounded(number: &serde_json::Number, exact: &Decimal, role: Role) -> bool {
    /// 2^53: an `f64` from here on may be another number than the one that was written, because not
    /// every whole number is one.
    const WHOLE: f64 = 9_007_199_254_740_992.0;
    let digits = exact.magnitude().0.len();
    if digits > 16 {
        return true;
    }
    let large = number.as_f64().is_some_and(|f| f.abs() >= WHOLE);
    large && (role == Role::Value || digits > 15)
}

fn too_many_digits(written: &str) -> String {
    /// The most digits that a message shows, because a number may have millions.
    const SHOWN: usize = 40;
    let end = if written.len() > SHOWN { ".." } else { "" };
    let shown: String = written.chars().take(SHOWN).collect();
    format!("has the number {shown}{end}: its plain spelling has too many digits")
}
