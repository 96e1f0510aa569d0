//! Random grammars, against a slow recogniser that follows their text alone.

use std::collections::{BTreeMap, BTreeSet};

use fsm_index::{ByteAutomaton, Dfa};
use grammar::{Config, Dialect, Grammar, GrammarAutomaton};
use proptest::prelude::*;

/// What stands on the right side of a rule.
#[derive(Clone, Debug)]
enum Expr {
    Text(&'static str),
    Any,
    Rule(usize),
    Seq(Vec<Expr>),
    Alt(Vec<Expr>),
    Repeat(Box<Expr>, usize, Option<usize>),
}

const NAMES: [&str; 4] = ["root", "b", "c", "d"];

impl Expr {
    fn gbnf(&self) -> String {
        let join = |all: &[Expr], with: &str| {
            let all: Vec<String> = all.iter().map(Expr::gbnf).collect();
            format!("({})", all.join(with))
        };
        match self {
            Expr::Text(text) => format!("{text:?}"),
            Expr::Any => "[ab]".to_owned(),
            Expr::Rule(rule) => NAMES[*rule].to_owned(),
            Expr::Seq(all) => join(all, " "),
            Expr::Alt(all) => join(all, " | "),
            Expr::Repeat(of, min, None) => format!("({}){{{min},}}", of.gbnf()),
            Expr::Repeat(of, min, Some(max)) => format!("({}){{{min},{max}}}", of.gbnf()),
        }
    }

    fn lark(&self) -> String {
        let join = |all: &[Expr], with: &str| {
            let all: Vec<String> = all.iter().map(Expr::lark).collect();
            format!("({})", all.join(with))
        };
        match self {
            Expr::Text("") => "(|)".to_owned(),
            Expr::Any => "/[ab]/".to_owned(),
            Expr::Rule(0) => "start".to_owned(),
            Expr::Seq(all) => join(all, " "),
            Expr::Alt(all) => join(all, " | "),
            Expr::Repeat(of, min, None) => format!("({}){{{min},}}", of.lark()),
            Expr::Repeat(of, min, Some(max)) => format!("({}){{{min},{max}}}", of.lark()),
            _ => self.gbnf(),
        }
    }

    /// Where it can end that begins at `at`, by what is known of rules.
    fn ends(&self, text: &[u8], at: usize, known: &Known) -> BTreeSet<usize> {
        match self {
            Expr::Text(own) => match text[at..].starts_with(own.as_bytes()) {
                true => [at + own.len()].into(),
                false => BTreeSet::new(),
            },
            Expr::Any => (at < text.len()).then_some(at + 1).into_iter().collect(),
            Expr::Rule(rule) => known.get(&(*rule, at)).cloned().unwrap_or_default(),
            Expr::Seq(all) => all.iter().fold([at].into(), |from: BTreeSet<usize>, expr| {
                from.iter()
                    .flat_map(|&at| expr.ends(text, at, known))
                    .collect()
            }),
            Expr::Alt(all) => all
                .iter()
                .flat_map(|expr| expr.ends(text, at, known))
                .collect(),
            Expr::Repeat(of, min, max) => {
                let mut from: BTreeSet<usize> = [at].into();
                let mut out = BTreeSet::new();
                // More often than the text is long adds nothing new.
                for count in 0..=max.unwrap_or(min + text.len() + 1) {
                    if count >= *min {
                        out.extend(&from);
                    }
                    from = from
                        .iter()
                        .flat_map(|&at| of.ends(text, at, known))
                        .collect();
                }
                out
            }
        }
    }
}

type Known = BTreeMap<(usize, usize), BTreeSet<usize>>;

/// Whether the rules take a text: what each takes from each place, to a fixpoint.
fn takes(rules: &[Expr], text: &[u8]) -> bool {
    let mut known = Known::new();
    loop {
        let mut changed = false;
        for (rule, body) in rules.iter().enumerate() {
            for at in 0..=text.len() {
                let ends = body.ends(text, at, &known);
                let before = known.entry((rule, at)).or_default();
                changed |= !ends.is_subset(before);
                before.extend(ends);
            }
        }
        if !changed {
            return known[&(0, 0)].contains(&text.len());
        }
    }
}

fn expr() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        3 => prop::sample::select(&["a", "b"][..]).prop_map(Expr::Text),
        1 => Just(Expr::Any),
        1 => Just(Expr::Text("")),
        5 => (0..NAMES.len()).prop_map(Expr::Rule),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            4 => prop::collection::vec(inner.clone(), 1..4).prop_map(Expr::Seq),
            3 => prop::collection::vec(inner.clone(), 1..4).prop_map(Expr::Alt),
            2 => (inner, 0..3usize, prop::option::of(0..3usize)).prop_map(|(of, min, more)| {
                Expr::Repeat(Box::new(of), min, more.map(|more| min + more))
            }),
        ]
    })
}

