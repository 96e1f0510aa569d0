//! Members that no name declares: the patterns that tell their names apart, and their values.
//!
//! For example, `{"patternProperties": {"^x": {"type": "null"}}}` has names with `x` in front, of
//! value `null`, and all others, of any value.

use std::rc::Rc;

use schema_normal::budget::Limit;
use schema_normal::ir::PatternId;
use schema_normal::language::char_dfa::automata::Matcher;
use schema_normal::language::char_dfa::product::Product;
use schema_normal::language::re::Re;
use schema_normal::normal::alternative::{Kind, ObjectShape, Scope, Shape, Witness};
use schema_normal::normal::conjunctions::{ANY, ConjId, NONE};
use schema_normal::normal::demands::{Asked, in_scope, rule_says};
use schema_normal::normal::search::shapes::shapes_of;
use schema_normal::{Error, ErrorKind};

use crate::regex::string::Language;
use crate::regex::{Printer, alternation, string};

/// One member that no name declares: the texts of its name and value together; with a
/// witness those that are one alone.
pub(super) fn further(
    printer: &mut Printer<'_>,
    objects: &ObjectShape,
    names: &[String],
    witness: Option<&Witness>,
) -> Result<Option<Rc<str>>, Error> {
    let patterns = patterns_of(printer, objects, witness);
    if patterns.is_empty() && objects.names.is_empty() {
        return of_any_name(printer, objects, names, witness);
    }
    // Nothing may be left at all: then the patterns need no automaton.
    let allowed = match objects.names.is_empty() {
        true => None,
        false => Some(name_language(printer, objects)?),
    };
    if allowed == Some(Re::Never) {
        return Ok(None);
    }
    let plain: Option<Vec<Re>> = patterns
        .iter()
        .map(|id| plain_pattern(printer, *id))
        .collect();
    // A single pattern and nothing else admitted: the pattern as it was
    // written.
    if let (Some([re]), [id], None) = (plain.as_deref(), patterns.as_slice(), &allowed)
        && let others = further_conj(printer, objects, &[], witness)
        && printer.value(others)?.is_none()
        && !names
            .iter()
            .any(|n| printer.normaliser.name_matches(*id, n))
    {
        let conj = further_conj(printer, objects, &[*id], witness);
        return named(printer, re, conj);
    }
    // One condition on names, and nothing else.
    if let (Some(re), true) = (&allowed, patterns.is_empty())
        && let matcher = Matcher::new(re).ok()
        && !names
            .iter()
            .any(|n| matcher.as_ref().is_none_or(|m| m.matches(n)))
    {
        let conj = further_conj(printer, objects, &[], witness);
        return named(printer, re, conj);
    }
    by_classes(printer, objects, (names, witness), &patterns, allowed)
}

/// The patterns that tell further names apart.
fn patterns_of(
    printer: &Printer<'_>,
    objects: &ObjectShape,
    witness: Option<&Witness>,
) -> Vec<PatternId> {
    let mut atoms = objects.atoms();
    let mut patterns: Vec<PatternId> = Vec::new();
    let scope = witness.map(|witness| &witness.scope);
    if let Some(Scope::Pattern(id)) = scope {
        patterns.push(*id);
    }
    atoms.extend(scope.into_iter().flat_map(Scope::atoms));
    for at in atoms {
        for (id, _) in &printer.normaliser.members(at).patterns {
            if !patterns.contains(id) {
                patterns.push(*id);
            }
        }
    }
    patterns
}

/// The members if nothing tells further names apart.
fn of_any_name(
    printer: &mut Printer<'_>,
    objects: &ObjectShape,
    names: &[String],
    witness: Option<&Witness>,
) -> Result<Option<Rc<str>>, Error> {
    let conj = further_conj(printer, objects, &[], witness);
    // Members that the schema admits without a word have one level less.
    let unsaid = !names.is_empty()
        && objects
            .atoms()
            .iter()
            .all(|(node, atom)| !printer.normaliser.members((*node, *atom)).additional_said);
    let value = if conj == ANY && unsaid {
        Some(printer.any_value_less(1)?)
    } else {
        printer.value(conj)?
    };
    let Some(value) = value else { return Ok(None) };
    let name = printer.name_not_in(names)?;
    let colon = &printer.space.colon;
    printer.checked(format!("{name}{colon}{value}")).map(Some)
}

/// Members with a name that an expression matches.
fn named(printer: &mut Printer<'_>, re: &Re, conj: ConjId) -> Result<Option<Rc<str>>, Error> {
    let Some(value) = printer.value(conj)? else {
        return Ok(None);
    };
    let name = printer.string_of(re);
    let colon = &printer.space.colon;
    printer.checked(format!("{name}{colon}{value}")).map(Some)
}

