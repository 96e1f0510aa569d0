//! Objects.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use crate::budget::Limit;
use crate::error::{Error, ErrorKind};
use crate::ir::{Name, NodeId, PatternId};
use crate::language::dfa::Matcher;
use crate::language::product::Product;
use crate::language::re::Re;
use crate::normal::alternative::{
    Kind, MemberRule, MembersAt, ObjectShape, Scope, Shape, Source, Witness,
};
use crate::normal::conjunctions::{ANY, ConjId, NONE};
use crate::normal::demands::Asked;
use crate::regex::spell;
use crate::regex::spell::{Place, push_count};
use crate::regex::string;
use crate::regex::string::Language;
use crate::regex::{Printer, Space, alternation};

pub(crate) fn print(
    printer: &mut Printer<'_>,
    conj: ConjId,
    objects: &ObjectShape,
) -> Result<Option<String>, Error> {
    match objects.some.split_last() {
        Some((witness, others)) => {
            let rest = ObjectShape {
                some: others.to_vec(),
                ..objects.clone()
            };
            with_witness(printer, conj, rest, witness)
        }
        None => without_witness(printer, conj, objects),
    }
}

/// Objects in which some member is a witness. The names that the shape mentions are tried
/// one by one; that one of all others is like that is not expressed.
fn with_witness(
    printer: &mut Printer<'_>,
    conj: ConjId,
    rest: ObjectShape,
    witness: &Witness,
) -> Result<Option<String>, Error> {
    let Some(text) = print(printer, conj, &rest)? else {
        return Ok(None);
    };
    let mut names = mentioned(printer, &rest);
    names.extend(names_of_scope(printer, &witness.scope));
    let mut texts: Vec<String> = Vec::new();
    for name in names {
        printer.work(MEMBER)?;
        if !is_in_scope(printer, &witness.scope, &name)? {
            continue;
        }
        let plain = member(printer, &rest, &name)?;
        let more = printer.normaliser.conj(plain).iter().copied();
        let parts: Vec<_> = more.chain([witness.value]).collect();
        let both = printer.normaliser.intern(&parts);
        if both == plain && rest.required.contains(&name) {
            // It is there anyway.
            return Ok(Some(text));
        }
        if both == NONE || printer.value(both)?.is_none() {
            continue;
        }
        let mut found = rest.clone();
        found.required.insert(name.clone());
        found.rules.push(MemberRule::Name(name, witness.value));
        if let Some(text) = print(printer, conj, &found)?
            && !texts.contains(&text)
        {
            texts.push(text);
        }
    }
    if further_may_come(printer, &rest, witness)? {
        let (at, what) = match &witness.scope {
            Scope::Pattern(_) => (witness.at, "the schema of a pattern of names"),
            Scope::Additional(node, _) => (
                (*node, "additionalProperties"),
                "the schema of further properties",
            ),
            Scope::Failing(_) => (witness.at, "a condition on all names"),
            Scope::Unevaluated(_) => (witness.at, "the schema of unevaluated properties"),
        };
        let error = printer.normaliser.not_negated(at, what);
        return Err(printer.normaliser.blamed(conj, error));
    }
    Ok(alternation(texts))
}

/// Whether a member that nobody mentions may be a witness.
fn further_may_come(
    printer: &mut Printer<'_>,
    rest: &ObjectShape,
    witness: &Witness,
) -> Result<bool, Error> {
    if rest.max == Some(rest.required.len() as u64) {
        return Ok(false);
    }
    // Each further name is held against the value, whether it is in scope or not.
    let mut others = rest.clone();
    let all = MemberRule::Unevaluated(Vec::new(), witness.value);
    others.rules.push(all);
    let names: Vec<String> = mentioned(printer, rest)
        .iter()
        .map(|n| n.to_string())
        .collect();
    Ok(further(printer, &others, &names)?.is_some())
}

/// Whether a name lies in the scope of a witness.
fn is_in_scope(printer: &Printer<'_>, scope: &Scope, name: &str) -> Result<bool, Error> {
    let normaliser = &*printer.normaliser;
    let holds = match scope {
        Scope::Failing(names) => normaliser.name_satisfies(&[*names], name)?,
        _ => true,
    };
    let asked = Asked {
        name: Some(name),
        declared: &|(node, atom)| normaliser.members(node, atom).names.get(name),
        matches: &|id| normaliser.name_matches(id, name),
        holds: &|_| holds,
    };
    Ok(normaliser.in_scope(scope, &asked))
}