fn rules() -> impl Strategy<Value = Vec<Expr>> {
    prop::collection::vec(expr(), NAMES.len())
}

/// All texts over some characters, to a length.
fn texts(chars: &[u8], most: usize) -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new()];
    let mut from = 0;
    for _ in 0..most {
        let to = all.len();
        for at in from..to {
            for &c in chars {
                let mut text = all[at].clone();
                text.push(c);
                all.push(text);
            }
        }
        from = to;
    }
    all
}

/// What may be begun can be finished, by its completion, and what is accepted was alive.
fn compare(
    automaton: &GrammarAutomaton,
    rules: &[Expr],
    texts: &[Vec<u8>],
    meant: impl Fn(&[u8]) -> Vec<u8>,
) -> Result<(), TestCaseError> {
    let mut scratch = automaton.scratch();
    for text in texts {
        let expected = takes(rules, &meant(text));
        let shown = String::from_utf8_lossy(text);
        prop_assert_eq!(automaton.accepts(text), expected, "{:?}", shown);
        let mut state = automaton.start();
        if automaton.advance(&mut state, text, &mut scratch).is_ok() {
            let mut whole = text.clone();
            automaton.completion(&state, fsm_index::MAX_COMPLETION, &mut whole);
            prop_assert!(
                automaton.accepts(&whole),
                "{:?} completed to {:?}",
                shown,
                whole
            );
            prop_assert!(
                takes(rules, &meant(&whole)),
                "{:?} completed to {:?}",
                shown,
                whole
            );
            let shorter = texts
                .iter()
                .filter(|other| other.starts_with(text) && other.len() < whole.len());
            for other in shorter {
                prop_assert!(
                    !takes(rules, &meant(other)),
                    "{:?} is shorter than {:?}",
                    other,
                    whole
                );
            }
        }
    }
    Ok(())
}

