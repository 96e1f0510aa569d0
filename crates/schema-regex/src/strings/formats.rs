//! The strings of each known `format`, as patterns.

use super::pattern::Pattern;
use super::re::Re;

/// A format that is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Format {
    DateTime,
    Date,
    Time,
    Duration,
    Email,
    Hostname,
    Ipv4,
    Ipv6,
    Uuid,
    Uri,
    UriReference,
    Iri,
    IriReference,
    Regex,
    JsonPointer,
    RelativeJsonPointer,
}

pub(crate) const ALL: &[(&str, Format)] = &[
    ("date-time", Format::DateTime),
    ("date", Format::Date),
    ("time", Format::Time),
    ("duration", Format::Duration),
    ("email", Format::Email),
    ("hostname", Format::Hostname),
    ("ipv4", Format::Ipv4),
    ("ipv6", Format::Ipv6),
    ("uuid", Format::Uuid),
    ("uri", Format::Uri),
    ("uri-reference", Format::UriReference),
    ("iri", Format::Iri),
    ("iri-reference", Format::IriReference),
    ("regex", Format::Regex),
    ("json-pointer", Format::JsonPointer),
    ("relative-json-pointer", Format::RelativeJsonPointer),
];

/// Formats of the drafts that are not enforced: they are annotations, and
/// refused in strict mode.
pub(crate) const NOT_ENFORCED: &[&str] = &["idn-email", "idn-hostname", "uri-template"];

impl Format {
    pub(crate) fn by_name(name: &str) -> Option<Format> {
        ALL.iter().find(|(n, _)| *n == name).map(|(_, f)| *f)
    }

    /// What is left out of the format, where the expression is a subset of it.
    pub(crate) fn narrowed(self) -> Option<&'static str> {
        match self {
            Format::DateTime | Format::Time => Some(
                "a leap second (:60) is admitted at 23:59 UTC written with offset Z or +00:00 only",
            ),
            Format::Email => {
                Some("the quoted local part and address literals of RFC 5321 are left out")
            }
            Format::Hostname => Some(
                "a name has at most 4 labels, or at most 15 of at most 15 characters, so that it is never longer than 253",
            ),
            Format::Regex => Some(
                "groups nest two levels, ranges in classes start at a, A or 0, and counts have no upper end",
            ),
            _ => None,
        }
    }

    /// The strings of the format.
    pub(crate) fn re(self) -> Re {
        let source = self.pattern();
        // The patterns are constants; each is read in a test.
        Pattern::parse(&format!("^(?:{source})$")).map_or(Re::Never, |p| p.main)
    }

    fn pattern(self) -> String {
        match self {
            Format::Date => date(),
            Format::Time => time(),
            Format::DateTime => format!("(?:{})[Tt](?:{})", date(), time()),
            Format::Duration => duration(),
            Format::Email => email(),
            Format::Hostname => hostname(),
            Format::Ipv4 => ipv4(),
            Format::Ipv6 => ipv6(),
            Format::Uuid => "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}".to_owned(),
            Format::Uri => uri(""),
            Format::Iri => uri(UCSCHAR),
            Format::Regex => regex(),
            Format::UriReference => format!("{}|{}", uri(""), relative_reference("")),
            Format::IriReference => format!("{}|{}", uri(UCSCHAR), relative_reference(UCSCHAR)),
            Format::JsonPointer => JSON_POINTER.to_owned(),
            Format::RelativeJsonPointer => format!("(?:0|[1-9][0-9]*)(?:#|{JSON_POINTER})"),
        }
    }
}

/// RFC 6901, section 3.
const JSON_POINTER: &str = "(?:/(?:[^~/]|~[01])*)*";

/// RFC 3339, `full-date`, with the calendar of its section 5.7.
fn date() -> String {
    let leap = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)";
    format!(
        "[0-9]{{4}}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))|{leap}-02-29"
    )
}

