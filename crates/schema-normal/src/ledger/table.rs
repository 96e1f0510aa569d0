//! The keywords of all drafts: one table, printed into `docs/KEYWORDS.md`. For example, the row of
//! `minLength` says that it is enforced in every draft.

use crate::language::formats::bounded_numbers as number_formats;
use crate::language::formats::{self, Format};
use crate::options::{Draft, Target};

/// The fate of a keyword in general.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum General {
    /// Enforced exactly, always.
    Enforced,
    /// Enforced exactly where the notes of the two forms say, refused elsewhere.
    EnforcedWhere,
    /// Refused.
    Refused,
    /// An annotation.
    Annotation,
    /// Serves references and identification.
    Structure,
}

/// A keyword of some draft.
///
/// ```
/// use schema_regex::ledger::{General, Keyword};
///
/// let pattern = Keyword::named("pattern").unwrap();
/// assert_eq!((pattern.general, pattern.page), (General::EnforcedWhere, "strings"));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Keyword {
    /// Its name.
    pub name: &'static str,
    /// The drafts that have it.
    drafts: &'static str,
    /// The fate of the keyword.
    pub general: General,
    /// One line about it, which holds for both forms.
    note: &'static str,
    /// The limits of the schema automaton, if there are some: what follows on "enforced".
    automaton: &'static str,
    /// The limits of the regular expression.
    expression: &'static str,
    /// The page of `tests/cases` that has its cases.
    pub page: &'static str,
}

impl Keyword {
    /// Returns the keyword of a name.
    pub fn named(name: &str) -> Option<&'static Keyword> {
        KEYWORDS.iter().find(|keyword| keyword.name == name)
    }

    /// Says whether it says which values are right.
    pub(super) fn constrains(&self) -> bool {
        matches!(
            self.general,
            General::Enforced | General::EnforcedWhere | General::Refused
        )
    }

    /// The first draft that has it.
    pub(super) fn first(&self) -> Option<Draft> {
        let (first, _) = self.drafts.split_once('-').unwrap_or((self.drafts, ""));
        Some(match first {
            "4" => Draft::Draft4,
            "6" => Draft::Draft6,
            "7" => Draft::Draft7,
            "2019" => Draft::Draft201909,
            "2020" => Draft::Draft202012,
            _ => return None,
        })
    }
}

const fn k(
    name: &'static str,
    drafts: &'static str,
    general: General,
    page: &'static str,
    note: &'static str,
) -> Keyword {
    Keyword {
        name,
        drafts,
        general,
        note,
        automaton: "",
        expression: "",
        page,
    }
}

impl Keyword {
    /// Sets the limits of the two forms.
    const fn within(self, automaton: &'static str, expression: &'static str) -> Keyword {
        Keyword {
            automaton,
            expression,
            ..self
        }
    }
}

use General::{Annotation as A, Enforced as E, EnforcedWhere as W, Structure as S};

