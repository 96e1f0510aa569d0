//! A plain validator over the intermediate form, keyword by keyword. It is for asking about values,
//! and decides which of the values that an `enum` lists the rest of a schema admits; what is
//! compiled is therefore tested against the `jsonschema` crate, not against this. For example, of
//! `{"enum": [1, "a"], "type": "string"}` only `"a"` is admitted.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use serde_json::Value;

use crate::budget::Budget;
use crate::decimal::Decimal;
use crate::error::{Error, ErrorKind};
use crate::ir::signed::Signed;
use crate::ir::{
    Atom, AtomKind, Body, Items, Kinds, Location, Members, Name, NodeId, PatternId, ROOT, Schema,
};
use crate::language::char_dfa::automata::Matcher;
use crate::language::formats;
use crate::language::formats::Format;
use crate::options::{Complements, Formats, Options, Target};
use crate::values::{canonical_value, equal};

/// The depth to which references and values are followed, because each level takes stack.
const MAX_DEPTH: usize = 400;

impl Schema {
    /// Tells whether `value` satisfies the schema, `format` read as `options` say.
    ///
    /// This is a plain validator, keyword by keyword, made for checking and
    /// not for speed. Known formats are compared with the language that the
    /// automaton enforces. Caps are not looked at. Each location is asked of each value
    /// inside at most once, however many references lead to it, so that the time is at most
    /// the product of both.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Refused`] where a keyword that decides cannot be
    /// evaluated, [`ErrorKind::TooDeep`] where references or the value nest
    /// more than 400 deep, [`ErrorKind::TooManySteps`] where locations that lead to
    /// others are asked of more than 1,048,576 values, each location for itself.
    ///
    /// ```
    /// use schema_regex::{Options, parse};
    /// use serde_json::json;
    ///
    /// let schema = parse(&json!({"type": "integer", "multipleOf": 3}))?;
    /// assert!(schema.is_valid(&json!(9), &Options::default())?);
    /// assert!(!schema.is_valid(&json!(10), &Options::default())?);
    /// # Ok::<(), schema_regex::Error>(())
    /// ```
    pub fn is_valid(&self, value: &Value, options: &Options) -> Result<bool, Error> {
        if !json_tree::depth::at_most(value, MAX_DEPTH) {
            return Err(Error::new(
                ErrorKind::TooDeep,
                "",
                format!("the value nests more than {MAX_DEPTH} deep"),
            ));
        }
        Check::new(self, &self.options(options)).node(ROOT, value, 0)
    }
}

