//! Expressions that count characters, as looser ones beside bounds on the length.
//!
//! For example `[a-z].{7,63}` is `[a-z].*` of 8 to 64 characters. A bound on the length is a
//! counter beside an automaton, which would have to tell each number from the others.

use schema_normal::language::re::Re;

/// An expression, of whose texts those of some lengths are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    /// The expression that does not count.
    pub(super) re: Re,
    /// The least length, in characters.
    pub(super) min: u64,
    /// The greatest length, if there is a bound.
    pub(super) max: Option<u64>,
}

/// The most optional parts that are written out: two, because each doubles the alternatives.
const MAX_OPTIONAL: usize = 2;

/// The texts of an expression as those of any of some that do not count; `None` where it
/// does not count, or not in one place alone. Exact.
pub(super) fn counted(re: &Re) -> Option<Vec<Counted>> {
    let parts = match re {
        Re::Concat(parts) => &parts[..],
        other => std::slice::from_ref(other),
    };
    let is_optional = |part: &&Re| matches!(part, Re::Repeat(_, 0, Some(1)));
    if parts.iter().filter(is_optional).count() > MAX_OPTIONAL {
        return None;
    }
    let mut all: Vec<Vec<Re>> = vec![Vec::new()];
    for part in parts {
        match part {
            Re::Repeat(inner, 0, Some(1)) => {
                let with = all.iter().map(|before| {
                    let mut with = before.clone();
                    with.push(inner.as_ref().clone());
                    with
                });
                let with: Vec<Vec<Re>> = with.collect();
                all.extend(with);
            }
            part => all.iter_mut().for_each(|before| before.push(part.clone())),
        }
    }
    all.into_iter().map(loosened).collect()
}

/// Parts of which one is repeated a number of times, and the others have one length each:
/// the length says how often.
fn loosened(mut parts: Vec<Re>) -> Option<Counted> {
    let mut fixed = 0u64;
    let mut counts = None;
    for part in &mut parts {
        let length = |re: &Re| match re.length_range() {
            (least, Some(most)) if least == most => Some(least),
            _ => None,
        };
        if let Some(length) = length(part) {
            fixed = fixed.checked_add(length)?;
            continue;
        }
        let Re::Repeat(inner, min, max) = part else {
            return None;
        };
        let length = length(inner).filter(|length| *length > 0)?;
        if counts.is_some() {
            return None;
        }
        counts = Some((
            length.checked_mul(u64::from(*min))?,
            max.map(|max| length.saturating_mul(u64::from(max))),
        ));
        *part = inner.as_ref().clone().repeat(0, None);
    }
    let (min, max) = counts?;
    Some(Counted {
        re: Re::concat(parts),
        min: min.checked_add(fixed)?,
        max: max.map(|max| max.saturating_add(fixed)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema_normal::ir::PatternId;
    use schema_normal::language::char_dfa::automata::Matcher;

    /// The texts that a pattern matches as a whole.
    fn whole(source: &str) -> Re {
        let pattern = serde_json::json!({"pattern": format!("^(?:{source})$")});
        let schema = crate::parse(&pattern).unwrap().read;
        let pattern = schema.pattern(PatternId(0)).pattern.as_ref().unwrap();
        pattern.conditions()[0].0.clone()
    }

    fn matches(re: &Re, text: &str) -> bool {
        Matcher::new(re).unwrap().matches(text)
    }

    #[test]
    fn texts_stay_the_same() {
        let mut texts = vec![String::new()];
        for at in 0..121 {
            texts.extend(["a", "b", "."].map(|c| format!("{}{c}", texts[at])));
        }
        for (source, is_counted) in [
            ("a{1,3}", true),
            ("a{2}b{0,2}a", true),
            (r"[ab]{1,3}\.?", true),
            (r"b?[ab]{2,}\.?", true),
            ("(?:ab){1,2}a", true),
            ("(?=b)[ab]{1,2}(?!b)a?", true),
            ("a{1,2}b{1,2}", false),
            ("(?:a|bb){1,2}", false),
            ("ab", false),
            ("a?b?a?", false),
        ] {
            let re = whole(source);
            let counted = counted(&re);
            assert_eq!(counted.is_some(), is_counted, "{source}");
            for (text, counted) in texts
                .iter()
                .flat_map(|t| counted.iter().map(move |c| (t, c)))
            {
                let length = text.len() as u64;
                let is_any = counted.iter().any(|c| {
                    let fits = c.min <= length && c.max.is_none_or(|max| length <= max);
                    fits && matches(&c.re, text)
                });
                assert_eq!(is_any, matches(&re, text), "{source} {text}");
            }
        }
    }
}