/// Every keyword of the drafts 4, 6, 7, 2019-09 and 2020-12, and some that OpenAPI and other tools
/// add. They are one table, so that the documentation cannot say anything else than the code.
pub const KEYWORDS: &[Keyword] = &[
    k("$schema", "4-2020", S, "drafts", "chooses the draft; without it 2020-12, or `ParseOptions::draft`"),
    k("$id", "6-2020", S, "references", "names a resource that references find, in the same document or from others; the same name twice in a document is an error. `$schema` beside it chooses that resource's draft"),
    k("id", "4", S, "references", "as `$id`, in draft 4 alone"),
    k("$anchor", "2019-2020", S, "references", "names a place that references find; the same name twice in a resource is an error"),
    k("$dynamicAnchor", "2020", S, "references", "as `$anchor` for `$ref`"),
    k("$recursiveAnchor", "2019", S, "references", "see `$recursiveRef`"),
    k("$defs", "2019-2020", S, "references", "read where a reference leads into it"),
    k("definitions", "4-7", S, "references", "as `$defs`, in every draft"),
    k("$vocabulary", "2019-2020", A, "annotations", "of meta-schemas; but for its type not looked at"),
    k("$comment", "7-2020", A, "annotations", ""),
    k("$ref", "4-2020", W, "references", "inside the document, and into others that the host hands over (`ParseOptions::documents`); nothing is fetched. Siblings are intersected; in drafts 4 to 7 they are ignored, as these say").within("", "where it does not lead back to itself, or unrolled by `Options::recursion`"),
    k("$dynamicRef", "2020", W, "references", "followed in the dynamic scope, without which it is a `$ref`").within("", "as `$ref`"),
    k("$recursiveRef", "2019", W, "references", "followed in the dynamic scope, without which it is a `$ref`").within("", "as `$ref`"),
    k("type", "4-2020", E, "types", "`integer` is spelled without a fraction, or with one of zeros by `Options::integers`").within("", "; a value that is not restricted nests `Options::any_value` deep"),
    k("enum", "4-2020", E, "types", "members that the rest of the schema forbids are left out. An integer that is written `1.0` may be spelled so. Narrowed: a number has no exponent, and zero no sign. Arrays and objects are spelled in the order they have in the schema").within("", "; one with an object is refused when negated, where the number of members is bounded"),
    k("const", "6-2020", E, "types", "as an `enum` of one"),
    k("multipleOf", "4-2020", W, "numbers", "").within("where remainders and digits take at most twenty times `Options::max_automaton_states`", "where the digits form a small automaton (any number of zeros behind few digits, small integers) or the range holds few multiples; refused when negated, but for 1"),
    k("minimum", "4-2020", E, "numbers", "exact on decimals of any length. Narrowed: an exponent of a bounded number stands behind one digit before the point (`1.5e-05`; `15e-06` is left out) and is at most 99 either way, a multiple has none, and zero has no sign (`-0` is left out). A number of a `Value` that may have been rounded is refused (`ParseOptions::rounded`)"),
    k("maximum", "4-2020", E, "numbers", "as `minimum`"),
    k("exclusiveMinimum", "4-2020", E, "numbers", "as a number, and as draft 4's flag"),
    k("exclusiveMaximum", "4-2020", E, "numbers", "as a number, and as draft 4's flag"),
    k("minLength", "4-2020", W, "strings", "counts characters (code points)").within("", "with `pattern` or `format` where the two meet in a small expression"),
    k("maxLength", "4-2020", W, "strings", "counts characters (code points)").within("", "as `minLength`"),
    k("pattern", "4-2020", W, "strings", "an ECMA-262 search over the decoded string, read as with the flag `u` (what is an error there and not without it is read without: annex B); look-around, word boundaries, anchors and the modifiers of ECMA-262 2025 hold anywhere. Refused: back references, properties that ECMA-262 does not have, and patterns or meetings of several past `Options::max_automaton_states`"),
    k("format", "4-2020", W, "formats", "the formats listed below. Others are annotations, or refused by `Formats::Strict`").within("", "; some are narrowed more, see below"),
    k("items", "4-2020", E, "arrays", "as a schema and, before 2020-12, as an array"),
    k("prefixItems", "2020", E, "arrays", ""),
    k("additionalItems", "4-2019", E, "arrays", "where `items` is an array; nothing elsewhere, as the drafts say"),
    k("minItems", "4-2020", E, "arrays", ""),
    k("maxItems", "4-2020", E, "arrays", ""),
    k("uniqueItems", "4-2020", W, "unique-items", "items are compared by value: numbers as numbers, members in any order, characters by whatever spelling. `false` is no constraint").within("; an item also leaves enough values for the items that have to come. Refused: more `minItems` than values could be counted; items of listed values (at most 2,000 each) where several conditions are counted beside `prefixItems`, or the lists have more than 50,000 values together (2,000 with `contains`); and when negated", "where arrays have at most one item or items are of a few listed values; refused when negated"),
    k("contains", "6-2020", W, "contains", "").within("", "where it is one condition on a list without prefix, and `maxItems` is not said, or at most 8"),
    k("minContains", "2019-2020", W, "contains", "with `contains`").within("", "where it is 0 or 1, or `maxItems` is not said"),
    k("maxContains", "2019-2020", W, "contains", "with `contains`").within("", "where the condition can be negated"),
    k("unevaluatedItems", "2019-2020", W, "unevaluated", "as `items`, for those that no keyword in place evaluates").within("", "as `items`"),
    k("properties", "4-2020", E, "objects", "in order of appearance, or in any by `Options::property_order`").within("", "in order of appearance"),
    k("required", "4-2020", E, "objects", "names that are not in `properties` come after them, in order of appearance"),
    k("additionalProperties", "4-2020", E, "objects", "names are compared by decoded value").within("; no name comes twice", "; a further name may come twice. Refused where its complement would have to be counted"),
    k("patternProperties", "4-2020", W, "objects", "all patterns that a name meets hold").within("", "where the patterns meet in small automata"),
    k("propertyNames", "6-2020", W, "objects", "").within("", "where names are enumerated or the condition meets the patterns in a small automaton; refused when negated"),
    k("minProperties", "4-2020", W, "objects", "").within("", "where listed optional names and the count give a small expression; members are counted as written"),
    k("maxProperties", "4-2020", W, "objects", "").within("", "as `minProperties`"),
    k("dependentRequired", "2019-2020", E, "dependencies", ""),
    k("dependentSchemas", "2019-2020", W, "dependencies", "as `anyOf`"),
    k("dependencies", "4-7", W, "dependencies", "both forms, in every draft"),
    k("unevaluatedProperties", "2019-2020", W, "unevaluated", "as `additionalProperties`, for those that no keyword in place evaluates").within("", "as `additionalProperties`"),
    k("allOf", "4-2020", E, "combinations", "a true intersection, keyword by keyword"),
    k("anyOf", "4-2020", E, "combinations", "distributed over what stands beside it"),
    k("oneOf", "4-2020", W, "combinations", "branches exclude each other by type, range, required name, `const`, names or items; or all others are negated").within("where that is so, or each keyword that has to be negated can be, see `not`", "where that is so, or each keyword that has to be negated can be, see `not`"),
    k("not", "4-2020", W, "combinations", "").within("but for `uniqueItems` and the formats `idn-email`, `idn-hostname`, `regex`", "where each keyword inside can be negated: types, values, ranges, lengths, patterns, required names, properties, combinations of these"),
    k("if", "7-2020", W, "conditions", "").within("where the condition can be negated, see `not`", "where the condition can be negated, see `not`"),
    k("then", "7-2020", W, "conditions", "with `if`"),
    k("else", "7-2020", W, "conditions", "with `if`"),
    k("title", "4-2020", A, "annotations", ""),
    k("description", "4-2020", A, "annotations", ""),
    k("default", "4-2020", A, "annotations", ""),
    k("examples", "6-2020", A, "annotations", ""),
    k("deprecated", "2019-2020", A, "annotations", ""),
    k("readOnly", "7-2020", A, "annotations", ""),
    k("writeOnly", "7-2020", A, "annotations", ""),
    k("contentEncoding", "7-2020", A, "annotations", ""),
    k("contentMediaType", "7-2020", A, "annotations", ""),
    k("contentSchema", "2019-2020", A, "annotations", ""),
    k("nullable", "OpenAPI 3.0", A, "annotations", "no keyword of JSON Schema: write `\"type\": [\"string\", \"null\"]`"),
    k("discriminator", "OpenAPI", A, "annotations", "the branches of `oneOf` say the same"),
    k("example", "OpenAPI", A, "annotations", ""),
    k("externalDocs", "OpenAPI", A, "annotations", ""),
    k("xml", "OpenAPI", A, "annotations", ""),
    k("x-tokenmold", "", S, "settings", "options that the schema chooses by itself, at its root alone, where the host asks for that (`Settings::Follow`): an unknown member is refused then. An annotation by default"),
    k("x-guidance", "", A, "annotations", "llguidance's options, which are read in `%json` of grammars of the dialect `lark`; here `x-tokenmold` says the same"),
    k("x-*", "", A, "annotations", "and every other unknown keyword"),
];