/// Tells in a compilation, whose budget is charged, whether a value satisfies all of some locations.
/// Texts of which a narrowed format does not tell whether they are of it are refused where its
/// complement is.
pub(crate) fn holds(
    schema: &Schema,
    options: &Options,
    target: Target,
    complements: Complements,
    budget: &Budget,
    parts: &[Signed],
    value: &Value,
) -> Result<bool, Error> {
    let check = Check {
        target,
        budget: Some(budget),
        settles: complements == Complements::Refused,
        ..Check::new(schema, options)
    };
    for part in parts {
        if check.node(part.node, value, 0)? != part.positive {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Locations that are held against values.
struct Check<'s> {
    schema: &'s Schema,
    options: &'s Options,
    /// Whose languages formats have.
    target: Target,
    /// The budget of the compilation that asks, if one does.
    budget: Option<&'s Budget>,
    /// True if texts are refused of which a narrowed format does not tell whether they are of it,
    /// where a keyword may ask for its complement.
    settles: bool,
    /// The answers of locations that lead to others about values, by the addresses of these: they
    /// stay where they are as long as this does.
    known: RefCell<HashMap<(NodeId, *const Value), bool>>,
}

/// The most answers that one question remembers: some 80 MiB, because values of many parts may be
/// held against many locations each.
const MAX_KNOWN: usize = 1 << 20;

/// The number of states of a format's automaton that are met at once, roughly, because the cost of
/// a text is charged before it is read.
const MANY_STATES: usize = 64;

impl<'s> Check<'s> {
    /// With formats as the automaton has them.
    fn new(schema: &'s Schema, options: &'s Options) -> Check<'s> {
        Check {
            schema,
            options,
            target: Target::Automaton,
            budget: None,
            settles: false,
            known: RefCell::default(),
        }
    }

    /// Charges what it takes to run a text through an expression. Work over the budget is refused
    /// at the next location.
    fn charge(&self, text: usize, expression: usize) {
        if let Some(budget) = self.budget {
            budget.take(text.saturating_mul(1 + expression / 4));
        }
    }

    /// Tells whether a text that a narrowed format leaves out may be of it, where that makes a
    /// difference to what is complemented.
    fn is_unsettled(&self, format: Format, text: &str) -> bool {
        let complements = |kind: &AtomKind| {
            matches!(
                kind,
                AtomKind::Not(_)
                    | AtomKind::OneOf(_)
                    | AtomKind::If { .. }
                    | AtomKind::Contains { max: Some(_), .. }
            )
        };
        let wider = format.wider();
        wider.is_some_and(|wider| format_holds(wider, self.target, text))
            && self
                .schema
                .nodes
                .iter()
                .flat_map(Location::atoms)
                .any(|atom| complements(&atom.kind))
    }

    fn node(&self, id: NodeId, value: &Value, depth: usize) -> Result<bool, Error> {
        let node = self.schema.node(id);
        if depth > MAX_DEPTH {
            return Err(Error::new(
                ErrorKind::TooDeep,
                &node.pointer,
                format!("the value or the references nest more than {MAX_DEPTH} deep"),
            ));
        }
        let steps = |atoms: &[Atom]| 2 + 4 * atoms.len();
        match &node.body {
            Body::Always => Ok(true),
            Body::Never => Ok(false),
            Body::Atoms(atoms) if !self.budget.is_none_or(|b| b.take(steps(atoms))) => {
                Err(Error::new(
                    ErrorKind::TooManySteps,
                    &node.pointer,
                    "the listed values take too many steps; raise Options::max_steps",
                ))
            }
            Body::Atoms(atoms) => {
                // References may lead to one location in many ways, and each of these to the
                // next one.
                let leads_on = atoms.iter().any(|atom| leads_on(&atom.kind));
                let key = (id, std::ptr::from_ref(value));
                if leads_on && let Some(known) = self.known.borrow().get(&key) {
                    return Ok(*known);
                }
                let mut holds = true;
                for atom in atoms {
                    if !self.atom(atom, id, value, depth + 1)? {
                        holds = false;
                        break;
                    }
                }
                if leads_on {
                    let mut known = self.known.borrow_mut();
                    if known.len() >= MAX_KNOWN {
                        return Err(Error::new(
                            ErrorKind::TooManySteps,
                            &node.pointer,
                            format!(
                                "the value has more than {MAX_KNOWN} parts for the locations of the schema to be held against"
                            ),
                        ));
                    }
                    known.insert(key, holds);
                }
                Ok(holds)
            }
        }
    }

    fn atom(&self, atom: &Atom, at: NodeId, value: &Value, depth: usize) -> Result<bool, Error> {
        if atom.keyword == "format" && self.options.formats == Formats::Annotate {
            return Ok(true);
        }
        let refused = |reason: &str| {
            Error::at(
                ErrorKind::Refused,
                &self.schema.node(at).pointer,
                atom.keyword,
                format!("`{}`: {reason}", atom.keyword),
            )
        };
        let number = || number_of(value);
        let length = || value.as_str().map(|s| s.chars().count() as u64);
        let items = || value.as_array().map(|items| items.len() as u64);
        let members = || value.as_object().map(|members| members.len() as u64);
        match &atom.kind {
            AtomKind::Type { kinds, integer } => Ok(kinds.has(Kinds::of(value))
                || (*integer && number().is_some_and(|n| n.is_integer()))),
            AtomKind::Values(values) => Ok(values.has(value)),
            AtomKind::Minimum {
                value: low,
                exclusive,
            } => Ok(number().is_none_or(|n| n > *low || (n == *low && !exclusive))),
            AtomKind::Maximum {
                value: high,
                exclusive,
            } => Ok(number().is_none_or(|n| n < *high || (n == *high && !exclusive))),
            AtomKind::MultipleOf(divisor) => is_multiple(value, divisor).map_err(refused),
            AtomKind::MinLength(min) => Ok(length().is_none_or(|n| n >= *min)),
            AtomKind::MaxLength(max) => Ok(length().is_none_or(|n| n <= *max)),
            AtomKind::Pattern(id) => self.pattern(*id, value).map_err(refused),
            AtomKind::Format(format) => self.format(*format, value).map_err(refused),
            AtomKind::UnknownFormat(reason) => match (value, self.options.formats) {
                (Value::String(_), Formats::Strict) => Err(refused(reason)),
                _ => Ok(true),
            },
            AtomKind::Items(rule) => self.items(rule, value, depth),
            AtomKind::MinItems(min) => Ok(items().is_none_or(|n| n >= *min)),
            AtomKind::MaxItems(max) => Ok(items().is_none_or(|n| n <= *max)),
            AtomKind::UniqueItems => Ok(value.as_array().is_none_or(|a| all_different(a))),
            AtomKind::Contains { node, min, max, .. } => {
                let found = self.contained(*node, value, depth)?;
                let is_enough = |n: u64| n >= *min && max.is_none_or(|max| n <= max);
                Ok(found.is_none_or(is_enough))
            }
            AtomKind::Members(rule) => self.members(rule, value, depth),
            AtomKind::Required(names) => Ok(has_all(value, names)),
            AtomKind::MinProperties(min) => Ok(members().is_none_or(|n| n >= *min)),
            AtomKind::MaxProperties(max) => Ok(members().is_none_or(|n| n <= *max)),
            AtomKind::PropertyNames(node) => self.names(*node, value, depth),
            AtomKind::DependentRequired(lists) => Ok(lists
                .iter()
                .all(|(name, needed)| !has_name(value, name) || has_all(value, needed))),
            AtomKind::DependentSchemas(list) => {
                let mut there = list.iter().filter(|(name, _)| has_name(value, name));
                let holds = |(_, node): &(_, NodeId)| self.node(*node, value, depth);
                there.try_fold(true, |all, one| Ok(all && holds(one)?))
            }
            AtomKind::AllOf(nodes) => Ok(self.matching(nodes, value, depth)? == nodes.len()),
            AtomKind::AnyOf(nodes) => Ok(self.matching(nodes, value, depth)? > 0),
            AtomKind::OneOf(nodes) => Ok(self.matching(nodes, value, depth)? == 1),
            AtomKind::Not(node) => Ok(!self.node(*node, value, depth)?),
            AtomKind::If {
                condition,
                then,
                otherwise,
            } => match self.node(*condition, value, depth)? {
                true => self.node(*then, value, depth),
                false => self.node(*otherwise, value, depth),
            },
            AtomKind::Ref(node) => self.node(*node, value, depth),
            AtomKind::UnevaluatedItems(_) if value.is_array() => {
                Err(refused("it is not evaluated here"))
            }
            AtomKind::UnevaluatedProperties(_) if value.is_object() => {
                Err(refused("it is not evaluated here"))
            }
            AtomKind::UnevaluatedItems(_) | AtomKind::UnevaluatedProperties(_) => Ok(true),
            AtomKind::Refused { kinds, reason } => match kinds.has(Kinds::of(value)) {
                true => Err(refused(reason)),
                false => Ok(true),
            },
        }
    }

    /// Tells whether a pattern matches a text; or why that cannot be told.
    fn pattern(&self, id: PatternId, value: &Value) -> Result<bool, &str> {
        let entry = self.schema.pattern(id);
        match (value.as_str(), &entry.pattern) {
            (Some(text), Ok(_)) => {
                self.charge(text.len(), entry.source.len());
                Ok(entry.holds(text))
            }
            (Some(_), Err(e)) => Err(&e.reason),
            (None, _) => Ok(true),
        }
    }

    /// Tells whether a text is of a format; or why that cannot be told.
    fn format(&self, format: Format, value: &Value) -> Result<bool, &str> {
        let Some(text) = value.as_str() else {
            return Ok(true);
        };
        self.charge(text.len(), MANY_STATES);
        let holds = format_holds(format, self.target, text);
        if !holds && self.settles && self.is_unsettled(format, text) {
            return Err(
                "whether a listed text is of a format that is narrowed is not settled; list others, or none beside it",
            );
        }
        Ok(holds)
    }

    fn items(&self, rule: &Items, value: &Value, depth: usize) -> Result<bool, Error> {
        for (i, item) in value.as_array().into_iter().flatten().enumerate() {
            if !self.node(*rule.prefix.get(i).unwrap_or(&rule.rest), item, depth)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the number of items that satisfy a location, `None` of what is no array.
    fn contained(&self, node: NodeId, value: &Value, depth: usize) -> Result<Option<u64>, Error> {
        let Some(items) = value.as_array() else {
            return Ok(None);
        };
        let mut found = 0;
        for item in items {
            found += u64::from(self.node(node, item, depth)?);
        }
        Ok(Some(found))
    }

    /// Tells whether all names of an object satisfy a location.
    fn names(&self, node: NodeId, value: &Value, depth: usize) -> Result<bool, Error> {
        for name in value.as_object().into_iter().flat_map(|o| o.keys()) {
            // An answer about a name ends with the value that is made of it.
            let name = Value::String(name.clone());
            let check = Check {
                known: RefCell::default(),
                ..*self
            };
            if !check.node(node, &name, depth)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn matching(&self, nodes: &[NodeId], value: &Value, depth: usize) -> Result<usize, Error> {
        let mut found = 0;
        for node in nodes {
            found += usize::from(self.node(*node, value, depth)?);
        }
        Ok(found)
    }

    fn members(&self, members: &Members, value: &Value, depth: usize) -> Result<bool, Error> {
        for (name, member) in value.as_object().into_iter().flatten() {
            let mut evaluated = false;
            if let Some(node) = members.names.get(name.as_str()) {
                evaluated = true;
                if !self.node(node, member, depth)? {
                    return Ok(false);
                }
            }
            for (id, node) in &members.patterns {
                let entry = self.schema.pattern(*id);
                let holds = match &entry.pattern {
                    Ok(_) => {
                        self.charge(name.len(), entry.source.len());
                        entry.holds(name)
                    }
                    Err(e) => {
                        return Err(Error::new(
                            ErrorKind::Refused,
                            &self.schema.node(*node).pointer,
                            e.reason.clone(),
                        ));
                    }
                };
                if holds {
                    evaluated = true;
                    if !self.node(*node, member, depth)? {
                        return Ok(false);
                    }
                }
            }
            if !evaluated && !self.node(members.additional, member, depth)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn number_of(value: &Value) -> Option<Decimal> {
    match value {
        Value::Number(n) => Decimal::from_number(n),
        _ => None,
    }
}

/// Tells whether a number is a multiple of another one; or why that cannot be told.
fn is_multiple(value: &Value, divisor: &Decimal) -> Result<bool, &'static str> {
    match number_of(value) {
        Some(number) => number
            .is_multiple_of(divisor)
            .ok_or("the divisor is too large"),
        None => Ok(true),
    }
}

/// Tells whether an object has a member of a name.
fn has_name(value: &Value, name: &str) -> bool {
    value.as_object().is_some_and(|o| o.contains_key(name))
}

/// The items from which on a set compares them, because comparing each with each costs the square.
const MANY_ITEMS: usize = 16;

/// Tells whether no two items are equal.
fn all_different(items: &[Value]) -> bool {
    if items.len() > MANY_ITEMS {
        let mut met = HashSet::new();
        return items.iter().all(|item| met.insert(canonical_value(item)));
    }
    items
        .iter()
        .enumerate()
        .all(|(i, a)| !items[..i].iter().any(|b| equal(a, b)))
}

/// Tells whether an object, if it is one, has members of all names.
fn has_all(value: &Value, names: &[Name]) -> bool {
    let mut names = names.iter();
    value
        .as_object()
        .is_none_or(|o| names.all(|name| o.contains_key(&**name)))
}

/// Tells whether a text is of a format, as a target has it.
fn format_holds(format: Format, target: Target, text: &str) -> bool {
    /// The matchers of formats by target, made once because making one takes milliseconds.
    static MADE: [OnceLock<Option<Matcher>>; 2 * formats::COUNT] =
        [const { OnceLock::new() }; 2 * formats::COUNT];
    let made = MADE[2 * format as usize + target as usize]
        .get_or_init(|| Matcher::new(&format.re(target)).ok());
    made.as_ref().is_some_and(|m| m.matches(text))
}

/// Tells whether a keyword leads to other locations, that may lead to further ones.
fn leads_on(kind: &AtomKind) -> bool {
    matches!(
        kind,
        AtomKind::Items(_)
            | AtomKind::Contains { .. }
            | AtomKind::Members(_)
            | AtomKind::PropertyNames(_)
            | AtomKind::DependentSchemas(_)
            | AtomKind::AllOf(_)
            | AtomKind::AnyOf(_)
            | AtomKind::OneOf(_)
            | AtomKind::Not(_)
            | AtomKind::If { .. }
            | AtomKind::Ref(_)
    )
}