/// RFC 3339, `full-time`.
fn time() -> String {
    let hour = "(?:[01][0-9]|2[0-3])";
    let minute = "[0-5][0-9]";
    let fraction = "(?:\\.[0-9]+)?";
    format!(
        "{hour}:{minute}:[0-5][0-9]{fraction}(?:[Zz]|[+-]{hour}:{minute})|23:59:60{fraction}(?:[Zz]|[+-]00:00)"
    )
}

/// RFC 3339, appendix A.
fn duration() -> String {
    let time = "T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)";
    let date = "(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)";
    format!("P(?:{date}(?:{time})?|{time}|[0-9]+W)")
}

/// RFC 5321, `Dot-string "@" Domain`, the local part at most as long as the
/// grammar says, without a bound.
fn email() -> String {
    let atom = "[0-9A-Za-z!#$%&'*+/=?^_`{|}~-]+";
    let label = "[0-9A-Za-z](?:[0-9A-Za-z-]{0,61}[0-9A-Za-z])?";
    format!("{atom}(?:\\.{atom})*@{label}(?:\\.{label})*")
}

/// RFC 1123, section 2.1: labels of 1 to 63 letters, digits and hyphens.
fn hostname() -> String {
    let label = "[0-9A-Za-z](?:[0-9A-Za-z-]{0,61}[0-9A-Za-z])?";
    // Three labels of 63 and one of 61 fit in 253 characters with their dots;
    // so do fifteen labels of 15.
    let last = "[0-9A-Za-z](?:[0-9A-Za-z-]{0,59}[0-9A-Za-z])?";
    let mid = "[0-9A-Za-z](?:[0-9A-Za-z-]{0,13}[0-9A-Za-z])?";
    format!("(?:{label}\\.){{0,3}}{last}|{label}|(?:{mid}\\.){{4,14}}{mid}")
}

fn ipv4() -> String {
    let octet = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
    format!("{octet}(?:\\.{octet}){{3}}")
}

/// RFC 4291, section 2.2: eight groups, one run of them as `::`, the last two
/// as an IPv4 address.
fn ipv6() -> String {
    let h = "[0-9A-Fa-f]{1,4}";
    let tail = format!("(?:{h}:{h}|{})", ipv4());
    let mut forms = vec![
        format!("(?:{h}:){{6}}{tail}"),
        format!("::(?:{h}:){{0,5}}{tail}"),
        format!("::(?:{h})?"),
    ];
    // n groups, then `::`, then at most 7 - n groups.
    for n in 1..=7 {
        let before = if n == 1 {
            h.to_owned()
        } else {
            format!("{h}(?::{h}){{{}}}", n - 1)
        };
        let room = 7 - n;
        let after = match room {
            0 => String::new(),
            1 => format!("(?:{h})?"),
            2 => format!("(?:{h}|{tail})?"),
            _ => format!("(?:{h}|(?:{h}:){{0,{}}}{tail})?", room - 2),
        };
        forms.push(format!("{before}::{after}"));
    }
    forms.join("|")
}

const PCT: &str = "%[0-9A-Fa-f]{2}";

/// The characters that RFC 3987 adds to those of RFC 3986, as the inside of a
/// class.
const UCSCHAR: &str = r"\u{A0}-\u{D7FF}\u{F900}-\u{FDCF}\u{FDF0}-\u{FFEF}\u{10000}-\u{1FFFD}\u{20000}-\u{2FFFD}\u{30000}-\u{3FFFD}\u{40000}-\u{4FFFD}\u{50000}-\u{5FFFD}\u{60000}-\u{6FFFD}\u{70000}-\u{7FFFD}\u{80000}-\u{8FFFD}\u{90000}-\u{9FFFD}\u{A0000}-\u{AFFFD}\u{B0000}-\u{BFFFD}\u{C0000}-\u{CFFFD}\u{D0000}-\u{DFFFD}\u{E1000}-\u{EFFFD}";

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
fn uri(more: &str) -> String {
    let pchar = pchar(more);
    let abempty = format!("(?:/{pchar}*)*");
    let hier = format!(
        "(?://{}{abempty}|/(?:{pchar}+{abempty})?|{pchar}+{abempty})?",
        authority(more)
    );
    format!("[A-Za-z][0-9A-Za-z+.-]*:{hier}{}", query_and_fragment(more))
}

