//! Length bounds worked into an expression without building an automaton:
//! for example, `[a-z]+` of at most 5 characters is `[a-z]{1,5}`.

use schema_normal::language::re::Re;

/// The texts of `re` with `min..=max` characters, or `None` where that takes an
/// automaton. Exact.
pub(super) fn bound(re: &Re, min: u64, max: Option<u64>) -> Option<Re> {
    let (lo, hi) = re.length_range();
    if *re == Re::Never || hi.is_some_and(|h| h < min) || max.is_some_and(|m| m < lo) {
        return Some(Re::Never);
    }
    if lo >= min && max.is_none_or(|m| hi.is_some_and(|h| h <= m)) {
        return Some(re.clone());
    }
    if re.looks_around() {
        return None;
    }
    match re {
        Re::Never | Re::Empty | Re::Class(_) | Re::Look(..) => None,
        Re::Alt(parts) => {
            let parts: Option<Vec<Re>> = parts.iter().map(|p| bound(p, min, max)).collect();
            parts.map(Re::alt)
        }
        Re::Concat(parts) => bound_concat(parts, min, max),
        Re::Repeat(inner, a, b) => bound_repeat(inner, *a, *b, min, max),
    }
}

fn bound_concat(parts: &[Re], min: u64, max: Option<u64>) -> Option<Re> {
    let merged = merge_loops(parts);
    let mut fixed = 0u64;
    let mut variable = None;
    for (i, part) in merged.iter().enumerate() {
        match part.length_range() {
            (a, Some(b)) if a == b => fixed = fixed.checked_add(a)?,
            _ if variable.is_none() => variable = Some(i),
            _ => return None,
        }
    }
    let at = variable?;
    if max.is_some_and(|m| m < fixed) {
        return Some(Re::Never);
    }
    let part = bound(
        &merged[at],
        min.saturating_sub(fixed),
        max.map(|m| m - fixed),
    )?;
    let mut out = merged;
    out[at] = part;
    Some(Re::concat(out))
}

/// `xx*` and `x*x{2,}` become one loop, so that they count as one variable part.
fn merge_loops(parts: &[Re]) -> Vec<Re> {
    let mut out: Vec<Re> = Vec::new();
    for part in parts {
        let (inner, a, b) = match part {
            Re::Repeat(inner, a, b) => (inner.as_ref(), *a, *b),
            other => (other, 1, Some(1)),
        };
        if let Some(last) = out.last_mut() {
            let (last_inner, c, d) = match &*last {
                Re::Repeat(inner, c, d) => (inner.as_ref(), *c, *d),
                other => (other, 1, Some(1)),
            };
            // Counts add up exactly where one part is a single character:
            // `{a,b}{c,d}` is `{a+c,b+d}`.
            if last_inner == inner
                && let Some(min) = a.checked_add(c)
            {
                let max = match (b, d) {
                    (Some(b), Some(d)) => b.checked_add(d),
                    _ => None,
                };
                if max.is_some() || b.is_none() || d.is_none() {
                    *last = inner.clone().repeat(min, max);
                    continue;
                }
            }
        }
        out.push(part.clone());
    }
    out
}

fn bound_repeat(inner: &Re, a: u32, b: Option<u32>, min: u64, max: Option<u64>) -> Option<Re> {
    // Only where each turn has the same length does a count fix a length.
    let (k, Some(same)) = inner.length_range() else {
        return bound_optional(inner, a, b, min, max);
    };
    if k != same || k == 0 {
        return bound_optional(inner, a, b, min, max);
    }
    let least = u64::from(a).max(min.div_ceil(k));
    let most = match (b.map(u64::from), max.map(|m| m / k)) {
        (Some(x), Some(y)) => Some(x.min(y)),
        (x, y) => x.or(y),
    };
    let least = u32::try_from(least).ok()?;
    let most = match most {
        Some(m) => Some(u32::try_from(m).ok()?),
        None => None,
    };
    Some(inner.clone().repeat(least, most))
}

/// `(?:x)?` is the empty text or `x`.
fn bound_optional(inner: &Re, a: u32, b: Option<u32>, min: u64, max: Option<u64>) -> Option<Re> {
    if (a, b) != (0, Some(1)) {
        return None;
    }
    let inner = bound(inner, min, max)?;
    Some(if min == 0 { inner.optional() } else { inner })
}
