//! Patterns of a few bytes that stand for more than a machine has: what they cost is charged
//! where it arises, so they are refused by the name of a limit before it is spent.

use fsm_index::{Config, Dfa, ErrorKind, Symbols};

/// The limit by which a pattern is refused, or how many states it has.
fn outcome(pattern: &str, config: &Config) -> Result<usize, String> {
    let built = Dfa::with_config(pattern, config).and_then(|dfa| {
        dfa.to_bytes(config)?;
        Ok(dfa.state_count())
    });
    built.map_err(|error| {
        assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
        let message = error.to_string();
        let name = message.split('`').nth(1).unwrap_or_default();
        name.to_owned()
    })
}

/// Under a fifth of what is allowed by default, so that the tests are quick.
fn small(pattern: &str) -> Result<usize, String> {
    let config = Config::default();
    let config = Config {
        max_work: config.max_work / 5,
        max_table_bytes: config.max_table_bytes / 5,
        ..config
    };
    outcome(pattern, &config)
}

/// A million copies of a letter in 19 bytes: their sets of states filled 1.6 GB before the
/// table did, because only the table was counted.
#[test]
fn sets_of_states_are_charged() {
    for pattern in ["(a{1,1000}){1,1000}", &"a?".repeat(50_000)] {
        let refused = small(pattern);
        assert!(refused.is_err(), "{refused:?}");
    }
    let patient = Config {
        max_work: usize::MAX,
        max_table_bytes: 16 << 20,
        ..Config::default()
    };
    let sets = outcome(&"a?".repeat(5_000), &patient);
    assert_eq!(sets, Err("max_table_bytes".into()));
    assert_eq!(small(&"a?".repeat(500)), Ok(501));
}

/// Parts that match nothing make no state, so their copies were counted by nobody.
#[test]
fn copies_of_nothing_are_charged() {
    let nothing = format!("(?:{}a){{1000000}}", "()".repeat(1_000));
    assert_eq!(small(&nothing), Err("max_work".into()));
    assert_eq!(small("(?:(?:(?:){1000}){1000}){1000}b"), Ok(2));
    assert_eq!(
        small("(?:(?:a{1000}){1000}){1000}"),
        Err("max_table_bytes".into())
    );
}

/// A class of Unicode takes six thousand bytes and its name five, and with its other cases a
/// tenth of a millisecond.
#[test]
fn classes_are_charged_before_they_are_made() {
    let classes = r"\p{L}x".repeat(10_000);
    assert_eq!(small(&classes), Err("max_table_bytes".into()));
    let cases = format!("(?i){}", r"\p{L}[\p{Lu}&&\p{Greek}]".repeat(2_000));
    assert_eq!(small(&cases), Err("max_work".into()));
    let nested = format!("(?i){}\\w{}", "[^".repeat(500), "]".repeat(500));
    assert_eq!(small(&nested), Ok(2));
    // A repetition meets one class again and again, which is one set.
    assert_eq!(small(r"\p{L}{1,1000}"), Ok(1_001));
    assert_eq!(small(r"(?i)\p{L}{1,1000}"), Ok(1_001));
    let bytes = Config {
        symbols: Symbols::Bytes,
        ..Config::default()
    };
    let spelt = outcome(r"\p{L}{1,100000}", &bytes);
    assert!(spelt.is_err(), "{spelt:?}");
}

/// Many sets that overlap are many classes, each with a list of its sets; and states whose
/// text differs each had a list of all characters.
#[test]
fn alphabets_are_charged() {
    let nested: Vec<String> = (0..5_000)
        .map(|i| format!("[\\x{{100}}-\\x{{{:x}}}]", 0x100 + i))
        .collect();
    assert_eq!(small(&nested.join("|")), Err("max_table_bytes".into()));
    let holes: Vec<String> = (0..5_000)
        .map(|i| format!("[^\\x{{{:x}}}]", 0x100 + i))
        .collect();
    assert_eq!(small(&holes.concat()), Err("max_table_bytes".into()));
    assert_eq!(small(&holes[..500].concat()), Ok(501));
}

/// What is read of a pattern takes a hundred times its length.
#[test]
fn long_patterns_are_charged() {
    for part in [
        "abcdefghij",
        "|||||||||||",
        "()()()()()()",
        "a?b*c+d?",
        "(?i)abcdefgh",
    ] {
        let pattern = part.repeat(30_000);
        assert_eq!(small(&pattern), Err("max_table_bytes".into()), "{part}");
    }
    let words: Vec<String> = (0..10_000).map(|i| format!("w{i}")).collect();
    assert!(small(&words.join("|")).is_ok());
}

/// The subset construction doubles with each letter that is waited for.
#[test]
fn doubling_is_stopped() {
    let refused = small("(a|b)*a(a|b){24}");
    assert!(refused.is_err(), "{refused:?}");
    let wide: Vec<String> = ('\u{4E00}'..'\u{4E28}')
        .map(|c| format!(".*{c}.*"))
        .collect();
    assert_eq!(small(&wide.concat()), Ok(41));
    assert_eq!(small(&wide[..8].join("|")), Ok(2));
    let each: Vec<String> = wide.iter().map(|one| format!("(?:{one})x")).collect();
    assert_eq!(small(&each.join("|")), Err("max_work".into()));
}

/// A megabyte of pattern must not come back as a message.
#[test]
fn messages_stay_short() {
    let long = "x".repeat(300_000);
    let group = format!("{long}(?P<{long}>a)(?P<{long}>b)");
    for pattern in [
        format!("{long}("),
        format!("[{long}"),
        format!("{long}\\b"),
        group,
    ] {
        let Err(error) = Dfa::new(&pattern) else {
            panic!("it is no pattern");
        };
        assert!(
            error.to_string().len() < 1_200,
            "{}",
            error.to_string().len()
        );
    }
}
