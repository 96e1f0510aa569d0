//! The notation of the W3C: what its recommendation of XML says in section 6, and grammars that are written in it.

mod common;

use grammar::{Config, Dialect, ErrorKind, Grammar};
use proptest::prelude::*;

use common::{compile, takes};

/// Productions of XML 1.0, fifth edition, as they are printed there, with numbers and notes.
const XML: &str = r##"
[39]   	element	   ::=   	 EmptyElemTag
			| STag content ETag 	[WFC: Element Type Match]
				[VC: Element Valid]
[40]   	STag	   ::=   	'<' Name (S Attribute)* S? '>'	[WFC: Unique Att Spec]
[41]   	Attribute	   ::=   	 Name Eq AttValue 	[VC: Attribute Value Type]
[42]   	ETag	   ::=   	'</' Name S? '>'
[43]   	content	   ::=   	 CharData? ((element | Reference | CDSect | PI | Comment) CharData?)*
[44]   	EmptyElemTag	   ::=   	'<' Name (S Attribute)* S? '/>'	[WFC: Unique Att Spec]
[2]   	Char	   ::=   	#x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF]	/* any Unicode character, excluding the surrogate blocks, FFFE, and FFFF. */
[3]   	S	   ::=   	(#x20 | #x9 | #xD | #xA)+
[4]   	NameStartChar	   ::=   	":" | [A-Z] | "_" | [a-z] | [#xC0-#xD6] | [#xD8-#xF6] | [#xF8-#x2FF] | [#x370-#x37D] | [#x37F-#x1FFF] | [#x200C-#x200D] | [#x2070-#x218F] | [#x2C00-#x2FEF] | [#x3001-#xD7FF] | [#xF900-#xFDCF] | [#xFDF0-#xFFFD] | [#x10000-#xEFFFF]
[4a]   	NameChar	   ::=   	 NameStartChar | "-" | "." | [0-9] | #xB7 | [#x0300-#x036F] | [#x203F-#x2040]
[5]   	Name	   ::=   	 NameStartChar (NameChar)*
[10]   	AttValue	   ::=   	'"' ([^<&"] | Reference)* '"'
			|  "'" ([^<&'] | Reference)* "'"
[14]   	CharData	   ::=   	[^<&]* - ([^<&]* ']]>' [^<&]*)
[15]   	Comment	   ::=   	'<!--' ((Char - '-') | ('-' (Char - '-')))* '-->'
[16]   	PI	   ::=   	'<?' PITarget (S (Char* - (Char* '?>' Char*)))? '?>'
[17]   	PITarget	   ::=   	 Name - (('X' | 'x') ('M' | 'm') ('L' | 'l'))
[18]   	CDSect	   ::=   	 CDStart CData CDEnd
[19]   	CDStart	   ::=   	'<![CDATA['
[20]   	CData	   ::=   	(Char* - (Char* ']]>' Char*))
[21]   	CDEnd	   ::=   	']]>'
[25]   	Eq	   ::=   	 S? '=' S?
[66]   	CharRef	   ::=   	'&#' [0-9]+ ';'
			| '&#x' [0-9a-fA-F]+ ';'	[WFC: Legal Character]
[67]   	Reference	   ::=   	 EntityRef | CharRef
[68]   	EntityRef	   ::=   	'&' Name ';'	[WFC: Entity Declared]
				[VC: Entity Declared]
"##;

#[test]
fn xml_is_read_as_it_is_printed() {
    takes(
        Dialect::W3c,
        XML,
        &[
            "<a/>",
            "<a b='1' c=\"&#x41;&amp;\">x<!-- a-b --><?p q?r?></a>",
            "<é>x]]y<![CDATA[<>]]]></é>",
            "<a>&#1;</a >",
            "<a><?xmlx?></a>",
        ],
        &[
            "",
            "<a>",
            "<a><!-- a--b --></a>",
            "<a><!-- - ---></a>",
            "<a>x]]>y</a>",
            "<a><?xmL x?></a>",
            "<a b='<'/>",
            "<1/>",
            "<a>&#;</a>",
            "<a>\u{1}</a>x",
        ],
    );
}

#[test]
fn sparql_is_read_as_it_is_printed() {
    // Of the recommendation of SPARQL 1.1, section 19.8: sets without escapes, rules that end in the next one.
    let sparql = r##"
[111]  	PropertyOrIri	  ::=  	iri ( ',' iri )*
[136]  	iri	  ::=  	IRIREF |	PrefixedName
[137]  	PrefixedName	  ::=  	PNAME_LN | PNAME_NS
[139]  	IRIREF	  ::=  	'<' ([^<>"{}|^`\]-[#x00-#x20])* '>'
[140]  	PNAME_NS	  ::=  	PN_PREFIX? ':'
[141]  	PNAME_LN	  ::=  	PNAME_NS VARNAME
[166]  	VARNAME	  ::=  	( PN_CHARS_U | [0-9] ) ( PN_CHARS_U | [0-9] | #x00B7 )*
[164]  	PN_CHARS_BASE	  ::=  	[A-Z] | [a-z] | [#x00C0-#x00D6] | [#x10000-#xEFFFF]
[165]  	PN_CHARS_U	  ::=  	PN_CHARS_BASE | '_'
[167]  	PN_PREFIX	  ::=  	PN_CHARS_BASE ((PN_CHARS_U|'.')* PN_CHARS_U)?
"##;
    takes(
        Dialect::W3c,
        sparql,
        &["<http://a/b>", ":x", "a.b:c9,<>", "p:"],
        &["<a b>", "<a\\>", "a.:x", "p", "<a>,"],
    );
}

#[test]
fn parts_mean_what_the_recommendation_says() {
    for (grammar, right, wrong) in [
        (
            "a ::= #x41 #x1F600",
            &["A\u{1F600}"][..],
            &["A", "#x41"][..],
        ),
        (
            "a ::= [#x41#x42g-i]",
            &["A", "B", "h"],
            &["C", "#", "x", "g-i"],
        ),
        ("a ::= [-a]+ [+-]", &["-a+", "a-"], &["a"]),
        ("a ::= [^#x41-#x43]", &["D", "\n", "é"], &["B", ""]),
        ("a ::= [\\n]", &["\\", "n"], &["\n"]),
        ("a ::= '\"' \"'\" '\\'", &["\"'\\"], &["\"'"]),
        ("a ::= 'a' 'b' | 'c'+", &["ab", "cc"], &["abc", "a"]),
        ("a ::= 'a'? ( | 'b' ) ''", &["", "ab", "b"], &["ba"]),
        ("a ::= b b ::= 'x'*", &["", "xx"], &["b"]),
        ("a ::= c-d c-d ::= 'x' c ::= 'y'", &["x"], &["y"]),
        (
            "c ::= [a-z]-'x' | ('a' - 'b')+",
            &["a", "aa", "z"],
            &["x", "ax"],
        ),
        (
            "a ::= a 'x' | b /* [wfc: x] */ [ wfc: so ]\nb ::= [b]",
            &["b", "bxx"],
            &["x"],
        ),
        ("a ::= ('a'+)* - 'aa'", &["", "a", "aaa"], &["aa"]),
        // A number stands first on its line, a set does not.
        ("[1] a ::= 'a'\n[2b] b ::= 'b'", &["a"], &["a2"]),
        ("a ::= 'a' [12] b\nb ::= 'b'", &["a1b", "a2b"], &["ab"]),
    ] {
        takes(Dialect::W3c, grammar, right, wrong);
    }
}

#[test]
fn errors_say_what_to_write() {
    for (grammar, line, what) in [
        ("", 1, "a rule `name ::= expression`"),
        ("a ::= b", 1, "`b` is not defined"),
        ("a ::= 'x'\nb ::= a-a", 2, "blanks around"),
        ("a ::= 'x'\na ::= 'y'", 2, "defined twice"),
        ("a ::= 'x", 1, "`#xA`"),
        ("a ::= []", 1, "`#x5D`"),
        ("a ::= [a", 1, "no end"),
        ("a ::= [z-a]", 1, "wrong order"),
        ("a ::= #xD800", 1, "no character"),
        ("a ::= #x110000", 1, "no character"),
        ("a ::= # so", 1, "a comment `/* .. */`"),
        ("a ::= /* so", 1, "no end"),
        ("a ::= 'x'{3}", 1, "no counts"),
        ("a ::= .", 1, "[#x0-#x10FFFF]"),
        ("a ::= 'x';\nb ::= 'y'", 1, "leave it out"),
        ("a ::= 'x' 'y' - 'z'", 1, "parentheses"),
        ("a ::= 'x' - 'z' 'y'", 1, "parentheses"),
        ("a ::= 'x' - 'z' - 'y'", 1, "parentheses"),
        ("a ::= 'x' -", 1, "expected an expression"),
        ("a ::= ('x'", 1, "expected `)`"),
        ("a ::= * 'x'", 1, "expected an expression"),
        ("a ::= 'x'\n@pass ::= ' '", 2, "write white space"),
        ("a ::= 'x' [wfc: so] 'y'", 1, "another rule"),
        ("a ::= 'x' [wfc: so", 1, "no end"),
        ("a : 'x'", 1, "`::=`"),
        ("a ::= 'x' b = 'y'", 1, "name ::= expression"),
        (
            "a ::= b - 'x'\nb ::= '(' b ')' | 'x'",
            1,
            "without recursion",
        ),
    ] {
        let Err(error) = Grammar::compile(grammar, Dialect::W3c, &Config::default()) else {
            panic!("{grammar} was taken");
        };
        assert_eq!(error.line(), line, "{grammar}: {error}");
        assert!(error.to_string().contains(what), "{grammar}: {error}");
        assert_ne!(error.kind(), ErrorKind::LimitExceeded, "{grammar}: {error}");
    }
}

/// An expression over three letters that both notations write alike, but for quotes.
fn expression() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec!["\"a\"", "\"b\"", "[ab]", "[^a]", "\"ac\"", "r"]);
    part.prop_map(str::to_owned)
        .prop_recursive(4, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.join(" ")),
                prop::collection::vec(inner.clone(), 1..4)
                    .prop_map(|parts| format!("({})", parts.join(" | "))),
                inner.clone().prop_map(|part| format!("({part})*")),
                inner.prop_map(|part| format!("({part})?")),
            ]
        })
}

/// All texts of up to four letters.
fn texts() -> Vec<String> {
    let mut all = vec![String::new()];
    for at in 0.. {
        let before: String = match all.get(at) {
            Some(before) if before.len() < 4 => before.clone(),
            _ => return all,
        };
        all.extend(["a", "b", "c"].map(|letter| format!("{before}{letter}")));
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn it_means_what_gbnf_means(root in expression(), other in expression()) {
        // A set of this notation has no escapes, and these have none.
        let gbnf = format!("root ::= {root}\nr ::= \"c\" | \"c\" ({other})");
        let w3c = format!("root ::= {root} r ::= #x63 | 'c' ({other})").replace("\"a\"", "#x61");
        let gbnf = Grammar::compile(&gbnf, Dialect::Gbnf, &Config::default());
        let w3c = Grammar::compile(&w3c, Dialect::W3c, &Config::default());
        prop_assert_eq!(gbnf.is_ok(), w3c.is_ok());
        if let (Ok(gbnf), Ok(w3c)) = (gbnf, w3c) {
            for text in texts() {
                prop_assert_eq!(gbnf.accepts(&text), w3c.accepts(&text), "{}", text);
            }
        }
    }

    #[test]
    fn a_difference_takes_what_the_one_takes_and_the_other_does_not(one in expression(), other in expression()) {
        let of = |root: &str| compile(Dialect::W3c, &format!("root ::= {root}\nr ::= [c]"));
        let (left, right) = (of(&format!("({one})")), of(&format!("({other})")));
        let both = Grammar::compile(
            &format!("root ::= ({one}) - ({other})\nr ::= 'c'"),
            Dialect::W3c,
            &Config::default(),
        );
        for text in texts() {
            let expected = left.accepts(&text) && !right.accepts(&text);
            match &both {
                Ok(both) => prop_assert_eq!(both.accepts(&text), expected, "{}", text),
                Err(_) => prop_assert!(!expected, "{}", text),
            }
        }
    }

    #[test]
    fn no_text_leads_to_a_panic(text in "[a ()|*+?\\[\\]#x1\"'/*@:=^\n-]{0,60}") {
        let _ = Grammar::compile(&format!("a ::= {text}"), Dialect::W3c, &Config::default());
        let _ = Grammar::compile(&text, Dialect::W3c, &Config::default());
    }
}