/// What the value of a member must be: [`NONE`] where there must be no such member.
fn member(printer: &mut Printer<'_>, objects: &ObjectShape, name: &str) -> Result<ConjId, Error> {
    if !printer.normaliser.name_satisfies(&objects.names, name)? {
        return Ok(NONE);
    }
    Ok(printer.normaliser.member_conj_of(objects, name))
}

fn without_witness(
    printer: &mut Printer<'_>,
    conj: ConjId,
    objects: &ObjectShape,
) -> Result<Option<String>, Error> {
    let names = declared(printer, conj, objects)?;
    let few = objects.max == Some(objects.required.len() as u64);
    let mut listed = Vec::new();
    let mut bytes = 0;
    for name in &names {
        let required = objects.required.contains(name.as_str());
        if few && !required {
            continue;
        }
        printer.work(MEMBER)?;
        let member = member(printer, objects, name)?;
        match printer.value(member)? {
            Some(value) => {
                let text = format!("{}{}{value}", printer.quoted(name)?, printer.space.colon);
                bytes += text.len();
                printer.fits(bytes)?;
                listed.push(Listed { text, required });
            }
            None if required => return Ok(None),
            None => {}
        }
    }
    let further = if few {
        None
    } else {
        further(printer, objects, &names)?
    };
    let Space { inside, comma, .. } = &printer.space;
    let sequence = Sequence {
        required_after: required_after(&listed),
        listed: &listed,
        further: further.as_deref(),
        comma,
        limit: printer.options.max_regex_bytes,
        memo: HashMap::new(),
        bytes: 0,
    };
    let body = match sequence.print(objects.min, objects.max) {
        Ok(body) => body,
        Err(Long) => return Err(crate::regex::too_long(&printer.here(), &printer.options)),
    };
    Ok(body.map(|body| match (body.empty, body.some) {
        (_, None) => format!("\\{{{inside}\\}}"),
        (true, Some(text)) => format!("\\{{{inside}(?:{text}{inside})?\\}}"),
        (false, Some(text)) => format!("\\{{{inside}{text}{inside}\\}}"),
    }))
}

/// What a declared member takes beside its value, in units of work.
const MEMBER: usize = 4 * crate::budget::STEP;

/// The most declared members of an object that also counts them: each is a level of the
/// search.
const MAX_COUNTED: usize = 1_000;

/// The `Members` atoms that a shape consists of, and those that say what is evaluated.
fn members_atoms(objects: &ObjectShape) -> Vec<MembersAt> {
    let mut out: Vec<MembersAt> = Vec::new();
    let mut push = |at: MembersAt| {
        if !out.contains(&at) {
            out.push(at);
        }
    };
    for rule in &objects.rules {
        match rule {
            MemberRule::Members { node, atom, .. } => push((*node, *atom)),
            MemberRule::Name(..) => {}
            MemberRule::Unevaluated(sources, _) => {
                for source in sources {
                    if let Source::Members(node, atom) = source {
                        push((*node, *atom));
                    }
                }
            }
        }
    }
    out
}

/// The names that a shape says anything of.
fn mentioned(printer: &Printer<'_>, objects: &ObjectShape) -> BTreeSet<Name> {
    let mut wanted: BTreeSet<Name> = BTreeSet::new();
    for (node, atom) in members_atoms(objects) {
        let members = printer.normaliser.members(node, atom);
        wanted.extend(members.names.order().cloned());
    }
    wanted.extend(objects.required.iter().cloned());
    wanted.extend(objects.forbidden.iter().cloned());
    let of_rules = objects.rules.iter().filter_map(|rule| match rule {
        MemberRule::Name(name, _) => Some(name.clone()),
        _ => None,
    });
    wanted.extend(of_rules);
    wanted
}

