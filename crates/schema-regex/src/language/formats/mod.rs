//! The strings of each known `format`, as patterns.

pub(crate) mod bounded_numbers;
pub(crate) mod encodings;
pub(crate) mod international;
#[cfg(feature = "automaton")]
pub(crate) mod written;

use std::sync::OnceLock;

use crate::decimal::Decimal;
use crate::language::number_expressions as numbers;
use crate::language::number_expressions::{Bound, Fraction};
use crate::language::pattern::Pattern;
use crate::language::re::Re;
use crate::options::IntegerSpelling;

/// What the patterns say, each read when it is first asked for: some take a millisecond.
type Read = [OnceLock<Re>; COUNT];

/// A format of strings that is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Format {
    DateTime,
    Date,
    Time,
    Duration,
    Email,
    IdnEmail,
    Hostname,
    IdnHostname,
    Ipv4,
    Ipv6,
    Uuid,
    Uri,
    UriReference,
    UriTemplate,
    Iri,
    IriReference,
    Regex,
    JsonPointer,
    RelativeJsonPointer,
    Base64,
    Base64Url,
    Char,
    MediaRange,
    Token,
    Boolean,
    /// Integers of 64 bits, spelled as strings.
    Int64,
    Uint64,
    /// A part of `Email`: at most 64 characters before the `@`, if not quoted.
    ShortLocalPart,
    /// All of `DateTime` and more, and so on: see [`Format::wider`].
    WideDateTime,
    WideTime,
    WideEmail,
    WideHostname,
}

/// How many formats there are.
pub(crate) const COUNT: usize = Format::WideHostname as usize + 1;

pub(crate) const ALL: &[(&str, Format)] = &[
    ("date-time", Format::DateTime),
    ("date", Format::Date),
    ("time", Format::Time),
    ("duration", Format::Duration),
    ("email", Format::Email),
    ("idn-email", Format::IdnEmail),
    ("hostname", Format::Hostname),
    ("idn-hostname", Format::IdnHostname),
    ("ipv4", Format::Ipv4),
    ("ipv6", Format::Ipv6),
    ("uuid", Format::Uuid),
    ("uri", Format::Uri),
    ("uri-reference", Format::UriReference),
    ("uri-template", Format::UriTemplate),
    ("iri", Format::Iri),
    ("iri-reference", Format::IriReference),
    ("regex", Format::Regex),
    ("json-pointer", Format::JsonPointer),
    ("relative-json-pointer", Format::RelativeJsonPointer),
    ("byte", Format::Base64),
    ("base64url", Format::Base64Url),
    ("char", Format::Char),
    ("media-range", Format::MediaRange),
    ("sf-token", Format::Token),
    ("sf-boolean", Format::Boolean),
    ("int64", Format::Int64),
    ("uint64", Format::Uint64),
];

/// Formats of the OpenAPI registry that constrain nothing: any number is read as
/// the nearest `float` or `double`; the others are hints about text.
pub(crate) const HINTS: &[&str] = &[
    "float",
    "double",
    "binary",
    "password",
    "commonmark",
    "html",
];

impl Format {
    pub(crate) fn by_name(name: &str) -> Option<Format> {
        ALL.iter().find(|(n, _)| *n == name).map(|(_, f)| *f)
    }