/// Limits under which no grammar has too many ways to be read, because the texts are short.
fn any_cost() -> Config {
    Config {
        max_walk_work: usize::MAX,
        ..Config::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_split_counts(rules in rules()) {
        let lines: Vec<String> = rules.iter().zip(NAMES).map(|(rule, name)| format!("{name} ::= {}\n", rule.gbnf())).collect();
        let texts = texts(b"ab", 5);
        let any = texts.iter().any(|text| takes(&rules, text));
        match Grammar::compile(&lines.concat(), Dialect::Gbnf, &any_cost()) {
            Ok(automaton) => compare(&automaton, &rules, &texts, |text| text.to_vec())?,
            Err(error) => {
                prop_assert!(!any, "{}", error);
                prop_assert_eq!(error.kind(), grammar::ErrorKind::EmptyLanguage);
            }
        }
    }

    /// Terminals of one character, so that ignored text may stand everywhere.
    #[test]
    fn ignored_text_may_come_between_lexemes(rules in rules()) {
        let names = ["start", "b", "c", "d"];
        let mut text: String = rules.iter().zip(names).map(|(rule, name)| format!("{name}: {}\n", rule.lark())).collect();
        text.push_str("%ignore \"c\"\n");
        if let Ok(automaton) = Grammar::compile(&text, Dialect::LarkSplits, &any_cost()) {
            let without = |text: &[u8]| text.iter().copied().filter(|&c| c != b'c').collect();
            compare(&automaton, &rules, &texts(b"abc", 4), without)?;
        }
    }

    /// Greedy lexing by its own words: at each place the terminals that the parser expects
    /// run side by side, the longest decides, and all that end there go on. The parser is
    /// one over letters, of which each stands for a terminal.
    #[test]
    fn the_longest_match_counts(
        rules in rules(),
        terminals in prop::sample::select(&TERMINALS[..]),
        ignored in prop::sample::select(&IGNORED[..]),
        once: bool,
    ) {
        let names = ["start", "b", "c", "d"];
        let mut lark: String = rules.iter().zip(names).map(|(rule, name)| {
            let [a, b, c] = terminals.map(|terminal| format!("/{terminal}/"));
            let any = format!("({a}|{b}|{c})");
            // Each is put in once: an expression may look like another's name.
            let text = rule.lark().replace("/[ab]/", "<any>").replace("\"a\"", "<a>").replace("\"b\"", "<b>");
            let text = text.replace("<any>", &any).replace("<a>", &a).replace("<b>", &b);
            format!("{name}: {text}\n")
        }).collect();
        // Three letters for the parser's alphabet: a class of them stands for any.
        let letters: Vec<String> = rules.iter().zip(NAMES).map(|(rule, name)| {
            format!("{name} ::= {}\n", rule.gbnf().replace("[ab]", "[abc]"))
        }).collect();
        if let Some(ignored) = ignored {
            lark.push_str(&format!("%ignore /{ignored}/\n%llguidance {{\"ignore_once\": {once}}}\n"));
        }
        let Ok(parser) = Grammar::from_gbnf(&letters.concat()) else {
            return Ok(());
        };
        let all = terminals.iter().copied().chain(ignored);
        let dfas: Vec<Dfa> = all.map(|expression| Dfa::new(expression).unwrap()).collect();
        let slow = Slow { parser: &parser, dfas: &dfas, terminals: terminals.len(), once };
        let texts = texts(if ignored.is_some() { b"abc " } else { b"abc" }, 4);
        let automaton = match Grammar::compile(&lark, Dialect::Lark, &any_cost()) {
            Ok(automaton) => automaton,
            Err(error) => {
                prop_assert_eq!(error.kind(), grammar::ErrorKind::EmptyLanguage);
                for text in &texts {
                    prop_assert!(!slow.accepts(text), "{:?} {}", text, error);
                }
                return Ok(());
            }
        };
        let mut scratch = automaton.scratch();
        for text in &texts {
            let expected = slow.accepts(text);
            prop_assert_eq!(automaton.accepts(text), expected, "{:?}\n{}", String::from_utf8_lossy(text), lark);
            let mut state = automaton.start();
            if automaton.advance(&mut state, text, &mut scratch).is_ok() {
                let mut whole = text.clone();
                let completed = automaton.completion(&state, fsm_index::MAX_COMPLETION, &mut whole);
                prop_assert!(completed.is_some() && slow.accepts(&whole), "{:?} completed to {:?}\n{}", text, whole, lark);
            }
        }
    }
}

/// Alternatives of rules with strings, in which text and expressions in brackets stand, and with brackets outside of
/// strings; some of the brackets are operators, too. Letters are terminals: the quotation mark `a`, text `b`, an
/// opening bracket in strings `c`, a closing one `d`, an operator `e`, a name `f` and an opening bracket elsewhere `g`.
const STRINGS: [&str; 10] = [
    "a (b | c sum d)* a",
    "a (b | c sum d b)* a",
    "a b? c sum d a",
    "a (b | c sum e f d | f)* a",
    "a items a",
    "a (b | c d)* a | c sum d",
    "a c sum d (b g a | e f a)",
    "a c sum d (b g | e f)* a",
    "a (b | (c | g) sum (d | e))* a",
    "a (b | c sum d | e sum g)* a",
];
const SUMS: [&str; 5] = [
    "atom (e atom)*",
    "atom e? atom | atom",
    "atom e sum | atom",
    "(atom e)* string",
    "atom+",
];
const ATOMS: [&str; 7] = [
    "f | string | g sum d",
    "f | g sum d | g d",
    "f | string | g (sum e)* d",
    "f d | string | g sum",
    "f | string | g g sum d d",
    "f | string | g items d",
    "string | c sum d",
];

/// The expressions of those terminals: texts take brackets and operators, names take what closes.
const MARKS: [[&str; 7]; 7] = [
    ["\"", "[^\"$]+", "[$][(]", "[)]", "[+]", "x", "[(]"],
    ["\"", "[^\"(]+", "[(]", "[)]", "[+]", "x+", "[(]"],
    [
        "\"",
        "[^\"$]+|[$]x",
        "[$][(]",
        "[)]",
        "[+]|[)][)]",
        "x",
        "[(]",
    ],
    ["\"", "[^\"()]+", "[(]", "[)]", "[+]", "x[)]?", "[(]"],
    ["\"", "[^x$]", "[$][(]", "[)]", "[+]", "x|\"\"", "[(]"],
    ["\"", "[^\"]", "[(]", "[)]", "[+]", "x", "[$]"],
    ["\"", "[^\"(]+[(]?", "[(][(]", "[)]", "x[+]", "x", "[(]"],
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() })]

    /// Which bracket is open decides what comes behind a closing one: nothing that was begun comes to a dead end.
    #[test]
    fn brackets_in_strings_and_elsewhere(
        string in prop::sample::select(&STRINGS[..]),
        sum in prop::sample::select(&SUMS[..]),
        atom in prop::sample::select(&ATOMS[..]),
        marks in prop::sample::select(&MARKS[..]),
        ignored in prop::sample::select(&[None, Some(" +")][..]),
        choices in prop::collection::vec(prop::collection::vec(any::<u8>(), 10), 12),
    ) {
        let rules = [("start", "sum"), ("string", string), ("sum", sum), ("atom", atom), ("items", "(b | c sum d)*")];
        let of = |rule: &str, mark: &dyn Fn(usize) -> String| -> String {
            rule.split_inclusive(|c: char| !c.is_alphabetic()).map(|word| {
                let end = word.trim_end_matches(|c: char| !c.is_alphabetic());
                match end.len() {
                    1 => format!("{}{}", mark(usize::from(end.as_bytes()[0] - b'a')), &word[1..]),
                    _ => word.to_owned(),
                }
            }).collect()
        };
        let expression = |at: usize| format!("/{}/", marks[at]);
        let letter = |at: usize| format!("\"{}\"", char::from(b'a' + at as u8));
        let mut lark: String = rules.iter().map(|(name, rule)| format!("{name}: {}\n", of(rule, &expression))).collect();
        let letters: String = rules.iter().map(|(name, rule)| {
            format!("{} ::= {}\n", name.replace("start", "root"), of(rule, &letter))
        }).collect();
        if let Some(ignored) = ignored {
            lark.push_str(&format!("%ignore /{ignored}/\n"));
        }
        let Ok(parser) = Grammar::from_gbnf(&letters) else {
            return Ok(());
        };
        let all = marks.iter().copied().chain(ignored);
        let dfas: Vec<Dfa> = all.map(|expression| Dfa::new(expression).unwrap()).collect();
        let slow = Slow { parser: &parser, dfas: &dfas, terminals: marks.len(), once: false };
        let automaton = match Grammar::compile(&lark, Dialect::Lark, &any_cost()) {
            Ok(automaton) => automaton,
            Err(error) => {
                prop_assert_eq!(error.kind(), grammar::ErrorKind::EmptyLanguage, "{}", lark);
                return Ok(());
            }
        };
        let is_within_limits = Grammar::compile(&lark, Dialect::Lark, &Config::default()).is_ok();
        let mut scratch = automaton.scratch();
        for choices in &choices {
            let mut state = automaton.start();
            let mut text = Vec::new();
            for &choice in choices {
                let is_taken = |byte: &u8, scratch: &mut _| {
                    let mut state = state.clone();
                    automaton.advance(&mut state, &[*byte], scratch).is_ok()
                };
                let bytes: Vec<u8> = b"\"$()+x a".iter().copied().filter(|byte| is_taken(byte, &mut scratch)).collect();
                let Some(&byte) = bytes.get(usize::from(choice) % bytes.len().max(1)) else {
                    break;
                };
                automaton.advance(&mut state, &[byte], &mut scratch).unwrap();
                text.push(byte);
                let mut whole = text.clone();
                let completed = automaton.completion(&state, fsm_index::MAX_COMPLETION, &mut whole);
                // Beyond the limit searches for the end may give up, and say so.
                prop_assert!(completed.is_some() || !is_within_limits, "{:?}\n{}", String::from_utf8_lossy(&text), lark);
                prop_assert!(completed.is_none() || slow.accepts(&whole), "{:?} completed to {:?}\n{}", String::from_utf8_lossy(&text), String::from_utf8_lossy(&whole), lark);
            }
            prop_assert_eq!(automaton.accepts(&text), slow.accepts(&text), "{:?}\n{}", String::from_utf8_lossy(&text), lark);
        }
    }
}

