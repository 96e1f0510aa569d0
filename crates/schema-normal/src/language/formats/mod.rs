//! The strings of each known `format`, as patterns. For example, `date` is four digits, `-`, a
//! month, `-` and a day that the month has.

pub mod bounded_numbers;
mod encodings;
mod hosts;
mod international;
#[cfg(test)]
mod tests;
mod times;
mod uris;
pub mod written;

use std::sync::OnceLock;

use hosts::{ANY_LABEL, ATOM, LABEL, email, ipv4, ipv6, short_email, short_hostname};
use times::{date, duration, leap_seconds, leap_utc, time, wide_time};
use uris::{UCSCHAR, relative_reference, uri, uri_template};

use crate::language::numbers::expressions::integers_between;
use crate::language::pattern;
use crate::language::re::Re;
use crate::options::Target;

/// A format of strings that is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// The format `date-time`.
    DateTime,
    /// The format `date`.
    Date,
    /// The format `time`.
    Time,
    /// The format `duration`.
    Duration,
    /// The format `email`.
    Email,
    /// The format `idn-email`.
    IdnEmail,
    /// The format `hostname`.
    Hostname,
    /// The format `idn-hostname`.
    IdnHostname,
    /// The format `ipv4`.
    Ipv4,
    /// The format `ipv6`.
    Ipv6,
    /// The format `uuid`.
    Uuid,
    /// The format `uri`.
    Uri,
    /// The format `uri-reference`.
    UriReference,
    /// The format `uri-template`.
    UriTemplate,
    /// The format `iri`.
    Iri,
    /// The format `iri-reference`.
    IriReference,
    /// The format `regex`.
    Regex,
    /// The format `json-pointer`.
    JsonPointer,
    /// The format `relative-json-pointer`.
    RelativeJsonPointer,
    /// The format `byte`.
    Base64,
    /// The format `base64url`.
    Base64Url,
    /// The format `char`.
    Char,
    /// The format `media-range`.
    MediaRange,
    /// The format `sf-token`.
    Token,
    /// The format `sf-boolean`.
    Boolean,
    /// Integers of 64 bits, spelled as strings.
    Int64,
    /// The format `uint64`.
    Uint64,
    /// A part of `Email`: at most 64 characters before the `@`, if not quoted.
    ShortLocalPart,
    /// All of `DateTime` and more, and so on: see `Format::wider`.
    WideDateTime,
    /// All of `Time` and more.
    WideTime,
    /// All of `Email` and more.
    WideEmail,
    /// All of `Hostname` and more.
    WideHostname,
}

/// The number of formats, which is that of the last one and one more, because they are counted from
/// 0.
pub const COUNT: usize = Format::WideHostname as usize + 1;

/// The formats by name, as `format` spells them.
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

/// Formats of the OpenAPI registry that constrain nothing, because any number is read as the
/// nearest `float` or `double`, and the others are hints about text.
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

    /// Returns the format that must hold beside the expression and the length.
    pub fn part(self) -> Option<Format> {
        (self == Format::Email).then_some(Format::ShortLocalPart)
    }

    /// Returns the part that a target leaves out of the format, if it admits a subset of it: the regular
    /// expression leaves out more.
    pub(crate) fn narrowed(self, target: Target) -> Option<&'static str> {
        match (self, target) {
            (Format::DateTime | Format::Time, Target::Expression) => Some(
                "a fraction of a second has at most 18 digits; a leap second (:60) is admitted at 23:59 UTC written with offset Z or +00:00 only",
            ),
            (Format::Email, Target::Expression) => Some(
                "the quoted local part and address literals of RFC 5321 are left out; a long local part has at most 4 atoms of at most 15 characters, a long domain labels of at most 15",
            ),
            (Format::Hostname, Target::Expression) => Some(
                "labels with hyphens in third and fourth place are left out; a name has at most 4 labels, or at most 15 of at most 15 characters, so that it is never longer than 253",
            ),
            (Format::DateTime | Format::Time, _) => Some(
                "a fraction of a second has at most 18 digits; a leap second (:60) is admitted where it is 23:59 UTC by an offset of whole or half hours",
            ),
            (Format::Email, _) => Some(
                "a quoted local part with backslashes has at most 31 characters, each backslash with the next one",
            ),
            (Format::Hostname, _) => Some(
                "labels with hyphens in third and fourth place, punycode among them, are left out",
            ),
            (Format::IdnEmail, _) => Some(
                "as idn-hostname after the @, or up to nine short labels in ASCII; before it at most 16 characters where some are beyond ASCII, or at most 32 beside dots where there are several",
            ),
            (Format::IdnHostname, _) => Some(
                "labels beyond ASCII have at most 11 letters or digits of Latin-1, Greek, Cyrillic, kana, Han or Hangul; punycode is left out",
            ),
            (Format::Regex, _) => Some(
                "groups nest two levels, ranges in classes start at a, A or 0, and counts have no upper end",
            ),
            _ => None,
        }
    }

    /// A language that has all strings of a narrowed format, and a few more. Returns the format of
    /// texts that are not of the format for certain if they are in neither of the two: complements
    /// are made of it.
    pub(crate) fn wider(self) -> Option<Format> {
        match self {
            Format::DateTime => Some(Format::WideDateTime),
            Format::Time => Some(Format::WideTime),
            Format::Email => Some(Format::WideEmail),
            Format::Hostname => Some(Format::WideHostname),
            _ => None,
        }
    }

    /// The strings of the format that a target admits, but for their greatest length and
    /// [`Format::part`].
    pub fn re(self, target: Target) -> Re {
        /// The expressions by target, each read when it is first asked for, because some take a millisecond.
        static READ: [[OnceLock<Re>; COUNT]; 2] = [const { [const { OnceLock::new() }; COUNT] }; 2];
        let read = || match target {
            Target::Expression => self.read_for_regex(),
            Target::Automaton => self.read(),
        };
        READ[target as usize][self as usize]
            .get_or_init(read)
            .clone()
    }

    fn read(self) -> Re {
        match self {
            Format::Int64 => integers_between("-9223372036854775808", "9223372036854775807"),
            Format::Uint64 => integers_between("0", "18446744073709551615"),
            _ => read(&self.pattern()),
        }
    }

    fn read_for_regex(self) -> Re {
        match self {
            Format::DateTime => read(&format!("(?:{})[Tt](?:{})", date(), time(&leap_utc()))),
            Format::Time => read(&time(&leap_utc())),
            Format::Email => read(&short_email()),
            Format::Hostname => read(&short_hostname()),
            other => other.re(Target::Automaton),
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
    pattern::whole(source).unwrap_or(Re::Never)
}

/// RFC 6901, section 3.
const JSON_POINTER: &str = "(?:/(?:[^~/]|~[01])*)*";

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