    /// What the format says, with its source.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Format::DateTime => "RFC 3339 `date-time`, with the calendar",
            Format::Date => "RFC 3339 `full-date`, with the calendar",
            Format::Time => "RFC 3339 `full-time`",
            Format::Duration => "RFC 3339, appendix A",
            Format::Email => {
                "RFC 5321 `Mailbox`: at most 64 characters before the `@`, at most 254 in all"
            }
            Format::IdnEmail => "RFC 6531 `Mailbox`",
            Format::Hostname => "RFC 1123, section 2.1: at most 253 characters",
            Format::IdnHostname => "RFC 5890, section 2.3.2.3",
            Format::Ipv4 => "RFC 2673, section 3.2: `dotted-quad`",
            Format::Ipv6 => "RFC 4291, section 2.2",
            Format::Uuid => "RFC 4122",
            Format::Uri => "RFC 3986 `URI`",
            Format::UriReference => "RFC 3986 `URI-reference`",
            Format::UriTemplate => "RFC 6570",
            Format::Iri => "RFC 3987 `IRI`",
            Format::IriReference => "RFC 3987 `IRI-reference`",
            Format::Regex => "ECMA-262",
            Format::JsonPointer => "RFC 6901",
            Format::RelativeJsonPointer => "a number, then `#` or RFC 6901",
            Format::Base64 => "RFC 4648, section 4: padded, unused bits zero",
            Format::Base64Url => {
                "RFC 4648, section 5: unused bits zero, the padding may be left out"
            }
            Format::Char => "one character (code point)",
            Format::MediaRange => "RFC 9110, section 12.5.1",
            Format::Token => "RFC 8941, section 3.3.4",
            Format::Boolean => "RFC 8941, section 3.3.6: `?0` or `?1`",
            Format::Int64 => "-9223372036854775808 to 9223372036854775807, in decimal",
            Format::Uint64 => "0 to 18446744073709551615, in decimal",
            Format::ShortLocalPart
            | Format::WideDateTime
            | Format::WideTime
            | Format::WideEmail
            | Format::WideHostname => "",
        }
    }

    /// The most characters of a string of the format, where that is not part of
    /// the expression.
    pub(crate) fn max_length(self) -> Option<u64> {
        match self {
            // RFC 5321, section 4.5.3.1.3: a path has 256 octets, its angle
            // brackets among them.
            Format::Email => Some(254),
            // RFC 1035, section 3.1: 255 octets with a length before each label
            // and one for the root.
            Format::Hostname => Some(253),
            _ => None,
        }
    }

    /// What must hold beside the expression and the length.
    pub(crate) fn part(self) -> Option<Format> {
        (self == Format::Email).then_some(Format::ShortLocalPart)
    }

    /// What is left out of the format, where the language is a subset of it.
    pub(crate) fn narrowed(self) -> Option<&'static str> {
        match self {
            Format::DateTime | Format::Time => Some(
                "a leap second (:60) is admitted where it is 23:59 UTC by an offset of whole or half hours",
            ),
            Format::Email => Some(
                "a quoted local part with backslashes has at most 31 characters, each backslash with the next one",
            ),
            Format::Hostname => Some(
                "labels with hyphens in third and fourth place, punycode among them, are left out",
            ),
            Format::IdnEmail => Some(
                "as idn-hostname after the @, or up to nine short labels in ASCII; before it at most 16 characters where some are beyond ASCII, or at most 32 beside dots where there are several",
            ),
            Format::IdnHostname => Some(
                "labels beyond ASCII have at most 11 letters or digits of Latin-1, Greek, Cyrillic, kana, Han or Hangul; punycode is left out",
            ),
            Format::Regex => Some(
                "groups nest two levels, ranges in classes start at a, A or 0, and counts have no upper end",
            ),
            _ => None,
        }
    }

    /// A language that has all strings of a narrowed format, and a few more. What is in
    /// neither of the two is not of the format for certain: complements are made of it.
    pub(crate) fn wider(self) -> Option<Format> {
        match self {
            Format::DateTime => Some(Format::WideDateTime),
            Format::Time => Some(Format::WideTime),
            Format::Email => Some(Format::WideEmail),
            Format::Hostname => Some(Format::WideHostname),
            _ => None,
        }
    }

    /// The same for the regular expression, which leaves out more.
    pub(crate) fn narrowed_in_regex(self) -> Option<&'static str> {
        match self {
            Format::DateTime | Format::Time => Some(
                "a leap second (:60) is admitted at 23:59 UTC written with offset Z or +00:00 only",
            ),
            Format::Email => Some(
                "the quoted local part and address literals of RFC 5321 are left out; a long local part has at most 4 atoms of at most 15 characters, a long domain labels of at most 15",
            ),
            Format::Hostname => Some(
                "labels with hyphens in third and fourth place are left out; a name has at most 4 labels, or at most 15 of at most 15 characters, so that it is never longer than 253",
            ),
            other => other.narrowed(),
        }
    }

    /// The strings of the format, but for [`Format::max_length`] and
    /// [`Format::part`].
    pub(crate) fn re(self) -> Re {
        static READ: Read = [const { OnceLock::new() }; COUNT];
        READ[self as usize].get_or_init(|| self.read()).clone()
    }

    /// The strings of the format that the regular expression admits.
    pub(crate) fn re_in_regex(self) -> Re {
        static READ: Read = [const { OnceLock::new() }; COUNT];
        let read = || self.read_for_regex();
        READ[self as usize].get_or_init(read).clone()
    }

    fn read(self) -> Re {
        let bound = |text: &str| {
            Decimal::parse(text).map(|value| Bound {
                value,
                exclusive: false,
            })
        };
        let integers = |low: &str, high: &str| {
            let plain = Fraction::None(IntegerSpelling::Plain);
            numbers::range(bound(low).as_ref(), bound(high).as_ref(), plain)
        };
        match self {
            Format::Int64 => integers("-9223372036854775808", "9223372036854775807"),
            Format::Uint64 => integers("0", "18446744073709551615"),
            _ => read(&self.pattern()),
        }
    }

    fn read_for_regex(self) -> Re {
        match self {
            Format::DateTime => read(&format!("(?:{})[Tt](?:{})", date(), time(LEAP_UTC))),
            Format::Time => read(&time(LEAP_UTC)),
            Format::Email => read(&short_email()),
            Format::Hostname => read(&short_hostname()),
            other => other.re(),
        }
    }

    fn pattern(self) -> String {
        match self {
            Format::Date => date(),
            Format::Time => time(&leap_seconds()),
            Format::DateTime => format!("(?:{})[Tt](?:{})", date(), time(&leap_seconds())),
            Format::Duration => duration(),
            Format::Email => email(),
            Format::IdnEmail => international::email(),
            Format::Hostname => format!("(?:{LABEL}\\.)*(?:{LABEL})"),
            Format::IdnHostname => international::hostname(),
            Format::Ipv4 => ipv4(),
            Format::Ipv6 => ipv6(),
            Format::Uuid => "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}".to_owned(),
            Format::Uri => uri(""),
            Format::Iri => uri(UCSCHAR),
            Format::Regex => regex(),
            Format::UriReference => format!("{}|{}", uri(""), relative_reference("")),
            Format::UriTemplate => uri_template(),
            Format::IriReference => format!("{}|{}", uri(UCSCHAR), relative_reference(UCSCHAR)),
            Format::JsonPointer => JSON_POINTER.to_owned(),
            Format::RelativeJsonPointer => format!("(?:0|[1-9][0-9]*)(?:#|{JSON_POINTER})"),
            Format::Base64 => encodings::base64(),
            Format::Base64Url => encodings::base64url(),
            Format::Char => "[^]".to_owned(),
            Format::MediaRange => encodings::media_range(),
            Format::Token => encodings::sf_token(),
            Format::Boolean => "\\?[01]".to_owned(),
            // RFC 5321, section 4.5.3.1.1; what is quoted is bounded by itself.
            Format::ShortLocalPart => "[^\"@]{1,64}@[^]*|\"[^]*".to_owned(),
            Format::WideTime => wide_time(),
            Format::WideDateTime => format!("(?:{})[Tt](?:{})", date(), wide_time()),
            Format::WideEmail => {
                format!("(?:(?:{ATOM}|\\.)+|\"[^]*\")@(?:[0-9A-Za-z.-]+|\\[[^]*\\])")
            }
            Format::WideHostname => format!("{ANY_LABEL}(?:\\.{ANY_LABEL})*"),
            // Made without a pattern, above.
            Format::Int64 | Format::Uint64 => "[]".to_owned(),
        }
    }
}