/// The folder of the pages of cases, as the page of keywords links it.
const CASES: &str = "../crates/schema-regex/tests/cases";

/// The table as Markdown: the content of `docs/KEYWORDS.md`.
pub fn markdown() -> String {
    let mut out = String::from(
        "# Keywords\n\nWhat `schema-regex` makes of each keyword. What it accepts it enforces; a keyword that\nit cannot enforce is an error with its JSON Pointer, never dropped. A schema becomes one of two things: a byte automaton\n(feature `automaton`, what constraints use) or a regular expression. Each has its column; the note holds for both. A keyword leads to\nits cases: schemas with texts that are accepted and refused, each run by a test.\n\nThis page is printed from `ledger::KEYWORDS`; a test compares the two (`UPDATE_DOCS=1 cargo test -p schema-regex`\nwrites it anew).\n\n| keyword | drafts | note | in the automaton | in the expression |\n|---|---|---|---|---|\n",
    );
    for keyword in KEYWORDS {
        let becomes = |limits: &str| match keyword.general {
            General::Enforced | General::EnforcedWhere => match limits.starts_with(';') {
                true => format!("enforced{limits}"),
                false => format!("enforced {limits}").trim_end().to_owned(),
            },
            General::Refused => "refused".to_owned(),
            General::Annotation => "annotation".to_owned(),
            General::Structure => "structure".to_owned(),
        };
        out.push_str(&format!(
            "| [`{}`]({CASES}/{}.md) | {} | {} | {} | {} |\n",
            keyword.name,
            keyword.page,
            keyword.drafts,
            keyword.note,
            becomes(keyword.automaton),
            becomes(keyword.expression)
        ));
    }
    formats(&mut out);
    out.push_str(
        "\nA keyword that came with a later draft than the schema's is an annotation there, as that draft says, and so is an annotation of\nanother type than the draft says (`description: null`); the ledger notes both, and formats that are unknown.\n",
    );
    out.push_str(
        "\n## Narrowing\n\nNarrowed beyond keywords: a value that the schema leaves unrestricted nests at most\n`Options::any_value` deep (default 2; one level less for members that are admitted unsaid), since JSON is not regular; objects that list\n`properties` and do not speak of other members are closed by `AdditionalMembers::Closed` (default: open). `Options::caps` bounds strings, numbers, arrays, objects, names and nesting that the schema leaves unbounded (default: not). The ledger of a\nschema shows each such place.\n\nThe automaton has no bound on the depth but `Options::max_nesting`, and refuses what takes more than `Options::max_alternatives`,\n`Options::max_automaton_states` or `Options::max_steps`; the crate's page lists the rest.\n",
    );
    out
}

