//! A schema as the text of a regular expression, and the ledger of that.
//!
//! For example, `{"type": "boolean"}` is printed as `(?:true|false)` with white space around.

use std::collections::{BTreeMap, HashMap, HashSet};

use schema_normal::Schema as Read;
use schema_normal::budget::Budget;
use schema_normal::ir::ROOT;
use schema_normal::ir::signed::Signed;
use schema_normal::ledger::{Entry, Narrowed, Status};
use schema_normal::normal::closing::closings;
use schema_normal::normal::in_place::refuse_cycles;
use schema_normal::normal::normaliser::Normaliser;
use schema_normal::options::{AdditionalMembers, AnyValue, Options, Target};
use schema_normal::{Error, ErrorKind};

use crate::Schema;
use crate::regex::{Printer, SpaceTexts, spell};

/// Prints a schema as a regular expression over the texts of the values that
/// satisfy it.
///
/// The dialect is that of the `regex-syntax` crate with Unicode on; the
/// expression matches whole texts and has neither anchors nor flags nor
/// look-around, so that any engine that finds *all* matches (a DFA with
/// `MatchKind::All`, not leftmost-first) reads it alike. Counts stay counts
/// (`{0,100}`).
///
/// Members stand in the order of `properties`, then names that only `required`
/// gives, then further ones.
///
/// Time and the length of the text are bounded by the limits in `options`; the
/// text of a schema of *n* optional properties has O(*n* log *n*) of them.
///
/// # Errors
///
/// [`crate::ErrorKind::Refused`] for a keyword, or a combination, that cannot be
/// enforced exactly, [`crate::ErrorKind::Recursive`], [`crate::ErrorKind::Cyclic`],
/// [`crate::ErrorKind::Unsatisfiable`], and one kind for each limit; all with the JSON
/// Pointer of the place.
pub fn to_regex(schema: &Schema, options: &Options) -> Result<String, Error> {
    printed(&schema.read, options).result
}

impl Schema {
    /// Returns the fate of each keyword that the schema reaches in the regular expression that
    /// [`to_regex`] prints, in the order in which locations were met; then the places that
    /// are narrowed beside the keywords. If the schema is refused, the keyword at fault is
    /// [`Status::Refused`].
    ///
    /// ```
    /// use schema_regex::ledger::Status;
    /// use schema_regex::{Options, parse};
    /// use serde_json::json;
    ///
    /// let schema = parse(&json!({"type": "array", "items": {"type": "integer"}, "uniqueItems": true}))?;
    /// let ledger = schema.ledger(&Options::default());
    /// let unique = ledger.iter().find(|entry| entry.pointer == "/uniqueItems").unwrap();
    /// assert!(matches!(unique.status, Status::Refused(_)));
    /// # Ok::<(), schema_regex::Error>(())
    /// ```
    pub fn ledger(&self, options: &Options) -> Vec<Entry> {
        let Printed {
            result,
            narrowed,
            options,
        } = printed(&self.read, options);
        let error = result.err();
        let mut ledger = self
            .read
            .entries(&options, Target::Expression, &narrowed, error.as_ref());
        if let AnyValue::Depth(depth) = options.any_value {
            for entry in &mut ledger {
                if entry.keyword == "additionalProperties" && entry.status == Status::Enforced {
                    entry.status = Status::Narrowed(format!(
                        "values that are not restricted nest at most {depth} deep, and a further name may be written twice"
                    ));
                }
            }
        }
        ledger
    }
}

/// An expression, and what is to be said of it.
struct Printed {
    result: Result<String, Error>,
    /// The places that were narrowed on the way.
    narrowed: Narrowed,
    /// The options that it was printed with.
    options: Options,
}

fn printed(schema: &Read, options: &Options) -> Printed {
    let mut options = schema.options(options);
    if let (Some(levels), AnyValue::Depth(depth)) = (options.caps.depth, options.any_value) {
        options.any_value = AnyValue::Depth(depth.min(levels));
    }
    if let Err(error) = schema.refuse_unknown(&options) {
        return Printed {
            result: Err(error),
            narrowed: Narrowed::new(),
            options,
        };
    }
    let mut schema = schema.clone();
    schema.annotate(&options);
    let mut normaliser = Normaliser::new(schema.clone(), options.clone(), Target::Expression);
    loop {
        let mut narrowed = Narrowed::new();
        let result = print_once(&mut normaliser, &options, &mut narrowed)
            .map_err(|e| in_steps(e, normaliser.budget(), &options));
        match (result, options.any_value) {
            // Unrestricted values give way first.
            (Err(e), AnyValue::Depth(depth)) if e.kind() == ErrorKind::TooLong && depth > 0 => {
                options.any_value = AnyValue::Depth(depth.min(4) - 1);
            }
            // A schema that has no value when it is closed stays as it is written.
            (Err(e), _) if e.kind() == ErrorKind::Unsatisfiable && options.closes() => {
                options.additional_members = AdditionalMembers::Open;
                normaliser = Normaliser::new(schema.clone(), options.clone(), Target::Expression);
            }
            (result, _) => {
                return Printed {
                    result,
                    narrowed,
                    options,
                };
            }
        }
    }
}

/// An error that only came because the steps were spent says so.
fn in_steps(error: Error, budget: &Budget, options: &Options) -> Error {
    if !budget.is_spent() || error.kind() == ErrorKind::TooManySteps {
        return error;
    }
    let what = error
        .keyword()
        .map_or(String::new(), |k| format!("`{k}`: "));
    let message = format!(
        "{what}it takes more than {} steps; simplify it or raise Options::max_steps",
        options.max_steps
    );
    error.instead(ErrorKind::TooManySteps, message)
}

fn print_once(
    normaliser: &mut Normaliser,
    options: &Options,
    narrowed: &mut Narrowed,
) -> Result<String, Error> {
    let space = SpaceTexts::new(&options.whitespace)?;
    refuse_cycles(normaliser)?;
    let root = normaliser.intern(&[Signed::yes(ROOT)]);
    // Names are spelled as values are.
    let options = options.clone().with_escapes(options.escapes.in_values());
    let mut printer = Printer {
        normaliser,
        char: spell::any_char(options.escapes),
        options,
        space,
        memo: HashMap::new(),
        open: Vec::new(),
        recursive: HashSet::new(),
        any: Vec::new(),
        names: HashMap::new(),
        cut: false,
        narrowed: Narrowed::new(),
        depths: BTreeMap::new(),
        kept: 0,
    };
    let text = printer.value(root);
    *narrowed = std::mem::take(&mut printer.narrowed);
    narrowed.extend(closings(printer.normaliser));
    for (pointer, depth) in &printer.depths {
        let how = format!("a value that is not restricted nests at most {depth} deep");
        narrowed.insert((pointer.clone(), "", how));
    }
    match text? {
        Some(text) => Ok(text.to_string()),
        None if printer.cut => Err(Error::new(
            ErrorKind::Unsatisfiable,
            "",
            "no value of the schema fits in the unrolling depth; raise Recursion::Unroll",
        )),
        None => Err(Error::new(
            ErrorKind::Unsatisfiable,
            "",
            "no value satisfies the schema",
        )),
    }
}
