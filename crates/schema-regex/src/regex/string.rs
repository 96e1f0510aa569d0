//! Strings: one language for all that is said of a string.
//!
//! For example, `{"pattern": "^a", "maxLength": 2}` is `a`, perhaps with a character behind it.

use schema_normal::budget::{Limit, TooBig};
use schema_normal::decimal::clamped;
use schema_normal::ir::Schema;
use schema_normal::language::char_dfa::product::{Part, Product};
use schema_normal::language::pattern::Pattern;
use schema_normal::language::re::Re;
use schema_normal::normal::alternative::{At, StringShape, each_once};
use schema_normal::options::Target;
use schema_normal::{Error, ErrorKind};

use crate::regex::{Capped, Printer, bounded_lengths as lengths, spell};

/// The decoded values of some strings.
pub(crate) enum Language {
    Re(Re),
    /// All but these.
    NotIn(Vec<String>),
}

impl Language {
    /// As an expression, where something must be done with it.
    pub(super) fn into_re(self, limit: Limit<'_>) -> Option<Re> {
        match self {
            Language::Re(re) => Some(re),
            Language::NotIn(names) => {
                let listed = Re::alt(names.iter().map(|n| Re::literal(n)));
                Product::new(&[&listed], limit)
                    .and_then(|p| p.to_re(|v| v == 0, limit))
                    .ok()
            }
        }
    }
}

/// Why a string language cannot be said: the place, and the keywords that do
/// not meet.
pub(crate) struct TooTangled {
    at: Option<At>,
    reason: String,
}

pub(super) fn print(
    printer: &mut Printer<'_>,
    strings: &StringShape,
) -> Result<Option<String>, Error> {
    let limit = printer.normaliser.limit();
    let language = match language(printer.normaliser.schema(), strings, limit) {
        Ok(language) => capped(printer, strings, language),
        Err(e) => return Err(tangled(printer, e)),
    };
    match language {
        Language::Re(Re::Never) => Ok(None),
        Language::Re(re) => Ok(Some(printer.string_of(&re))),
        Language::NotIn(names) => printer
            .name_not_in(&names)
            .map(|text| Some(text.to_string())),
    }
}

/// The language with the cap on lengths, where it has no bound of its own and
/// something is left.
fn capped(printer: &mut Printer<'_>, s: &StringShape, language: Language) -> Language {
    let Some(cap) = printer.options.caps.length else {
        return language;
    };
    let bounded = s.max.is_some() || s.allowed.is_some();
    if bounded || matches!(&language, Language::Re(re) if re.length_range().1.is_some()) {
        return language;
    }
    let limit = printer.normaliser.limit();
    let copy = match &language {
        Language::Re(re) => Language::Re(re.clone()),
        Language::NotIn(names) => Language::NotIn(names.clone()),
    };
    let Some(re) = copy.into_re(limit) else {
        return language;
    };
    let cap = cap.max(s.min).max(re.length_range().0);
    let bounded = lengths::bound(&re, 0, Some(cap)).or_else(|| {
        let short = Re::any_char().repeat(0, Some(u32::try_from(cap).ok()?));
        let product = Product::new(&[&re, &short], limit).ok()?;
        product.to_re(|v| v == 3, limit).ok()
    });
    match bounded {
        Some(re) if re != Re::Never => {
            printer.narrow("maxLength", Capped::Length(cap));
            Language::Re(re)
        }
        _ => language,
    }
}

pub(super) fn tangled(printer: &Printer<'_>, e: TooTangled) -> Error {
    match e.at {
        Some((node, keyword)) => {
            let pointer = &printer.normaliser.schema().node(node).pointer;
            Error::at(ErrorKind::Refused, pointer, keyword, e.reason)
        }
        None => Error::new(ErrorKind::Refused, printer.here(), e.reason),
    }
}

/// The units of work that a pattern or format takes beside its automaton, because its expression is
/// copied and looked through.
const PATTERN: usize = 16;

/// All that is said of a string, as one language.
pub(super) fn language(
    schema: &Schema,
    s: &StringShape,
    limit: Limit<'_>,
) -> Result<Language, TooTangled> {
    // Whoever set the limit says that it is spent.
    let pay = |units| {
        limit.charge(units).map_err(|_| TooTangled {
            at: None,
            reason: String::new(),
        })
    };
    if let Some(allowed) = &s.allowed {
        pay(allowed.iter().map(|text| spell::cost(text)).sum())?;
        return Ok(Language::Re(Re::alt(
            allowed.iter().map(|text| Re::literal(text)),
        )));
    }
    // Each pattern is copied, and looked through more than once.
    pay(PATTERN * (s.formats.len() + s.patterns.len()))?;
    let mut all = Conditions::of(schema, s, limit)?;
    let bounded = s.min > 0 || s.max.is_some();
    if all.parts.is_empty() && s.excluded.is_empty() {
        let re = Re::any_char().repeat(clamped(s.min), s.max.map(clamped));
        return Ok(Language::Re(re));
    }
    if all.parts.is_empty() && !bounded {
        let excluded = s.excluded.iter().map(|text| text.to_string());
        return Ok(Language::NotIn(excluded.collect()));
    }
    if bounded {
        all.at = s.length_at.or(all.at);
        all.named.push(match s.max {
            Some(_) => "maxLength",
            None => "minLength",
        });
    }
    if !s.excluded.is_empty() {
        all.named.push("excluded values");
        let excluded = Re::alt(s.excluded.iter().map(|t| Re::literal(t)));
        all.parts.push((excluded, false));
    }
    if let [(re, true)] = all.parts.as_slice()
        && !re.looks_around()
    {
        if !bounded {
            return Ok(Language::Re(re.clone()));
        }
        if let Some(re) = lengths::bound(re, s.min, s.max) {
            return Ok(Language::Re(re));
        }
    }
    all.bound(s)?;
    all.met(limit).map(Language::Re)
}