/// The expressions of three terminals, of which some take what begins others.
const TERMINALS: [[&str; 3]; 7] = [
    ["a+", "[ab]c", "ab?"],
    ["a", "[^c]+", "b"],
    ["a[^b]*", "b", "c+"],
    ["ab*", "[^a]", "a c?"],
    // Text between marks that begin and end it.
    ["a", "[^ab]+", "b"],
    ["a", "[^a]+", "bc"],
    ["a[^c]?", "[^ac]+", "c"],
];

/// The expressions of ignored text.
const IGNORED: [Option<&str>; 4] = [None, Some(" +"), Some(" b*"), Some(" [^ac]*a?")];

/// A greedy lexer in front of a parser over letters.
struct Slow<'a> {
    parser: &'a GrammarAutomaton,
    /// One for each of the terminals, and one for ignored text if there is such.
    dfas: &'a [Dfa],
    /// The number of terminals, the first letters of the alphabet.
    terminals: usize,
    /// True if ignored text comes once between two lexemes.
    once: bool,
}

impl Slow<'_> {
    fn goes_on(&self, read: &[u8], terminal: usize) -> bool {
        let mut state = self.parser.start();
        let mut text = read.to_vec();
        text.push(b'a' + terminal as u8);
        self.parser
            .advance(&mut state, &text, &mut self.parser.scratch())
            .is_ok()
    }

    /// Whether a terminal can still match after `lexeme`, and whether it matches it.
    fn reads(&self, terminal: usize, lexeme: &[u8]) -> (bool, bool) {
        let dfa = &self.dfas[terminal];
        let mut state = Some(dfa.start());
        for &byte in lexeme {
            state = state.and_then(|s| dfa.next(s, dfa.alphabet().class_of(byte.into())));
        }
        (state.is_some(), state.is_some_and(|s| dfa.is_accepting(s)))
    }

    fn accepts(&self, text: &[u8]) -> bool {
        // All that the parser may have read, letter by letter.
        let mut read: BTreeSet<Vec<u8>> = [Vec::new()].into();
        let mut at = 0;
        let mut skips = false;
        while at < text.len() {
            let mut allowed: Vec<usize> = (0..self.terminals)
                .filter(|&t| read.iter().any(|read| self.goes_on(read, t)))
                .collect();
            if skips && !allowed.is_empty() {
                allowed.extend(self.terminals..self.dfas.len());
            }
            let mut end = at;
            while end < text.len() && allowed.iter().any(|&t| self.reads(t, &text[at..=end]).0) {
                end += 1;
            }
            let ends: Vec<usize> = allowed
                .iter()
                .copied()
                .filter(|&t| self.reads(t, &text[at..end]).1)
                .collect();
            // Ignored text is read instead of others that end there, too.
            let ignored = self.terminals;
            let is_ignored = self.dfas.len() > ignored && self.reads(ignored, &text[at..end]).1;
            let ends: Vec<usize> = ends
                .into_iter()
                .filter(|&terminal| terminal == ignored || !is_ignored)
                .collect();
            if end == at || ends.is_empty() {
                return false;
            }
            let mut next = BTreeSet::new();
            for &terminal in &ends {
                for read in &read {
                    if terminal == self.terminals {
                        next.insert(read.clone());
                    } else if self.goes_on(read, terminal) {
                        let mut read = read.clone();
                        read.push(b'a' + terminal as u8);
                        next.insert(read);
                    }
                }
            }
            read = next;
            at = end;
            skips = !(self.once && is_ignored);
        }
        read.iter().any(|read| self.parser.accepts(read))
    }
}
