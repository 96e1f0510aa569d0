//! Identifiers of schemas as URIs.
//!
//! For example, `item.json` at `https://example.org/order.json` is
//! `https://example.org/item.json`.

/// Returns the URI of what has this `$id` and was found at `base`.
pub(super) fn address(base: &str, id: &str) -> String {
    match id {
        "" => without_fragment(base).to_owned(),
        id => join_uri(without_fragment(base), id),
    }
}

/// Returns the part of a URI before its fragment.
pub(super) fn without_fragment(uri: &str) -> &str {
    uri.split_once('#').map_or(uri, |(u, _)| u)
}

/// Resolves a reference against a base (RFC 3986, section 5.2), as far as identifiers of schemas
/// need it.
pub(super) fn join_uri(base: &str, reference: &str) -> String {
    if has_scheme(reference) || base.is_empty() {
        return reference.to_owned();
    }
    let (scheme, rest) = match base.split_once(':') {
        Some((s, r)) if has_scheme(base) => (s, r),
        _ => ("", base),
    };
    let prefix = |tail: String| {
        if scheme.is_empty() {
            tail
        } else {
            format!("{scheme}:{tail}")
        }
    };
    if reference.starts_with("//") {
        return prefix(reference.to_owned());
    }
    let (authority, path) = match rest.strip_prefix("//") {
        Some(after) => {
            let end = after.find('/').unwrap_or(after.len());
            (&rest[..end + 2], &after[end..])
        }
        None => ("", rest),
    };
    let path = path.split('?').next().unwrap_or("");
    let merged = if reference.starts_with('/') {
        reference.to_owned()
    } else {
        match path.rfind('/') {
            Some(i) => format!("{}{reference}", &path[..=i]),
            None if authority.is_empty() => reference.to_owned(),
            None => format!("/{reference}"),
        }
    };
    let mut out: Vec<&str> = Vec::new();
    for segment in merged.split('/') {
        match segment {
            "." => {}
            ".." if out.len() > usize::from(merged.starts_with('/')) => {
                out.pop();
            }
            ".." => {}
            other => out.push(other),
        }
    }
    prefix(format!("{authority}{}", out.join("/")))
}

fn has_scheme(uri: &str) -> bool {
    match uri.find([':', '/', '?', '#']) {
        Some(i) => uri.as_bytes()[i] == b':' && i > 0,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::join_uri;

    #[test]
    fn joins_and_decodes() {
        assert_eq!(join_uri("http://a/b/c", "d"), "http://a/b/d");
        assert_eq!(join_uri("http://a/b/c", "/d"), "http://a/d");
        assert_eq!(join_uri("http://a/b/c", "../d"), "http://a/d");
        assert_eq!(join_uri("http://a", "d"), "http://a/d");
        assert_eq!(join_uri("http://a/b", "urn:x:y"), "urn:x:y");
        assert_eq!(join_uri("", "d.json"), "d.json");
        assert_eq!(join_uri("a/b.json", "../d.json"), "d.json");
        assert_eq!(join_uri("http://a/b", "../../d"), "http://a/d");
    }
}