/// The names that the scope of a witness says anything of.
fn names_of_scope(printer: &Printer<'_>, scope: &Scope) -> Vec<Name> {
    let names = |node: NodeId, atom: u16| {
        let members = printer.normaliser.members(node, atom);
        members.names.order().cloned()
    };
    match scope {
        Scope::Additional(node, atom) => names(*node, *atom).collect(),
        Scope::Unevaluated(sources) => {
            let sources = sources.iter().filter_map(|source| match source {
                Source::Members(node, atom) => Some(names(*node, *atom)),
                Source::All => None,
            });
            sources.flatten().collect()
        }
        Scope::Pattern(_) | Scope::Failing(_) => Vec::new(),
    }
}

/// The names that are said anywhere, in the order in which members stand: those
/// of `properties` that apply, in order of appearance in the location, then those of
/// others (which are there as complements), then the rest.
fn declared(
    printer: &Printer<'_>,
    conj: ConjId,
    objects: &ObjectShape,
) -> Result<Vec<String>, Error> {
    let wanted = mentioned(printer, objects);
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let (walk, others) = printer.normaliser.walk(conj);
    let own: HashSet<MembersAt> = objects
        .rules
        .iter()
        .filter_map(|rule| match rule {
            MemberRule::Members { node, atom, .. } => Some((*node, *atom)),
            _ => None,
        })
        .collect();
    let names = |at: &MembersAt| printer.normaliser.members(at.0, at.1).names.order();
    // Names of all that stands beside this object are looked through.
    let count: usize = walk.iter().map(|at| names(at).len()).sum();
    printer.work(2 * (count + others.len()))?;
    let all = walk
        .iter()
        .filter(|at| own.contains(at))
        .chain(&walk)
        .flat_map(names)
        .chain(&others);
    // Values that are listed have locations that no walk meets.
    let synthetic = objects.rules.iter().filter_map(|rule| match rule {
        MemberRule::Members { node, atom, .. } => Some((*node, *atom)),
        _ => None,
    });
    let synthetic: Vec<MembersAt> = synthetic.filter(|at| !walk.contains(at)).collect();
    let all = all.chain(synthetic.iter().flat_map(names)).chain(&wanted);
    let mut out = Vec::new();
    let mut taken: HashSet<&str> = HashSet::new();
    for name in all {
        if wanted.contains(name) && taken.insert(name) {
            out.push(name.to_string());
        }
    }
    Ok(out)
}