fn read(source: &str) -> Re {
    // The patterns are constants; each is read in a test.
    Pattern::parse(&format!("^(?:{source})$")).map_or(Re::Never, |p| p.main)
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

const HOUR: &str = "(?:[01][0-9]|2[0-3])";
const SECFRAC: &str = "(?:\\.[0-9]+)?";
/// Leap seconds written in UTC.
const LEAP_UTC: &str = "23:59:60(?:\\.[0-9]+)?(?:[Zz]|[+-]00:00)";

/// RFC 3339, `full-time`, with these leap seconds.
fn time(leap: &str) -> String {
    format!("{HOUR}:[0-5][0-9]:[0-5][0-9]{SECFRAC}(?:[Zz]|[+-]{HOUR}:[0-5][0-9])|{leap}")
}

/// RFC 3339, `full-time`, with a leap second wherever its grammar has one.
fn wide_time() -> String {
    let leap = format!("{HOUR}:[0-5][0-9]:60{SECFRAC}(?:[Zz]|[+-]{HOUR}:[0-5][0-9])");
    time(&leap)
}

/// The second after 23:59:59 UTC (RFC 3339, section 5.7), written with every
/// offset of whole and half hours.
fn leap_seconds() -> String {
    let mut forms = vec![LEAP_UTC.to_owned()];
    for half_hours in 1..48u32 {
        let show = |minutes: u32| format!("{:02}:{:02}", minutes / 60, minutes % 60);
        let ahead = half_hours * 30;
        let local = (ahead + 23 * 60 + 59) % (24 * 60);
        let behind = 24 * 60 - ahead;
        forms.push(format!(
            "{}:60{SECFRAC}(?:\\+{}|-{})",
            show(local),
            show(ahead),
            show(behind)
        ));
    }
    forms.join("|")
}

/// RFC 3339, appendix A.
fn duration() -> String {
    let time = "T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)";
    let date = "(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)";
    format!("P(?:{date}(?:{time})?|{time}|[0-9]+W)")
}

const ATOM: &str = "[0-9A-Za-z!#$%&'*+/=?^_`{|}~-]";

/// RFC 5321, section 4.1.2, `Mailbox`; of address literals those of section
/// 4.1.3 that are registered.
fn email() -> String {
    let quoted = r#""(?:[ !#-\[\]-~]{0,62}|(?:[ !#-\[\]-~]|\\[ -~]){0,31})""#;
    let v6 = ipv6_of_mail();
    format!(
        "(?:{ATOM}+(?:\\.{ATOM}+)*|{quoted})@(?:{ANY_LABEL}(?:\\.{ANY_LABEL})*|\\[(?:{}|[Ii][Pp][Vv]6:(?:{v6}))\\])",
        ipv4()
    )
}

/// The `IPv6-addr` of RFC 5321, section 4.1.3: `::` stands for two groups or
/// more.
fn ipv6_of_mail() -> String {
    let h = "[0-9A-Fa-f]{1,4}";
    let v4 = ipv4();
    let mut forms = vec![
        format!("{h}(?::{h}){{7}}"),
        format!("{h}(?::{h}){{5}}:{v4}"),
    ];
    let groups = |n: usize| match n {
        0 => String::new(),
        1 => h.to_owned(),
        _ => format!("{h}(?::{h}){{{}}}", n - 1),
    };
    let up_to = |n: usize| match n {
        0 => String::new(),
        1 => format!("(?:{h})?"),
        _ => format!("(?:{h}(?::{h}){{0,{}}})?", n - 1),
    };
    for before in 0..=6 {
        forms.push(format!("{}::{}", groups(before), up_to(6 - before)));
        if before <= 4 {
            let middle = match 4 - before {
                0 => String::new(),
                n => format!("(?:{h}:){{0,{n}}}"),
            };
            forms.push(format!("{}::{middle}{v4}", groups(before)));
        }
    }
    forms.join("|")
}

/// Mailboxes that are short by their form: at most 64 octets before the `@`, at
/// most 189 after it.
fn short_email() -> String {
    let mid = "[0-9A-Za-z](?:[0-9A-Za-z-]{0,13}[0-9A-Za-z])?";
    format!(
        "(?:{ATOM}{{1,64}}|{ATOM}{{1,15}}(?:\\.{ATOM}{{1,15}}){{1,3}})@(?:(?:{mid}\\.){{0,10}}{mid}|{ANY_LABEL}(?:\\.{ANY_LABEL})?)"
    )
}

/// RFC 1123, section 2.1: labels of 1 to 63 letters, digits and hyphens.
const ANY_LABEL: &str = "[0-9A-Za-z](?:[0-9A-Za-z-]{0,61}[0-9A-Za-z])?";

/// The same without
/// those that RFC 5890, section 2.3.1, reserves by two hyphens in third and
/// fourth place, of which only some are punycode.
const LABEL: &str = "(?:[0-9A-Za-z](?:[0-9A-Za-z-]{0,2}[0-9A-Za-z])?|[0-9A-Za-z][0-9A-Za-z-](?:[0-9A-Za-z][0-9A-Za-z-]|-[0-9A-Za-z])[0-9A-Za-z-]{0,58}[0-9A-Za-z])";

/// Names that are short by their form.
fn short_hostname() -> String {
    let of = |most: usize| LABEL.replace("{0,58}", &format!("{{0,{}}}", most - 5));
    // Three labels of 63 and one of 61 fit in 253 characters with their dots;
    // so do fifteen labels of 15.
    let (label, last, mid) = (of(63), of(61), of(15));
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

/// RFC 6570, section 2, with the apostrophe of its erratum 6937.
fn uri_template() -> String {
    let private = r"\u{E000}-\u{F8FF}\u{F0000}-\u{FFFFD}\u{100000}-\u{10FFFD}";
    let literal = format!(r"(?:[!#$&'()*+,./:;=?@\[\]_~0-9A-Za-z{UCSCHAR}{private}-]|{PCT})");
    let varchar = format!("(?:[0-9A-Za-z_]|{PCT})");
    let varspec = format!(r"{varchar}(?:\.?{varchar})*(?::[1-9][0-9]{{0,3}}|\*)?");
    format!(r"(?:{literal}|\{{[+#./;?&=,!@|]?{varspec}(?:,{varspec})*\}})*")
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
    use crate::language::automata::matches;
    use crate::language::formats::{ALL, COUNT, Format};
    use crate::language::re::Re;

    fn name(format: Format) -> &'static str {
        ALL.iter().find(|(_, f)| *f == format).unwrap().0
    }

    fn check(format: Format, good: &[&str], bad: &[&str]) {
        let (re, part) = (format.re(), format.part().map(Format::re));
        let holds = |text: &str| {
            let part = part.as_ref().is_none_or(|p| matches(p, text).unwrap());
            part && matches(&re, text).unwrap()
        };
        for text in good {
            assert!(holds(text), "{} should hold {text}", name(format));
        }
        for text in bad {
            assert!(!holds(text), "{} should not hold {text}", name(format));
        }
    }

    #[test]
    fn every_pattern_is_read() {
        for (name, format) in ALL {
            assert_ne!(format.re(), Re::Never, "{name}");
            assert_ne!(format.re_in_regex(), Re::Never, "{name}");
            assert_eq!(Format::by_name(name), Some(*format));
            assert!((*format as usize) < COUNT);
        }
    }

    #[cfg(feature = "automaton")]
    #[test]
    fn wider_formats_hold_all_of_the_narrowed_ones() {
        for (name, format) in ALL {
            let Some(wider) = format.wider() else {
                continue;
            };
            assert!(format.narrowed().is_some(), "{name}");
            let wider = wider.re();
            for narrow in [format.re(), format.re_in_regex()] {
                let both = crate::language::char_dfa::CharDfa::new(
                    &[(&narrow, true), (&wider, false)],
                    1_000_000,
                );
                assert!(both.unwrap().is_empty(), "{name}");
            }
        }
        let left_out = [
            (Format::Time, "12:34:60Z"),
            (Format::DateTime, "2024-02-29t12:34:60.5+00:10"),
            (Format::Hostname, "xn--a.b"),
        ];
        for (format, text) in left_out {
            let holds = |format: Format| matches(&format.re(), text).unwrap();
            assert!(!holds(format) && holds(format.wider().unwrap()), "{text}");
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
                "1998-12-31T15:59:60.123-08:00",
                "1999-01-01T05:29:60+05:30",
                "1998-12-31T20:29:60-03:30",
            ],
            &[
                "2023-02-29T00:00:00Z",
                "2020-01-01T24:00:00Z",
                "2020-01-01T00:00:00",
                "2020-01-01T22:59:60Z",
                "2020-01-01T23:59:60+01:00",
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
                "a--b",
                "ab-c",
                "a-b--c",
            ],
            &[
                "", "-a", "a-", "a..b", "a.", "a_b", &longer, "xn--X", "a.XN--a",
            ],
        );
        check(
            Format::Email,
            &[
                "a.b@c.org",
                "x+y@localhost",
                "\"a b\"@c",
                "\"a..@\\\"\"@c",
                "a@[127.0.0.1]",
                "a@[IPv6:::1]",
                "a@[ipv6:1:2:3:4:5:6:7:8]",
                "a@[IPv6:1::2:3.4.5.6]",
                &format!("{}@c", "a".repeat(64)),
                &format!("\"{}\"@c", "a@".repeat(31)),
                &format!("\"b{}b\"@c", "\\\"".repeat(29)),
            ],
            &[
                "a",
                "@b",
                "a@",
                ".a@b",
                "a..b@c",
                "a b@c",
                "\"a@c",
                &format!("{}@c", "a".repeat(65)),
                &format!("\"{}\"@c", "a".repeat(63)),
                &format!("\"{}\"@c", "\\a".repeat(32)),
                "a@[127.0.0.300]",
                "a@[IPv6:1:2:3:4:5:6:7::8]",
                "a@-b",
            ],
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