/// Conditions on a whole string, and the keywords that say them.
struct Conditions {
    /// Each, and whether it holds or must not.
    parts: Vec<(Re, bool)>,
    at: Option<At>,
    named: Vec<&'static str>,
}

impl Conditions {
    /// Returns the demands of formats and patterns.
    fn of(schema: &Schema, s: &StringShape, limit: Limit<'_>) -> Result<Conditions, TooTangled> {
        let mut all = Conditions {
            parts: Vec::new(),
            at: None,
            named: Vec::new(),
        };
        for (format, positive) in &each_once(&s.formats) {
            all.parts.push((format.re(Target::Expression), *positive));
            all.at = s.at;
            all.named.push("format");
        }
        let mut exclusions: Vec<Re> = Vec::new();
        for (id, positive) in &each_once(&s.patterns) {
            let Ok(pattern) = &schema.pattern(*id).pattern else {
                continue;
            };
            all.at = s.at;
            all.named.push("pattern");
            match (pattern.plain(), positive) {
                (Some(re), _) => all.parts.push((re.clone(), *positive)),
                (None, true) => all.parts.extend_from_slice(pattern.conditions()),
                (None, false) => exclusions.push(complement(pattern, limit).map_err(|_| {
                    TooTangled {
                        at: all.at,
                        reason: "`pattern`: its complement needs too large an automaton; raise Options::max_automaton_states or rewrite it".to_owned(),
                    }
                })?),
            }
        }
        all.parts
            .extend(exclusions.into_iter().map(|re| (re, true)));
        Ok(all)
    }

    /// Has the bounds on lengths hold.
    fn bound(&mut self, s: &StringShape) -> Result<(), TooTangled> {
        if s.min == 0 && s.max.is_none() {
            return Ok(());
        }
        // If a part by itself keeps the bounds, they need no automaton.
        let is_implied = self.parts.iter().any(|(re, positive)| {
            let (lo, hi) = re.length_range();
            *positive && lo >= s.min && s.max.is_none_or(|m| hi.is_some_and(|h| h <= m))
        });
        if is_implied {
            return Ok(());
        }
        // A part whose texts keep the bounds once they are worked into it carries
        // them for the others.
        for (re, positive) in &mut self.parts {
            if *positive && let Some(better) = lengths::bound(re, s.min, s.max) {
                *re = better;
                return Ok(());
            }
        }
        let (Ok(min), Ok(max)) = (u32::try_from(s.min), s.max.map(u32::try_from).transpose())
        else {
            return Err(self.too_tangled());
        };
        self.parts.push((Re::any_char().repeat(min, max), true));
        Ok(())
    }

    /// The strings that meet all of them.
    fn met(&self, limit: Limit<'_>) -> Result<Re, TooTangled> {
        let all: Vec<&Re> = self.parts.iter().map(|(re, _)| re).collect();
        if all.len() > 60 {
            return Err(self.too_tangled());
        }
        let wanted = verdict(self.parts.iter().map(|(_, yes)| *yes));
        let Ok(product) = Product::new(&all, limit) else {
            return self.meeting(limit).map_err(|_| self.too_tangled());
        };
        let verdicts = product.verdicts();
        // A condition that follows from another changes nothing: the one that is
        // left is printed as it was written, not as an automaton.
        for (i, (re, positive)) in self.parts.iter().enumerate() {
            let decides = |v: &u64| (v & (1 << i) != 0) == (*v == wanted);
            if *positive && !re.looks_around() && verdicts.iter().all(decides) {
                return Ok(match verdicts.contains(&wanted) {
                    true => re.clone(),
                    false => Re::Never,
                });
            }
        }
        let met = product.to_re(|v| v == wanted, limit);
        met.map_err(|_| self.too_tangled())
    }

    /// The same where what else the strings may be is too much to be known.
    fn meeting(&self, limit: Limit<'_>) -> Result<Re, TooBig> {
        let parts = self.parts.iter().map(|(re, _)| Part::new(re, limit));
        let parts: Vec<Part> = parts.collect::<Result<_, _>>()?;
        let wanted = parts.iter().zip(&self.parts).map(|(p, (_, yes))| (p, *yes));
        Part::meeting(wanted.collect(), limit)?.to_re(limit)
    }

    fn too_tangled(&self) -> TooTangled {
        let mut names: Vec<String> = self.named.iter().map(|n| format!("`{n}`")).collect();
        names.dedup();
        TooTangled {
            at: self.at,
            reason: format!(
                "{} together need too large an automaton; say both in one pattern, or raise Options::max_automaton_states",
                names.join(" and ")
            ),
        }
    }
}

/// The strings of which not all conditions of a pattern hold: one automaton says it.
fn complement(pattern: &Pattern, limit: Limit<'_>) -> Result<Re, TooBig> {
    let conditions = pattern.conditions().iter();
    let all: Vec<&Re> = conditions.clone().map(|(re, _)| re).collect();
    let wanted = verdict(conditions.map(|(_, yes)| *yes));
    Product::new(&all, limit)?.to_re(|v| v != wanted, limit)
}

/// The verdict of conditions that are each as they should be.
fn verdict(wanted: impl Iterator<Item = bool>) -> u64 {
    let bits = wanted.enumerate();
    bits.fold(0, |all, (i, yes)| all | u64::from(yes) << i)
}