/// Names in classes: by which patterns they match.
fn by_classes(
    printer: &mut Printer<'_>,
    objects: &ObjectShape,
    (names, witness): (&[String], Option<&Witness>),
    patterns: &[PatternId],
    allowed: Option<Re>,
) -> Result<Option<Rc<str>>, Error> {
    let mut parts: Vec<Re> = Vec::new();
    // For each pattern the bits that must be set and those that must not.
    let mut bits: Vec<(u64, u64)> = Vec::new();
    for id in patterns {
        let Ok(pattern) = &printer.normaliser.schema().pattern(*id).pattern else {
            continue;
        };
        let (mut yes, mut no) = (0u64, 0u64);
        for (re, positive) in pattern.conditions() {
            if parts.len() >= 60 {
                return Err(too_large(printer, objects, patterns));
            }
            let bit = 1 << parts.len();
            match positive {
                true => yes |= bit,
                false => no |= bit,
            }
            parts.push(re.clone());
        }
        bits.push((yes, no));
    }
    let mut bit_of = |re: Option<Re>| match re {
        Some(re) => {
            parts.push(re);
            1u64 << (parts.len() - 1)
        }
        None => 0,
    };
    let names_bit = bit_of(allowed);
    let declared = (!names.is_empty()).then(|| Re::alt(names.iter().map(|n| Re::literal(n))));
    let declared_bit = bit_of(declared);
    let all: Vec<&Re> = parts.iter().collect();
    let budget = printer.normaliser.budget().clone();
    let limit = Limit::new(printer.options.max_automaton_states, &budget);
    let product = Product::new(&all, limit).map_err(|_| too_large(printer, objects, patterns))?;
    // Names with the same conditions on their values go together.
    let mut groups: Vec<(ConjId, Vec<u64>)> = Vec::new();
    for verdict in product.verdicts() {
        if verdict & declared_bit != 0 || verdict & names_bit != names_bit {
            continue;
        }
        let matched: Vec<PatternId> = patterns
            .iter()
            .zip(&bits)
            .filter(|(_, (yes, no))| verdict & yes == *yes && verdict & no == 0)
            .map(|(id, _)| *id)
            .collect();
        let conj = further_conj(printer, objects, &matched, witness);
        match groups.iter_mut().find(|(c, _)| *c == conj) {
            Some((_, verdicts)) => verdicts.push(verdict),
            None => groups.push((conj, vec![verdict])),
        }
    }
    let mut ways: Vec<String> = Vec::new();
    for (conj, verdicts) in groups {
        let Some(value) = printer.value(conj)? else {
            continue;
        };
        // All that are not declared, whatever they match.
        let every = product
            .verdicts()
            .iter()
            .filter(|v| *v & declared_bit == 0)
            .all(|v| verdicts.contains(v));
        let name = if every {
            printer.name_not_in(names)?.to_string()
        } else {
            let re = match as_written(&product, &verdicts, &parts) {
                Some(re) => re,
                None => product
                    .to_re(|v| verdicts.contains(&v), limit)
                    .map_err(|_| too_large(printer, objects, patterns))?,
            };
            if re == Re::Never {
                continue;
            }
            printer.string_of(&re)
        };
        ways.push(format!("{name}{}{value}", printer.space.colon));
    }
    match alternation(ways) {
        Some(text) => printer.checked(text).map(Some),
        None => Ok(None),
    }
}

#[cold]
fn too_large(printer: &Printer<'_>, objects: &ObjectShape, patterns: &[PatternId]) -> Error {
    let keyword = match patterns.is_empty() {
        true => "propertyNames",
        false => "patternProperties",
    };
    let mut atoms = objects.atoms().into_iter();
    let at = atoms.find(|at| !printer.normaliser.members(*at).patterns.is_empty());
    let reason = format!(
        "`{keyword}`: telling the names apart needs too large an automaton; use fewer or simpler patterns, or raise Options::max_automaton_states"
    );
    match at {
        Some((node, _)) => {
            let pointer = &printer.normaliser.schema().node(node).pointer;
            Error::at(ErrorKind::Refused, pointer, keyword, reason)
        }
        None => Error::new(ErrorKind::Refused, printer.here(), reason),
    }
}

/// A part that is the whole group, printed as it was written.
fn as_written(product: &Product, verdicts: &[u64], parts: &[Re]) -> Option<Re> {
    let all = product.verdicts();
    (0..parts.len())
        .filter(|i| !parts[*i].looks_around())
        .find(|i| {
            all.iter()
                .all(|v| (v & (1 << i) != 0) == verdicts.contains(v))
        })
        .map(|i| parts[i].clone())
}

fn plain_pattern(printer: &Printer<'_>, id: PatternId) -> Option<Re> {
    printer
        .normaliser
        .schema()
        .pattern(id)
        .pattern
        .as_ref()
        .ok()?
        .plain()
        .cloned()
}

/// Returns the demand on a name that is not declared and matches these patterns: [`NONE`] if there
/// must be no such member, or it is no witness.
fn further_conj(
    printer: &mut Printer<'_>,
    objects: &ObjectShape,
    matched: &[PatternId],
    witness: Option<&Witness>,
) -> ConjId {
    let matches = |id: PatternId| matched.contains(&id);
    let mut parts = Vec::new();
    if let Some(witness) = witness {
        let asked = Asked::of_class(&matches, &|_| true);
        if !in_scope(printer.normaliser, &witness.scope, &asked) {
            return NONE;
        }
        parts.push(witness.value);
    }
    for rule in &objects.rules {
        rule_says(
            printer.normaliser,
            rule,
            None,
            &matches,
            |_| None,
            &mut parts,
        );
    }
    printer.normaliser.intern(&parts)
}

/// The names that `propertyNames` admits.
fn name_language(printer: &mut Printer<'_>, objects: &ObjectShape) -> Result<Re, Error> {
    let conj = printer.normaliser.intern(&objects.names);
    let shapes = shapes_of(printer.normaliser, conj, Kind::String)?;
    let limit = printer.normaliser.limit();
    let mut ways = Vec::new();
    for shape in shapes.iter() {
        let Shape::String(strings) = shape else {
            continue;
        };
        let language: Language = string::language(printer.normaliser.schema(), strings, limit)
            .map_err(|e| string::tangled(printer, e))?;
        match language.into_re(limit) {
            Some(re) => ways.push(re),
            None => {
                return Err(Error::new(
                    ErrorKind::Refused,
                    printer.here(),
                    "`propertyNames`: the names need too large an automaton; raise Options::max_automaton_states",
                ));
            }
        }
    }
    Ok(Re::alt(ways))
}