/// The formats that are known.
fn formats(out: &mut String) {
    out.push_str(
        "\n## Formats\n\nOf strings, and those of the OpenAPI registry of numbers; their cases are on [the pages of formats](../crates/schema-regex/tests/cases/formats.md). A format says nothing of values of other kinds. Where one is\nnarrowed, what it admits satisfies it. Under a complement (`not`, `oneOf`, `if` or the like) the strings that such a format leaves out are\nleft out, too, for `date-time`, `time`, `email` and `hostname`; the other narrowed ones are refused there, and so is an `enum` with a string of\nwhich it is not certain. All others are exact there too. \"In the regular expression\" names what `to_regex` leaves out where that is more than the automaton does.\n\n| format | values | constrains | narrowed | in the regular expression |\n|---|---|---|---|---|\n",
    );
    for (name, format) in formats::ALL {
        let [here, there] = [Target::Automaton, Target::Expression].map(|to| format.narrowed(to));
        let more = if here == there { None } else { there };
        out.push_str(&format!(
            "| `{name}` | strings | {} | {} | {} |\n",
            meaning(*format),
            here.unwrap_or(""),
            more.unwrap_or("")
        ));
    }
    for (name, format) in number_formats::ALL {
        let (step, [low, high]) = format.numbers();
        let step = step.map_or("integers".to_owned(), |s| {
            format!("multiples of {}", s.plain())
        });
        let (low, high) = (low.plain(), high.plain());
        out.push_str(&format!(
            "| `{name}` | numbers | {step}, {low} to {high} | | |\n"
        ));
    }
    let hints: Vec<String> = formats::HINTS.iter().map(|h| format!("`{h}`")).collect();
    out.push_str(&format!(
        "\nAnnotations, and accepted by `Formats::Strict`: {}. `float` and `double` constrain nothing, since any JSON number is read as the\nnearest one; the others are hints about text. All further names are unknown: annotations, or refused by `Formats::Strict`.\n",
        hints.join(", ")
    ));
}

/// Returns the meaning of a format, with its source.
fn meaning(format: Format) -> &'static str {
    match format {
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
        Format::Base64Url => "RFC 4648, section 5: unused bits zero, the padding may be left out",
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