/// One member that no name declares: the texts of its name and value together.
fn further(
    printer: &mut Printer<'_>,
    objects: &ObjectShape,
    names: &[String],
) -> Result<Option<Rc<str>>, Error> {
    let mut patterns: Vec<PatternId> = Vec::new();
    for (node, atom) in members_atoms(objects) {
        for (id, _) in &printer.normaliser.members(node, atom).patterns {
            if !patterns.contains(id) {
                patterns.push(*id);
            }
        }
    }
    let colon = printer.space.colon.clone();
    if patterns.is_empty() && objects.names.is_empty() {
        let conj = further_conj(printer, objects, &[]);
        // Members that the schema admits without a word have one level less.
        let unsaid = !names.is_empty()
            && members_atoms(objects)
                .iter()
                .all(|(node, atom)| !printer.normaliser.members(*node, *atom).additional_said);
        let value = if conj == ANY && unsaid {
            Some(printer.any_value_less(1)?)
        } else {
            printer.value(conj)?
        };
        let Some(value) = value else { return Ok(None) };
        let name = printer.name_not_in(names)?;
        return printer.checked(format!("{name}{colon}{value}")).map(Some);
    }
    // Nothing may be left at all: then the patterns need no automaton.
    let allowed_names = if objects.names.is_empty() {
        None
    } else {
        Some(name_language(printer, objects)?)
    };
    if allowed_names == Some(Re::Never) {
        return Ok(None);
    }
    let plain: Option<Vec<Re>> = patterns
        .iter()
        .map(|id| plain_pattern(printer, *id))
        .collect();
    // A single pattern and nothing else admitted: the pattern as it was
    // written.
    if let (Some([re]), [id], None) = (plain.as_deref(), patterns.as_slice(), &allowed_names)
        && let others = further_conj(printer, objects, &[])
        && printer.value(others)?.is_none()
        && !names
            .iter()
            .any(|n| printer.normaliser.name_matches(*id, n))
    {
        let conj = further_conj(printer, objects, &[*id]);
        let Some(value) = printer.value(conj)? else {
            return Ok(None);
        };
        let name = spell::print(re, Place::InString(printer.options.escapes));
        return printer
            .checked(format!("\"{name}\"{colon}{value}"))
            .map(Some);
    }
    // One condition on names, and nothing else.
    if let (Some(re), true) = (&allowed_names, patterns.is_empty())
        && let matcher = Matcher::new(re).ok()
        && !names
            .iter()
            .any(|n| matcher.as_ref().is_none_or(|m| m.matches(n)))
    {
        let conj = further_conj(printer, objects, &[]);
        let Some(value) = printer.value(conj)? else {
            return Ok(None);
        };
        let name = spell::print(re, Place::InString(printer.options.escapes));
        return printer
            .checked(format!("\"{name}\"{colon}{value}"))
            .map(Some);
    }
    let mut parts: Vec<Re> = Vec::new();
    // For each pattern the bits that must be set and those that must not.
    let mut bits: Vec<(u64, u64)> = Vec::new();
    let refuse = |printer: &Printer<'_>| {
        let keyword = if patterns.is_empty() {
            "propertyNames"
        } else {
            "patternProperties"
        };
        let at = members_atoms(objects).into_iter().find(|(node, atom)| {
            let members = printer.normaliser.members(*node, *atom);
            !members.patterns.is_empty()
        });
        let reason = format!(
            "`{keyword}`: telling the names apart needs too large an automaton; use fewer or simpler patterns, or raise Options::max_automaton_states"
        );
        match at {
            Some((node, _)) => {
                let pointer = &printer.normaliser.schema.node(node).pointer;
                Error::at(ErrorKind::Refused, pointer, keyword, reason)
            }
            None => Error::new(ErrorKind::Refused, printer.here(), reason),
        }
    };
    for id in &patterns {
        let Ok(pattern) = &printer.normaliser.schema.pattern(*id).pattern else {
            continue;
        };
        let (mut yes, mut no) = (0u64, 0u64);
        for (re, positive) in
            std::iter::once((&pattern.main, true)).chain(pattern.looks.iter().map(|(r, p)| (r, *p)))
        {
            if parts.len() >= 60 {
                return Err(refuse(printer));
            }
            let bit = 1 << parts.len();
            if positive {
                yes |= bit;
            } else {
                no |= bit;
            }
            parts.push(re.clone());
        }
        bits.push((yes, no));
    }
    let names_bit = match allowed_names {
        Some(re) => {
            parts.push(re);
            1u64 << (parts.len() - 1)
        }
        None => 0,
    };
    let declared_bit = if names.is_empty() {
        0
    } else {
        parts.push(Re::alt(names.iter().map(|n| Re::literal(n))));
        1u64 << (parts.len() - 1)
    };
    let all: Vec<&Re> = parts.iter().collect();
    let budget = printer.normaliser.budget.clone();
    let limit = Limit::new(printer.options.max_automaton_states, &budget);
    let product = Product::new(&all, limit).map_err(|_| refuse(printer))?;
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
        let conj = further_conj(printer, objects, &matched);
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
                    .map_err(|_| refuse(printer))?,
            };
            if re == Re::Never {
                continue;
            }
            format!(
                "\"{}\"",
                spell::print(&re, Place::InString(printer.options.escapes))
            )
        };
        ways.push(format!("{name}{colon}{value}"));
    }
    match ways.len() {
        0 => Ok(None),
        1 => printer.checked(ways.swap_remove(0)).map(Some),
        _ => printer.checked(format!("(?:{})", ways.join("|"))).map(Some),
    }
}

/// A part that is the whole group, printed as it was written.
fn as_written(product: &Product, verdicts: &[u64], parts: &[Re]) -> Option<Re> {
    let all = product.verdicts();
    (0..parts.len())
        .find(|i| {
            all.iter()
                .all(|v| (v & (1 << i) != 0) == verdicts.contains(v))
        })
        .map(|i| parts[i].clone())
}

fn plain_pattern(printer: &Printer<'_>, id: PatternId) -> Option<Re> {
    printer
        .normaliser
        .schema
        .pattern(id)
        .pattern
        .as_ref()
        .ok()?
        .plain()
        .cloned()
}