/// RFC 3986, `relative-ref`; with more characters RFC 3987's.
fn relative_reference(more: &str) -> String {
    let pchar = pchar(more);
    let no_colon = format!("(?:[{more}0-9A-Za-z._~!$&'()*+,;=@-]|{PCT})");
    let abempty = format!("(?:/{pchar}*)*");
    format!(
        "(?://{}{abempty}|/(?:{pchar}+{abempty})?|{no_colon}+{abempty})?{}",
        authority(more),
        query_and_fragment(more)
    )
}

/// Regular expressions of ECMA-262, as far as they are themselves regular:
/// groups in at most two levels, ranges from the first letter or digit.
fn regex() -> String {
    let plain = r"[^\\^$.|?*+()\[\]{}\n\r]";
    let escape = r"\\[dDwWsStnrfv^$\\.*+?()\[\]{}|/-]";
    let class = r"\[\^?(?:a-[b-z]|A-[B-Z]|0-[1-9]|[^\\\]\[^-]|\\[dDwWsStnrfv\\\]\[^/.-])+\]";
    let count = r"(?:(?:[*+?]|\{[0-9]{1,3},?\})\??)?";
    let piece = format!(r"(?:{plain}|\.|{escape}|{class}){count}|[\^$]");
    let inner = format!(r"\((?:\?:)?(?:{piece}|\|)*\){count}");
    let outer = format!(r"\((?:\?:)?(?:{piece}|{inner}|\|)*\){count}");
    format!(r"(?:{piece}|{outer}|\|)*")
}

#[cfg(test)]
mod tests {
    use super::{ALL, Format};
    use crate::strings::automaton::matches;
    use crate::strings::re::Re;

