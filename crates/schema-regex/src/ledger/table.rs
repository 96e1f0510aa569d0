//! The keywords of all drafts: one table, printed into `docs/KEYWORDS.md`. For example, the row of
//! `minLength` says that it is enforced in every draft.

use crate::language::formats;
use crate::language::formats::bounded_numbers as number_formats;
use crate::options::Draft;

/// The fate of a keyword in general.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum General {
    /// Enforced exactly, always.
    Enforced,
    /// Enforced exactly where the note says, refused elsewhere.
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
/// use schema_regex::ledger::KEYWORDS;
///
/// let pattern = KEYWORDS.iter().find(|keyword| keyword.name == "pattern").unwrap();
/// println!("{}: {}", pattern.name, pattern.note);
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Keyword {
    /// Its name.
    pub name: &'static str,
    /// The drafts that have it.
    pub drafts: &'static str,
    /// The fate of the keyword.
    pub general: General,
    /// One line about it.
    pub note: &'static str,
}

impl Keyword {
    /// Says whether it says which values are right.
    pub(crate) fn constrains(&self) -> bool {
        matches!(
            self.general,
            General::Enforced | General::EnforcedWhere | General::Refused
        )
    }

    /// The first draft that has it.
    pub(crate) fn first(&self) -> Option<Draft> {
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
    note: &'static str,
) -> Keyword {
    Keyword {
        name,
        drafts,
        general,
        note,
    }
}

use General::{Annotation as A, Enforced as E, EnforcedWhere as W, Structure as S};

/// Every keyword of the drafts 4, 6, 7, 2019-09 and 2020-12, and some that OpenAPI and other tools
/// add. They are one table, so that the documentation cannot say anything else than the code.
pub const KEYWORDS: &[Keyword] = &[
    k(
        "$schema",
        "4-2020",
        S,
        "chooses the draft; without it 2020-12, or `ParseOptions::draft`",
    ),
    k(
        "$id",
        "6-2020",
        S,
        "names a resource that references find, in the same document or from others; the same name twice in a document is an error. `$schema` beside it chooses that resource's draft",
    ),
    k("id", "4", S, "as `$id`, in draft 4 alone"),
    k(
        "$anchor",
        "2019-2020",
        S,
        "names a place that references find; the same name twice in a resource is an error",
    ),
    k("$dynamicAnchor", "2020", S, "as `$anchor` for `$ref`"),
    k("$recursiveAnchor", "2019", S, "see `$recursiveRef`"),
    k(
        "$defs",
        "2019-2020",
        S,
        "read where a reference leads into it",
    ),
    k("definitions", "4-7", S, "as `$defs`, in every draft"),
    k(
        "$vocabulary",
        "2019-2020",
        A,
        "of meta-schemas; but for its type not looked at",
    ),
    k("$comment", "7-2020", A, ""),
    k(
        "$ref",
        "4-2020",
        W,
        "inside the document, and into others that the host hands over (`ParseOptions::documents`); nothing is fetched. Siblings are intersected; in drafts 4 to 7 they are ignored, as these say. Recursion by `Options::recursion`",
    ),
    k(
        "$dynamicRef",
        "2020",
        W,
        "followed in the dynamic scope, without which it is a `$ref`",
    ),
    k(
        "$recursiveRef",
        "2019",
        W,
        "followed in the dynamic scope, without which it is a `$ref`",
    ),
    k(
        "type",
        "4-2020",
        E,
        "`integer` is spelled without a fraction, or with one of zeros by `Options::integers`",
    ),
    k(
        "enum",
        "4-2020",
        E,
        "members that the rest of the schema forbids are left out. An integer that is written `1.0` may be spelled so. Narrowed: a number has no exponent, and zero no sign. Arrays and objects are spelled in the order they have in the schema; an `enum` with an object is refused when negated, where the number of members is bounded",
    ),
    k("const", "6-2020", E, "as an `enum` of one"),
    k(
        "multipleOf",
        "4-2020",
        W,
        "where the digits form a small automaton (any number of zeros behind few digits, small integers) or the range holds few multiples; refused when negated, but for 1",
    ),
    k(
        "minimum",
        "4-2020",
        E,
        "exact on decimals of any length. Narrowed: an exponent of a bounded number stands behind one digit before the point (`1.5e-05`; `15e-06` is left out) and is at most 99 either way, a multiple has none, and zero has no sign (`-0` is left out). A number of a `Value` that may have been rounded is refused (`ParseOptions::rounded`)",
    ),
    k("maximum", "4-2020", E, "as `minimum`"),
    k(
        "exclusiveMinimum",
        "4-2020",
        E,
        "as a number, and as draft 4's flag",
    ),
    k(
        "exclusiveMaximum",
        "4-2020",
        E,
        "as a number, and as draft 4's flag",
    ),
    k(
        "minLength",
        "4-2020",
        W,
        "counts characters (code points); with `pattern` or `format` where the two meet in a small expression",
    ),
    k("maxLength", "4-2020", W, "as `minLength`"),
    k(
        "pattern",
        "4-2020",
        W,
        "an ECMA-262 search over the decoded string, read as with the flag `u` (what is an error there and not without it is read without: annex B); look-around, word boundaries, anchors and the modifiers of ECMA-262 2025 hold anywhere. Refused: back references, properties that ECMA-262 does not have, and patterns or meetings of several past `Options::max_automaton_states`",
    ),
    k(
        "format",
        "4-2020",
        W,
        "the formats listed below. Others are annotations, or refused by `Formats::Strict`",
    ),
    k(
        "items",
        "4-2020",
        E,
        "as a schema and, before 2020-12, as an array",
    ),
    k("prefixItems", "2020", E, ""),
    k(
        "additionalItems",
        "4-2019",
        E,
        "where `items` is an array; nothing elsewhere, as the drafts say",
    ),
    k("minItems", "4-2020", E, ""),
    k("maxItems", "4-2020", E, ""),
    k(
        "uniqueItems",
        "4-2020",
        W,
        "where arrays have at most one item or items are of a few listed values; `false` is no constraint",
    ),
    k(
        "contains",
        "6-2020",
        W,
        "one item condition on a list without prefix, without bounds on its length beyond one item",
    ),
    k(
        "minContains",
        "2019-2020",
        W,
        "with `contains`: 0, 1, or any where `maxItems` is not said",
    ),
    k(
        "maxContains",
        "2019-2020",
        W,
        "with `contains`: where the condition can be negated",
    ),
    k(
        "unevaluatedItems",
        "2019-2020",
        W,
        "as `items`, for those that no keyword in place evaluates",
    ),
    k("properties", "4-2020", E, "in order of appearance"),
    k(
        "required",
        "4-2020",
        E,
        "names that are not in `properties` come after them, in order of appearance",
    ),
    k(
        "additionalProperties",
        "4-2020",
        E,
        "names compared by decoded value. That no name is written twice cannot be said by a regular expression, so an additional name may repeat",
    ),
    k(
        "patternProperties",
        "4-2020",
        W,
        "where the patterns meet in small automata",
    ),
    k(
        "propertyNames",
        "6-2020",
        W,
        "where names are enumerated or the condition meets the patterns in a small automaton; refused when negated",
    ),
    k(
        "minProperties",
        "4-2020",
        W,
        "counted as written; where listed optional names and the count give a small expression",
    ),
    k("maxProperties", "4-2020", W, "as `minProperties`"),
    k("dependentRequired", "2019-2020", E, ""),
    k("dependentSchemas", "2019-2020", W, "as `anyOf`"),
    k("dependencies", "4-7", W, "both forms, in every draft"),
    k(
        "unevaluatedProperties",
        "2019-2020",
        W,
        "as `additionalProperties`, for those that no keyword in place evaluates",
    ),
    k(
        "allOf",
        "4-2020",
        E,
        "a true intersection, keyword by keyword",
    ),
    k(
        "anyOf",
        "4-2020",
        E,
        "distributed over what stands beside it",
    ),
    k(
        "oneOf",
        "4-2020",
        W,
        "where branches exclude each other (by type, range, required name, `const`) or can be negated",
    ),
    k(
        "not",
        "4-2020",
        W,
        "where each keyword inside can be negated: types, values, ranges, lengths, patterns, required names, properties, combinations of these",
    ),
    k("if", "7-2020", W, "where the condition can be negated"),
    k("then", "7-2020", W, "with `if`"),
    k("else", "7-2020", W, "with `if`"),
    k("title", "4-2020", A, ""),
    k("description", "4-2020", A, ""),
    k("default", "4-2020", A, ""),
    k("examples", "6-2020", A, ""),
    k("deprecated", "2019-2020", A, ""),
    k("readOnly", "7-2020", A, ""),
    k("writeOnly", "7-2020", A, ""),
    k("contentEncoding", "7-2020", A, ""),
    k("contentMediaType", "7-2020", A, ""),
    k("contentSchema", "2019-2020", A, ""),
    k(
        "nullable",
        "OpenAPI 3.0",
        A,
        "no keyword of JSON Schema: write `\"type\": [\"string\", \"null\"]`",
    ),
    k(
        "discriminator",
        "OpenAPI",
        A,
        "the branches of `oneOf` say the same",
    ),
    k("example", "OpenAPI", A, ""),
    k("externalDocs", "OpenAPI", A, ""),
    k("xml", "OpenAPI", A, ""),
    k(
        "x-tokenmold",
        "",
        S,
        "options that the schema chooses by itself, at its root alone, where the host asks for that (`Settings::Follow`): an unknown member is refused then. An annotation by default",
    ),
    k("x-*", "", A, "and every other unknown keyword"),
];

/// The table as Markdown: the content of `docs/KEYWORDS.md`.
pub fn markdown() -> String {
    let mut out = String::from(
        "# Keywords\n\nWhat `schema-regex` makes of each keyword. What it accepts it enforces; a keyword that\nit cannot enforce is an error with its JSON Pointer, never dropped. This page is\nprinted from `ledger::KEYWORDS`; a test compares the two (`UPDATE_DOCS=1 cargo test -p schema-regex`\nwrites it anew).\n\n| keyword | drafts | becomes | note |\n|---|---|---|---|\n",
    );
    for keyword in KEYWORDS {
        let general = match keyword.general {
            General::Enforced => "enforced",
            General::EnforcedWhere => "enforced where",
            General::Refused => "refused",
            General::Annotation => "annotation",
            General::Structure => "structure",
        };
        out.push_str(&format!(
            "| `{}` | {} | {general} | {} |\n",
            keyword.name, keyword.drafts, keyword.note
        ));
    }
    formats(&mut out);
    out.push_str(
        "\nA keyword that came with a later draft than the schema's is an annotation there, as that draft says, and so is an annotation of\nanother type than the draft says (`description: null`); the ledger notes both, and formats that are unknown.\n",
    );
    out.push_str(
        "\n## Narrowing\n\nNarrowed beyond keywords: a value that the schema leaves unrestricted nests at most\n`Options::any_value` deep (default 2; one level less for members that are admitted unsaid), since JSON is not regular; objects that list\n`properties` and do not speak of other members are closed by `AdditionalMembers::Closed` (default: open). `Options::caps` bounds strings, numbers, arrays, objects, names and nesting that the schema leaves unbounded (default: not). The ledger of a\nschema shows each such place.\n\nThe notes speak of the regular expression. The schema automaton (feature `automaton`) enforces every\nkeyword that is not an annotation, with the limits that the crate's page lists.\n",
    );
    out
}

/// The formats that are known.
fn formats(out: &mut String) {
    out.push_str(
        "\n## Formats\n\nOf strings, and those of the OpenAPI registry of numbers. A format says nothing of values of other kinds. Where one is\nnarrowed, what it admits satisfies it. Under a complement (`not`, `oneOf`, `if` or the like) the strings that such a format leaves out are\nleft out, too, for `date-time`, `time`, `email` and `hostname`; the other narrowed ones are refused there, and so is an `enum` with a string of\nwhich it is not certain. All others are exact there too. \"In the regular expression\" names what `to_regex` leaves out where that is more than the automaton does.\n\n| format | values | constrains | narrowed | in the regular expression |\n|---|---|---|---|---|\n",
    );
    for (name, format) in formats::ALL {
        let (here, there) = (format.narrowed(), format.narrowed_in_regex());
        let more = if here == there { None } else { there };
        out.push_str(&format!(
            "| `{name}` | strings | {} | {} | {} |\n",
            format.meaning(),
            here.unwrap_or(""),
            more.unwrap_or("")
        ));
    }
    for (name, format) in number_formats::ALL {
        let step = format
            .step
            .map_or("integers".to_owned(), |s| format!("multiples of {s}"));
        out.push_str(&format!(
            "| `{name}` | numbers | {step}, {} to {} | | |\n",
            format.low, format.high
        ));
    }
    let hints: Vec<String> = formats::HINTS.iter().map(|h| format!("`{h}`")).collect();
    out.push_str(&format!(
        "\nAnnotations, and accepted by `Formats::Strict`: {}. `float` and `double` constrain nothing, since any JSON number is read as the\nnearest one; the others are hints about text. All further names are unknown: annotations, or refused by `Formats::Strict`.\n",
        hints.join(", ")
    ));
}