/// What applies to a name that is not declared and matches these patterns.
fn further_conj(printer: &mut Printer<'_>, objects: &ObjectShape, matched: &[PatternId]) -> ConjId {
    let mut parts = Vec::new();
    for rule in &objects.rules {
        let matches = |id: PatternId| matched.contains(&id);
        printer
            .normaliser
            .rule_says(rule, None, &matches, |_| None, &mut parts);
    }
    printer.normaliser.intern(&parts)
}

/// The names that `propertyNames` admits.
fn name_language(printer: &mut Printer<'_>, objects: &ObjectShape) -> Result<Re, Error> {
    let conj = printer.normaliser.intern(&objects.names);
    let shapes = printer.normaliser.shapes_of(conj, Kind::String)?;
    let limit = printer.normaliser.limit();
    let mut ways = Vec::new();
    for shape in shapes.iter() {
        let Shape::String(strings) = shape else {
            continue;
        };
        let language: Language = string::language(&printer.normaliser.schema, strings, limit)
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

/// A declared member: its name, the colon and its value.
struct Listed {
    text: String,
    required: bool,
}

fn required_after(listed: &[Listed]) -> Vec<u64> {
    let mut out = vec![0; listed.len() + 1];
    for (i, member) in listed.iter().enumerate().rev() {
        out[i] = out[i + 1] + u64::from(member.required);
    }
    out
}

struct Body {
    /// Whether there may be no member.
    empty: bool,
    /// The texts with some member.
    some: Option<String>,
}

/// The text would be too long.
struct Long;

type Counted = HashMap<(usize, bool, u64, Option<u64>), Option<String>>;

/// Members in order: listed ones, each at most once, then further ones.
struct Sequence<'a> {
    listed: &'a [Listed],
    required_after: Vec<u64>,
    further: Option<&'a str>,
    comma: &'a str,
    limit: usize,
    /// How long all texts are together that were made on the way.
    bytes: usize,
    memo: Counted,
}

impl Sequence<'_> {
    /// `None` where the bounds on the count cannot be met.
    fn print(mut self, min: u64, max: Option<u64>) -> Result<Option<Body>, Long> {
        let required = self.required_after[0];
        let possible = if self.further.is_some() {
            None
        } else {
            Some(self.listed.len() as u64)
        };
        if max.is_some_and(|m| m < required.max(min)) || possible.is_some_and(|p| p < min) {
            return Ok(None);
        }
        if max == Some(0) || possible == Some(0) {
            return Ok(Some(Body {
                empty: true,
                some: None,
            }));
        }
        let empty = min == 0 && required == 0;
        let some = self.counted(0, false, min.max(1), max)?;
        Ok(match (&some, empty) {
            (None, false) => None,
            _ => Some(Body { empty, some }),
        })
    }

    /// Members from the `i`th on, `min..=max` of them; where `started`, each
    /// has a comma before it, elsewhere the first has none.
    fn counted(
        &mut self,
        i: usize,
        started: bool,
        min: u64,
        max: Option<u64>,
    ) -> Result<Option<String>, Long> {
        let required = self.required_after[i];
        let left = (self.listed.len() - i) as u64;
        let mut min = min.max(required);
        let mut max = max;
        if self.further.is_none() {
            if max.is_none_or(|m| m >= left) {
                max = None;
            }
            if min > left {
                return Ok(None);
            }
        }
        if max.is_some_and(|m| m < min) {
            return Ok(None);
        }
        if required > 0 && min == required {
            min = 0;
        }
        if max.is_none() && min == 0 && (started || required > 0) {
            return Ok(Some(self.free(i, started)));
        }
        if max.is_none() && min == 1 && required == 0 {
            let lead = if started { self.comma } else { "" };
            return Ok(self
                .nonempty(&self.elements(i))
                .map(|text| format!("{lead}{text}")));
        }
        if i == self.listed.len() {
            return Ok(self.tail(started, min, max));
        }
        if max == Some(0) {
            return Ok((required == 0).then(String::new));
        }
        let key = (i, started, min, max);
        if let Some(known) = self.memo.get(&key) {
            return Ok(known.clone());
        }
        if self.listed.len() > MAX_COUNTED {
            return Err(Long);
        }
        let (fewer_min, fewer_max) = (min.saturating_sub(1), max.map(|m| m - 1));
        let with = self
            .counted(i + 1, true, fewer_min, fewer_max)?
            .map(|rest| {
                let lead = if started { self.comma } else { "" };
                format!("{lead}{}{rest}", self.listed[i].text)
            });
        // It is there while the other way is looked at, which may be a long one.
        let first = with.as_ref().map_or(0, String::len);
        self.made(first)?;
        let without = if self.listed[i].required {
            None
        } else {
            self.counted(i + 1, started, min, max)?
        };
        let text = match (with, without) {
            (Some(a), Some(b)) if b.is_empty() => Some(format!("(?:{a})?")),
            (Some(a), Some(b)) => Some(format!("(?:{a}|{b})")),
            (a, b) => a.or(b),
        };
        let all = text.as_ref().map_or(0, String::len);
        self.made(all.saturating_sub(first))?;
        if self.memo.len() > 20_000 {
            return Err(Long);
        }
        self.memo.insert(key, text.clone());
        Ok(text)
    }

    /// Counts bytes of texts that are made on the way.
    fn made(&mut self, bytes: usize) -> Result<(), Long> {
        self.bytes += bytes;
        match self.bytes > self.limit.saturating_mul(2) {
            true => Err(Long),
            false => Ok(()),
        }
    }

    /// Further members alone.
    fn tail(&self, started: bool, min: u64, max: Option<u64>) -> Option<String> {
        let count = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let Some(further) = self.further else {
            return (min == 0).then(String::new);
        };
        let more = format!("(?:{}{further})", self.comma);
        if max == Some(0) {
            return Some(String::new());
        }
        if started {
            let mut out = more;
            push_count(&mut out, count(min), max.map(count));
            return Some(out);
        }
        let mut out = further.to_owned();
        if max != Some(1) {
            out.push_str(&more);
            push_count(
                &mut out,
                count(min.saturating_sub(1)),
                max.map(|m| count(m - 1)),
            );
        }
        Some(if min == 0 { format!("(?:{out})?") } else { out })
    }

    /// Members from the `i`th on without bounds on their count. Where nothing
    /// is before them, one is required.
    fn free(&self, i: usize, started: bool) -> String {
        let mut out = String::new();
        let mut started = started;
        for member in &self.listed[i..] {
            let text = &member.text;
            let comma = self.comma;
            match (started, member.required) {
                (true, true) => out.push_str(&format!("{comma}{text}")),
                (true, false) => out.push_str(&format!("(?:{comma}{text})?")),
                (false, true) => {
                    out.push_str(text);
                    started = true;
                }
                (false, false) => out.push_str(&format!("(?:{text}{comma})?")),
            }
        }
        if let Some(further) = self.further {
            out.push_str(&format!("(?:{}{further})*", self.comma));
        }
        out
    }

    fn elements(&self, i: usize) -> Vec<(&str, bool)> {
        let listed = self.listed[i..].iter().map(|m| (m.text.as_str(), false));
        listed.chain(self.further.map(|f| (f, true))).collect()
    }

    /// At least one of several optional members, in order. Either one of the
    /// first half and then any of the second, or one of the second: an element
    /// is written O(log n) times, where listing the ways to begin writes it n
    /// times.
    fn nonempty(&self, elements: &[(&str, bool)]) -> Option<String> {
        let comma = self.comma;
        match elements {
            [] => None,
            [(text, false)] => Some((*text).to_owned()),
            [(text, true)] => Some(format!("{text}(?:{comma}{text})*")),
            _ => {
                let total: usize = elements.iter().map(|(t, _)| t.len()).sum();
                let mut before = 0;
                let mut middle = 1;
                for (i, (text, _)) in elements.iter().enumerate() {
                    before += text.len();
                    if before * 2 >= total {
                        middle = i.clamp(1, elements.len() - 1);
                        break;
                    }
                }
                let (first, second) = elements.split_at(middle);
                let mut rest = String::new();
                for (text, many) in second {
                    let mark = if *many { '*' } else { '?' };
                    rest.push_str(&format!("(?:{comma}{text}){mark}"));
                }
                let head = self.nonempty(first)?;
                let tail = self.nonempty(second)?;
                Some(format!("(?:{head}{rest}|{tail})"))
            }
        }
    }
}