    fn name(format: Format) -> &'static str {
        ALL.iter().find(|(_, f)| *f == format).unwrap().0
    }

    fn check(format: Format, good: &[&str], bad: &[&str]) {
        let re = format.re();
        for text in good {
            assert!(
                matches(&re, text).unwrap(),
                "{} should hold {text}",
                name(format)
            );
        }
        for text in bad {
            assert!(
                !matches(&re, text).unwrap(),
                "{} should not hold {text}",
                name(format)
            );
        }
    }

    #[test]
    fn every_pattern_is_read() {
        for (name, format) in ALL {
            assert_ne!(format.re(), Re::Never, "{name}");
            assert_eq!(Format::by_name(name), Some(*format));
        }
    }

    #[test]
    fn dates_follow_the_calendar() {
        let re = Format::Date.re();
        for year in [0, 4, 100, 1900, 1999, 2000, 2023, 2024, 2100, 2400] {
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            for month in 0..=13 {
                let days = match month {
                    1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
                    4 | 6 | 9 | 11 => 30,
                    2 if leap => 29,
                    2 => 28,
                    _ => 0,
                };
                for day in 0..=32 {
                    let text = format!("{year:04}-{month:02}-{day:02}");
                    assert_eq!(
                        matches(&re, &text).unwrap(),
                        (1..=days).contains(&day),
                        "{text}"
                    );
                }
            }
        }
    }

    #[test]
    fn times_and_durations() {
        check(
            Format::DateTime,
            &[
                "2024-02-29T23:59:60Z",
                "2020-01-01t00:00:00.123+05:30",
                "1985-04-12T23:20:50.52z",
            ],
            &[
                "2023-02-29T00:00:00Z",
                "2020-01-01T24:00:00Z",
                "2020-01-01T00:00:00",
                "2020-01-01T22:59:60Z",
                "2020-01-01 00:00:00Z",
                "2020-01-01T00:00:00+24:00",
            ],
        );
        check(
            Format::Time,
            &["12:00:00Z", "23:59:60+00:00"],
            &["12:00Z", "12:00:00", "12:00:00.Z"],
        );
        check(
            Format::Duration,
            &["P1Y2M3DT4H5M6S", "PT36H", "P4W", "P1D", "PT1M", "P1YT1S"],
            &["P", "PT", "P1Y2W", "1D", "P1D2H", "PT1H1S", "P1Y1D", "P2S"],
        );
    }

    #[test]
    fn network_names() {
        check(
            Format::Ipv6,
            &[
                "::",
                "::1",
                "1::",
                "1:2:3:4:5:6:7:8",
                "1::8",
                "1:2:3:4:5:6:7::",
                "::2:3:4:5:6:7:8",
                "::ffff:1.2.3.4",
                "1:2:3:4:5:6:1.2.3.4",
                "1::2:1.2.3.4",
                "1:2:3:4::5:6:7",
                "1:2:3:4:5::1.2.3.4",
            ],
            &[
                "",
                ":",
                ":::",
                "1:2:3:4:5:6:7",
                "1:2:3:4:5:6:7:8:9",
                "1::2::3",
                "12345::",
                "::1.2.3",
                "::g",
                "1:2:3:4:5:6:7:1.2.3.4",
                "1:2:3:4:5:6::1.2.3.4",
                "1:2:3:4:5:6:7::8",
                ":1:2:3:4:5:6:7",
                "1.2.3.4",
            ],
        );
        check(
            Format::Ipv4,
            &["0.0.0.0", "255.249.199.9"],
            &["256.0.0.0", "01.2.3.4", "1.2.3", "1.2.3.4.5"],
        );
        let long = "a".repeat(63);
        let longer = "a".repeat(64);
        check(
            Format::Hostname,
            &[
                "a",
                "example.com",
                "a-b.c1",
                &long,
                &format!("{long}.{long}.{long}.com"),
                "a.b.c.d.e.f.g",
            ],
            &[
                "",
                "-a",
                "a-",
                "a..b",
                "a.",
                "a_b",
                &longer,
                &format!("{long}.{long}.{long}.{long}"),
            ],
        );
        check(
            Format::Email,
            &["a.b@c.org", "x+y@localhost"],
            &["a", "@b", "a@", ".a@b", "a..b@c", "a b@c"],
        );
        check(
            Format::Uri,
            &[
                "http://a.b/c?d#e",
                "urn:x:y",
                "mailto:a@b.c",
                "a:",
                "http://[::1]:80/",
                "http://a/%20",
                "file:///etc",
            ],
            &[
                "a",
                "/a",
                "http://a b",
                "http://a/%2",
                "http://[::g]/",
                "://x",
                "1a:b",
                "http://a/é",
            ],
        );
        check(
            Format::UriReference,
            &["", "a/b", "#x", "//h/p", "?q", "http://x"],
            &["a b", "\\", "%", "1:b", ":b"],
        );
        check(
            Format::Iri,
            &["http://é.b/ü?\u{E000}", "http://a/"],
            &["é:b", "http://a b"],
        );
        check(
            Format::Regex,
            &["", "^a+$", "[a-z]{2}(?:x|(y))*", "\\d+\\.", "[^/]"],
            &["*", "(", ")", "a**", "[b-a]", "\\", "[", "a{2,1}"],
        );
        check(
            Format::Uuid,
            &["123e4567-e89b-12d3-a456-426614174000"],
            &[
                "123e4567e89b12d3a456426614174000",
                "123e4567-e89b-12d3-a456-42661417400g",
            ],
        );
        check(
            Format::JsonPointer,
            &["", "/", "/a~0b/~1"],
            &["a", "/~2", "/~"],
        );
        check(
            Format::RelativeJsonPointer,
            &["0", "1/a", "2#"],
            &["", "01", "-1", "/a", "1#a"],
        );
    }
}
