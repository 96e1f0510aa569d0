//! Strings: one language for all that is said of a string.

use crate::budget::Limit;
use crate::error::{Error, ErrorKind};
use crate::ir::Schema;
use crate::language::product::Product;
use crate::language::re::Re;
use crate::normal::alternative::{At, StringShape};
use crate::regex::Printer;
use crate::regex::bounded_lengths as lengths;
use crate::regex::spell;

/// The decoded values of some strings.
pub(crate) enum Language {
    Re(Re),
    /// All but these.
    NotIn(Vec<String>),
}

impl Language {
    /// As an expression, where something must be done with it.
    pub(crate) fn into_re(self, limit: Limit<'_>) -> Option<Re> {
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
    pub(crate) at: Option<At>,
    pub(crate) reason: String,
}

pub(crate) fn print(
    printer: &mut Printer<'_>,
    strings: &StringShape,
) -> Result<Option<String>, Error> {
    let limit = printer.normaliser.limit();
    let language = match language(&printer.normaliser.schema, strings, limit) {
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
    let Some(cap) = printer.options.caps.max_length else {
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
            printer.narrow("maxLength", crate::regex::capped_length(cap));
            Language::Re(re)
        }
        _ => language,
    }
}

pub(crate) fn tangled(printer: &Printer<'_>, e: TooTangled) -> Error {
    match e.at {
        Some((node, keyword)) => {
            let pointer = &printer.normaliser.schema.node(node).pointer;
            Error::at(ErrorKind::Refused, pointer, keyword, e.reason)
        }
        None => Error::new(ErrorKind::Refused, printer.here(), e.reason),
    }
}

/// The units of work that a pattern or format takes beside its automaton.
const PATTERN: usize = 16;

/// All that is said of a string, as one language.
pub(crate) fn language(
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
    // Each condition on the whole string, and whether it holds or must not.
    let mut parts: Vec<(Re, bool)> = Vec::new();
    let mut at: Option<At> = None;
    let mut named: Vec<&str> = Vec::new();
    let mut exclusions: Vec<Re> = Vec::new();
    let mut formats = s.formats.clone();
    formats.sort_unstable();
    formats.dedup();
    let mut patterns = s.patterns.clone();
    patterns.sort_unstable();
    patterns.dedup();
    for (format, positive) in &formats {
        parts.push((format.re_in_regex(), *positive));
        at = s.at;
        named.push("format");
    }
    for (id, positive) in &patterns {
        let Ok(pattern) = &schema.pattern(*id).pattern else {
            continue;
        };
        at = s.at;
        named.push("pattern");
        match (pattern.plain(), positive) {
            (Some(re), _) => parts.push((re.clone(), *positive)),
            (None, true) => {
                parts.push((pattern.main.clone(), true));
                parts.extend(pattern.looks.iter().cloned());
            }
            (None, false) => {
                // Not all of several conditions: one automaton says it.
                let mut all: Vec<&Re> = vec![&pattern.main];
                all.extend(pattern.looks.iter().map(|(re, _)| re));
                let wanted = pattern
                    .looks
                    .iter()
                    .enumerate()
                    .fold(1u64, |w, (i, (_, yes))| w | u64::from(*yes) << (i + 1));
                let re = Product::new(&all, limit).and_then(|p| p.to_re(|v| v != wanted, limit)).map_err(|_| TooTangled {
                    at,
                    reason: "`pattern`: its complement needs too large an automaton; raise Options::max_automaton_states or rewrite it".to_owned(),
                })?;
                exclusions.push(re);
            }
        }
    }
    parts.extend(exclusions.into_iter().map(|re| (re, true)));
    let bounded = s.min > 0 || s.max.is_some();
    if parts.is_empty() && s.excluded.is_empty() {
        let count = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        return Ok(Language::Re(
            Re::any_char().repeat(count(s.min), s.max.map(count)),
        ));
    }
    if parts.is_empty() && !bounded {
        let excluded = s.excluded.iter().map(|text| text.to_string());
        return Ok(Language::NotIn(excluded.collect()));
    }
    if bounded {
        at = s.length_at.or(at);
        named.push(if s.max.is_some() {
            "maxLength"
        } else {
            "minLength"
        });
    }
    if !s.excluded.is_empty() {
        named.push("excluded values");
        parts.push((Re::alt(s.excluded.iter().map(|t| Re::literal(t))), false));
    }
    if let [(re, true)] = parts.as_slice() {
        if !bounded {
            return Ok(Language::Re(re.clone()));
        }
        if let Some(re) = lengths::bound(re, s.min, s.max) {
            return Ok(Language::Re(re));
        }
    }
    // Where a part by itself keeps the bounds, they need no automaton.
    let implied = parts.iter().any(|(re, positive)| {
        let (lo, hi) = re.length_range();
        *positive && lo >= s.min && s.max.is_none_or(|m| hi.is_some_and(|h| h <= m))
    });
    // A part whose texts keep the bounds once they are worked into it carries
    // them for the others.
    let mut carried = implied || !bounded;
    if !carried {
        for (re, positive) in &mut parts {
            if *positive && let Some(better) = lengths::bound(re, s.min, s.max) {
                *re = better;
                carried = true;
                break;
            }
        }
    }
    if !carried {
        let (Ok(min), Ok(max)) = (u32::try_from(s.min), s.max.map(u32::try_from).transpose())
        else {
            return Err(too_tangled(at, &named));
        };
        parts.push((Re::any_char().repeat(min, max), true));
    }
    let all: Vec<&Re> = parts.iter().map(|(re, _)| re).collect();
    let wanted = parts
        .iter()
        .enumerate()
        .fold(0u64, |w, (i, (_, yes))| w | u64::from(*yes) << i);
    if all.len() > 60 {
        return Err(too_tangled(at, &named));
    }
    let product = Product::new(&all, limit).map_err(|_| too_tangled(at, &named))?;
    // A condition that follows from another changes nothing: the one that is
    // left is printed as it was written, not as an automaton.
    for (i, (re, positive)) in parts.iter().enumerate() {
        if *positive
            && product
                .verdicts()
                .iter()
                .all(|v| (v & (1 << i) != 0) == (*v == wanted))
        {
            return Ok(Language::Re(if product.verdicts().contains(&wanted) {
                re.clone()
            } else {
                Re::Never
            }));
        }
    }
    product
        .to_re(|v| v == wanted, limit)
        .map(Language::Re)
        .map_err(|_| too_tangled(at, &named))
}

fn too_tangled(at: Option<At>, named: &[&str]) -> TooTangled {
    let mut names: Vec<String> = named.iter().map(|n| format!("`{n}`")).collect();
    names.dedup();
    TooTangled {
        at,
        reason: format!(
            "{} together need too large an automaton; say both in one pattern, or raise Options::max_automaton_states",
            names.join(" and ")
        ),
    }
}
