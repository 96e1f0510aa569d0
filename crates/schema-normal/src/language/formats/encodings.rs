//! Formats of the OpenAPI registry whose grammar is that of an encoding or of a field of HTTP. For
//! example, `QUI=` is a text of `byte`, and `QUI` is none.

/// RFC 4648, section 4: what an encoder writes, with padding, and with zeros for
/// the bits that are left over (section 3.5).
pub(super) fn base64() -> String {
    let c = "[0-9A-Za-z+/]";
    format!("(?:{c}{{4}})*(?:{c}[AQgw]==|{c}{{2}}[AEIMQUYcgkosw048]=)?")
}

/// RFC 4648, section 5: as `base64` in the other alphabet; the padding may be
/// left out (section 3.2).
pub(super) fn base64url() -> String {
    let c = "[0-9A-Za-z_-]";
    format!("(?:{c}{{4}})*(?:{c}[AQgw](?:==)?|{c}{{2}}[AEIMQUYcgkosw048]=?)?")
}

/// RFC 9110, section 5.6.2.
const TOKEN: &str = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";

/// RFC 9110, section 12.5.1, `media-range`; an octet beyond ASCII in a quoted
/// string is the character of that number.
pub(super) fn media_range() -> String {
    let quoted = r#""(?:[\t !#-\[\]-~\u{80}-\u{FF}]|\\[\t -~\u{80}-\u{FF}])*""#;
    let parameter = format!("{TOKEN}=(?:{TOKEN}|{quoted})");
    // `*` is a character of a token: `*/*` and `type/*` are among `token/token`.
    format!(r"{TOKEN}/{TOKEN}(?:[ \t]*;[ \t]*(?:{parameter})?)*")
}

/// RFC 8941, section 3.3.4.
pub(super) fn sf_token() -> String {
    "[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*".to_owned()
}
