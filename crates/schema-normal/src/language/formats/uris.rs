//! URIs, IRIs and their templates. For example, `http://a/b?c#d` is a URI, and `/b` is only a
//! reference to one.

use super::hosts::ipv6;

/// A byte in hexadecimal digits, as `pct-encoded` of RFC 3986.
const PCT: &str = "%[0-9A-Fa-f]{2}";

/// The characters that RFC 3987 adds to those of RFC 3986, as the inside of a
/// class.
pub(super) const UCSCHAR: &str = r"\u{A0}-\u{D7FF}\u{F900}-\u{FDCF}\u{FDF0}-\u{FFEF}\u{10000}-\u{1FFFD}\u{20000}-\u{2FFFD}\u{30000}-\u{3FFFD}\u{40000}-\u{4FFFD}\u{50000}-\u{5FFFD}\u{60000}-\u{6FFFD}\u{70000}-\u{7FFFD}\u{80000}-\u{8FFFD}\u{90000}-\u{9FFFD}\u{A0000}-\u{AFFFD}\u{B0000}-\u{BFFFD}\u{C0000}-\u{CFFFD}\u{D0000}-\u{DFFFD}\u{E1000}-\u{EFFFD}";

fn pchar(more: &str) -> String {
    format!("(?:[{more}0-9A-Za-z._~!$&'()*+,;=:@-]|{PCT})")
}

fn authority(more: &str) -> String {
    let reg = format!("[{more}0-9A-Za-z._~!$&'()*+,;=-]");
    let user = format!("[{more}0-9A-Za-z._~!$&'()*+,;=:-]");
    let future = "[Vv][0-9A-Fa-f]+\\.[0-9A-Za-z._~!$&'()*+,;=:-]+";
    format!(
        "(?:(?:{user}|{PCT})*@)?(?:\\[(?:{}|{future})\\]|(?:{reg}|{PCT})*)(?::[0-9]*)?",
        ipv6()
    )
}

fn query_and_fragment(more: &str) -> String {
    let part = |more: &str| format!("(?:[{more}0-9A-Za-z._~!$&'()*+,;=:@/?-]|{PCT})*");
    let private = if more.is_empty() {
        ""
    } else {
        r"\u{E000}-\u{F8FF}\u{F0000}-\u{FFFFD}\u{100000}-\u{10FFFD}"
    };
    format!(
        "(?:\\?{})?(?:#{})?",
        part(&format!("{more}{private}")),
        part(more)
    )
}

/// RFC 3986, `URI`; with more characters RFC 3987, `IRI`.
pub(super) fn uri(more: &str) -> String {
    let pchar = pchar(more);
    let abempty = format!("(?:/{pchar}*)*");
    let hier = format!(
        "(?://{}{abempty}|/(?:{pchar}+{abempty})?|{pchar}+{abempty})?",
        authority(more)
    );
    format!("[A-Za-z][0-9A-Za-z+.-]*:{hier}{}", query_and_fragment(more))
}

/// RFC 3986, `relative-ref`; with more characters RFC 3987's.
pub(super) fn relative_reference(more: &str) -> String {
    let pchar = pchar(more);
    let no_colon = format!("(?:[{more}0-9A-Za-z._~!$&'()*+,;=@-]|{PCT})");
    let abempty = format!("(?:/{pchar}*)*");
    format!(
        "(?://{}{abempty}|/(?:{pchar}+{abempty})?|{no_colon}+{abempty})?{}",
        authority(more),
        query_and_fragment(more)
    )
}

/// RFC 6570, section 2, with the apostrophe of its erratum 6937.
pub(super) fn uri_template() -> String {
    let private = r"\u{E000}-\u{F8FF}\u{F0000}-\u{FFFFD}\u{100000}-\u{10FFFD}";
    let literal = format!(r"(?:[!#$&'()*+,./:;=?@\[\]_~0-9A-Za-z{UCSCHAR}{private}-]|{PCT})");
    let varchar = format!("(?:[0-9A-Za-z_]|{PCT})");
    let varspec = format!(r"{varchar}(?:\.?{varchar})*(?::[1-9][0-9]{{0,3}}|\*)?");
    format!(r"(?:{literal}|\{{[+#./;?&=,!@|]?{varspec}(?:,{varspec})*\}})*")
}
