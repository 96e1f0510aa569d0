//! What people read, what limits do, and what guides promise.

use std::sync::Arc;

use fsm_index::{
    AddedTokens, Config, Dfa, Error, ErrorKind, Fill, Guide, Index, IndexConfig, Symbols, TokenId,
    TokenKind, Vocabulary, VocabularyBuilder,
};

fn ids(tokens: &[u32]) -> Vec<TokenId> {
    tokens.iter().copied().map(TokenId::new).collect()
}

fn words(words: &[&str]) -> Vocabulary {
    let tokens = words
        .iter()
        .zip(0..)
        .map(|(w, id)| (w.as_bytes(), TokenId::new(id)));
    Vocabulary::new(tokens, [TokenId::new(words.len() as u32)]).unwrap()
}

/// All single bytes as tokens 0..=255, then `words`, then an end token.
fn bytes_and(words: &[&str]) -> Vocabulary {
    let bytes = (0..=255u8).map(|b| vec![b]);
    let words = words.iter().map(|w| w.as_bytes().to_vec());
    let tokens: Vec<_> = bytes.chain(words).zip((0..).map(TokenId::new)).collect();
    let end = TokenId::new(tokens.len() as u32);
    Vocabulary::new(tokens, [end]).unwrap()
}

fn guide(pattern: &str, vocabulary: &Vocabulary) -> Guide {
    Guide::new(Arc::new(Index::new(pattern, vocabulary).unwrap()))
}

#[test]
fn the_table_shows_states_and_classes() {
    let dfa = Dfa::new("A[0-9]+|\"[^\"\n]*\"").unwrap();
    insta::assert_snapshot!(dfa.table());
}

#[test]
fn the_graph_is_graphviz() {
    insta::assert_snapshot!(Dfa::new("a(b|\\\\)*é").unwrap().dot());
}

#[test]
fn the_trace_says_where_a_text_stops() {
    let dfa = Dfa::new("A[^B]{2}").unwrap();
    let traces =
        ["A\u{e9} ", "AxB", "A", "Axyz"].map(|text| format!("{text:?}\n{}", dfa.trace(text)));
    let bad = dfa.trace(b"A\xFF");
    insta::assert_snapshot!(format!("{}\n\ninvalid UTF-8\n{bad}", traces.join("\n\n")));
}

#[test]
fn bytes_can_be_symbols() {
    let config = Config {
        symbols: Symbols::Bytes,
        ..Config::default()
    };
    let dfa = Dfa::with_config(r"(?-u:\xFF)+\n|é", &config).unwrap();
    assert!(dfa.accepts(b"\xFF\xFF\n"));
    assert!(dfa.accepts("é"));
    assert!(!dfa.accepts(b"\n"));
    assert_eq!(
        dfa.to_bytes(&config).unwrap().state_count(),
        dfa.state_count()
    );
    insta::assert_snapshot!(dfa.table());
}

#[test]
fn patterns_look_around() {
    for (pattern, yes, no) in [
        (r"(?=.*\d)[a-z0-9]{4}", "ab1c", "abcd"),
        (r"(?s)/\*(?:(?!\*/).)*\*/", "/* a\n* */", "/* */ */"),
        (r"\bcat\b.*", "cat é", "cats"),
        (r"(?-u:\b).\b", "a", "-"),
        (r".*\B.", "aé", "-é"),
        (r"\w+\b{end}.*", "é-", ""),
        (r"[a-z-]+(?<!-)", "a-b", "a-"),
        (r"a(?<lookout>b)(?=c)c", "abc", "ab"),
        (r"(?mR)^a$[\r\n]+^b$", "a\r\nb", "ab"),
        (r"(?x)( ?<= ^ | - ) (?= a b ) ..", "ab", "ba"),
    ] {
        for symbols in [Symbols::Chars, Symbols::Bytes] {
            let config = Config {
                symbols,
                ..Config::default()
            };
            // A word of Unicode has thousands of spellings in bytes, each a way to look for.
            let has_words = [r"\b", r"\B"].iter().any(|b| pattern.contains(b));
            if symbols == Symbols::Bytes && has_words {
                continue;
            }
            let dfa =
                Dfa::with_config(pattern, &config).unwrap_or_else(|e| panic!("{pattern}: {e}"));
            let bytes = dfa.to_bytes(&config).unwrap();
            for (text, expected) in [(yes, true), (no, false)] {
                assert_eq!(dfa.accepts(text), expected, "{pattern} {text:?}");
                assert_eq!(bytes.accepts(text), expected, "{pattern} {text:?}");
            }
        }
    }
}

/// Each look is read once more, which the limit of work sees.
#[test]
fn many_looks_are_bounded() {
    let pattern = "(?!b)a".repeat(20_000);
    let error = Dfa::new(&pattern).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    let nested = format!("{}a{}", "(?=".repeat(100), ")".repeat(100));
    assert_eq!(
        Dfa::new(&format!("{nested}a")).unwrap().state_count(),
        2,
        "nested"
    );
}

#[test]
fn errors_say_where_and_what() {
    let shown = |error: Error| format!("{:?} at {:?}: {error}", error.kind(), error.offset());
    let limited =
        |pattern: &str, config: Config| shown(Dfa::with_config(pattern, &config).unwrap_err());
    let vocabulary = words(&["a", "b", "ab"]);
    let mut at_a = guide("ab?", &vocabulary);
    at_a.advance(TokenId::new(0)).unwrap();
    let read = |json: &str| shown(Vocabulary::from_tokenizer_json(json.as_bytes()).unwrap_err());
    let default = Config::default();
    let errors = [
        shown(Dfa::new("a(b").unwrap_err()),
        shown(Dfa::new(r"(?<=a)(?!b)\q").unwrap_err()),
        shown(Dfa::new(r"(?=a)(a)\1").unwrap_err()),
        shown(Dfa::new(r"(?=a)(?<!b)(").unwrap_err()),
        shown(Dfa::new(r"a(?=b)").unwrap_err()),
        shown(Dfa::new(r"(?-u:\xFF)").unwrap_err()),
        shown(Dfa::new("a[^\u{0}-\u{10FFFF}]").unwrap_err()),
        shown(Dfa::new("x$y").unwrap_err()),
        limited(
            "((((a))))",
            Config {
                nest_limit: 3,
                ..default.clone()
            },
        ),
        limited(
            "a{1000}",
            Config {
                max_nfa_states: 100,
                ..default.clone()
            },
        ),
        limited(
            "a{1000}",
            Config {
                max_states: 100,
                ..default.clone()
            },
        ),
        limited(
            "a{1000}",
            Config {
                max_table_bytes: 1000,
                ..default.clone()
            },
        ),
        limited(
            "(?:[ab]*a[ab]{18})",
            Config {
                max_work: 10_000,
                ..default.clone()
            },
        ),
        shown(Index::new("[a-z]c", &vocabulary).unwrap_err()),
        shown(
            Index::with_config(
                "[ab]",
                &vocabulary,
                &default,
                &IndexConfig {
                    max_row_bytes: 10,
                    ..IndexConfig::default()
                },
            )
            .unwrap_err(),
        ),
        shown(at_a.advance(TokenId::new(0)).unwrap_err()),
        shown(at_a.advance(TokenId::new(9)).unwrap_err()),
        shown(
            guide("ab", &vocabulary)
                .advance(TokenId::new(3))
                .unwrap_err(),
        ),
        shown(at_a.rollback(2).unwrap_err()),
        read("{"),
        read("{}"),
        read(r#"{"model": {"type": "WordPiece", "vocab": {}}}"#),
        read(r#"{"model": {"type": "BPE", "vocab": {"a": -1}}, "decoder": {"type": "ByteLevel"}}"#),
        read(r#"{"model": {"type": "BPE", "vocab": {"a": 1}}, "decoder": {"type": "CTC"}}"#),
        read(
            r#"{"model": {"type": "BPE", "vocab": {"a": 1, "b": 1}}, "decoder": {"type": "ByteLevel"}}"#,
        ),
        read(
            r#"{"model": {"type": "BPE", "vocab": {"a": 99999999}}, "decoder": {"type": "ByteLevel"}}"#,
        ),
        shown(Vocabulary::from_tiktoken(b"YQ== 0\nYg== x\n", &[], &[]).unwrap_err()),
        shown(vocabulary.with_width(2).unwrap_err()),
        shown(vocabulary.with_ends([TokenId::new(70)]).unwrap_err()),
    ];
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn endless_repetitions_of_nothing_end() {
    assert!(
        Dfa::new("(?:(?:){4000000000}){4000000000}")
            .unwrap()
            .accepts("")
    );
    assert!(Dfa::new("(?:a*)*").unwrap().accepts("aaa"));
}

#[test]
fn counted_unicode_stays_small() {
    let config = Config::default();
    let dfa = Dfa::new(r#""[^"\\\x00-\x1f]{0,1000}""#).unwrap();
    assert_eq!(dfa.state_count(), 1003);
    // Seven more for each position: what is left of characters of 2 to 4 bytes.
    assert!(dfa.to_bytes(&config).unwrap().state_count() < 9_000);
}

#[test]
fn several_ends_and_structure() {
    let mut builder = VocabularyBuilder::new();
    for (id, text) in ["<", "a", ">", "<a>"].iter().enumerate() {
        builder.text(TokenId::new(id as u32), text).unwrap();
    }
    builder.special(TokenId::new(4), "<a>").unwrap();
    builder
        .end(TokenId::new(5))
        .unwrap()
        .end(TokenId::new(7))
        .unwrap();
    let vocabulary = builder.build().unwrap();
    assert_eq!(vocabulary.width(), 8);
    assert_eq!(vocabulary.kind(TokenId::new(6)), TokenKind::Absent);
    let mut guide = guide("<a>", &vocabulary);
    assert_eq!(guide.allowed_tokens().unwrap(), ids(&[0, 3]));
    assert!(guide.advance(TokenId::new(4)).is_err());
    guide.advance(TokenId::new(3)).unwrap();
    assert_eq!(guide.allowed_tokens().unwrap(), ids(&[5, 7]));
    assert!(guide.is_finished());
    guide.advance(TokenId::new(7)).unwrap();
    assert!(guide.mask().unwrap().is_empty());
    guide.rollback(1).unwrap();
    assert_eq!(guide.allowed_tokens().unwrap(), ids(&[5, 7]));
    let one = vocabulary.with_ends([TokenId::new(7)]).unwrap();
    assert_eq!(one.ends(), ids(&[7]));
    assert_eq!(one.kind(TokenId::new(5)), TokenKind::Special);
}

#[test]
fn byte_fallback_and_metaspace_are_read() {
    let json = r#"{
        "added_tokens": [
            {"id": 0, "content": "</s>", "special": true},
            {"id": 9, "content": "<tool_call>", "special": false},
            {"id": 10, "content": "  ", "special": false}
        ],
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"}, {"type": "Fuse"}]},
        "model": {"type": "BPE", "byte_fallback": true,
                  "vocab": {"</s>": 0, "<0x0A>": 1, "▁a": 2, "<0xC3>": 3, "é": 4, "<0xzz>": 5}}
    }"#;
    let vocabulary = Vocabulary::from_tokenizer_json(json.as_bytes()).unwrap();
    let bytes = |id| vocabulary.token_bytes(TokenId::new(id));
    assert_eq!(vocabulary.ends(), ids(&[0]));
    assert_eq!(bytes(1), Some(&b"\n"[..]));
    assert_eq!(bytes(2), Some(&b" a"[..]));
    assert_eq!(bytes(3), Some(&b"\xC3"[..]));
    assert_eq!(bytes(5), Some(&b"<0xzz>"[..]));
    assert_eq!(bytes(10), Some(&b"  "[..]));
    assert_eq!(vocabulary.kind(TokenId::new(9)), TokenKind::Special);
    assert_eq!(vocabulary.special("<tool_call>"), Some(TokenId::new(9)));
    assert_eq!(vocabulary.missing_bytes().len(), 254);
    let text = Vocabulary::from_tokenizer_json_with(json.as_bytes(), AddedTokens::Text).unwrap();
    assert_eq!(text.token_bytes(TokenId::new(9)), Some(&b"<tool_call>"[..]));
}

#[test]
fn byte_level_and_tiktoken_agree() {
    let json = r#"{"decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": {"Ġa": 0, "Ċ": 1, "Ã": 2, "©": 3}}}"#;
    let from_json = Vocabulary::from_tokenizer_json(json.as_bytes()).unwrap();
    let from_ranks =
        Vocabulary::from_tiktoken(b"IGE= 0\r\nCg== 1\nww== 2\nqQ== 3\n", &[], &[]).unwrap();
    assert_eq!(from_json.fingerprint(), from_ranks.fingerprint());
    let more =
        Vocabulary::from_tiktoken(b"YQ== 0", &[("<|x|>", TokenId::new(1))], &[TokenId::new(1)]);
    let more = more.unwrap();
    assert_eq!(more.token_name(TokenId::new(1)), Some(&b"<|x|>"[..]));
    assert_eq!(more.ends(), ids(&[1]));
}

#[test]
fn forced_bytes_stop_at_choices_and_ends() {
    let vocabulary = bytes_and(&[]);
    assert_eq!(
        guide(r#"\{"a": (1|2)\}"#, &vocabulary).forced_bytes(),
        b"{\"a\": "
    );
    assert_eq!(guide("ab(c)?", &vocabulary).forced_bytes(), b"ab");
    assert_eq!(guide("é|è", &vocabulary).forced_bytes(), b"\xC3");
    let mut done = guide("a", &vocabulary);
    done.advance(TokenId::new(b'a'.into())).unwrap();
    assert!(done.forced_bytes().is_empty());
}

#[test]
fn forced_tokens_never_reach_into_what_follows() {
    // 256: `":`, 257: `": "`, 258: `{"`.
    let vocabulary = bytes_and(&["\":", "\": \"", "{\""]);
    let encode = |bytes: &[u8]| -> Vec<TokenId> {
        match bytes {
            b"{\"a\": " => ids(&[258, 97, 256, 32]),
            other => panic!("{other:?}"),
        }
    };
    // A number follows: no token reaches over the blank, all four are kept.
    let numbers = guide(r#"\{"a": [0-9]\}"#, &vocabulary);
    assert_eq!(numbers.forced_tokens(encode), ids(&[258, 97, 256, 32]));
    // A string may follow: `": "` could be one token, so `":` is not certain.
    let either = guide(r#"\{"a": ("x"|[0-9])\}"#, &vocabulary);
    assert_eq!(either.forced_tokens(encode), ids(&[258, 97]));
    // A tokenizer that changes the text forces nothing.
    assert!(numbers.forced_tokens(|_| ids(&[97])).is_empty());
    assert!(numbers.forced_tokens(|_| ids(&[999])).is_empty());
}

#[test]
fn a_vocabulary_without_an_end_token_finishes_by_itself() {
    let tokens = [(b"a", TokenId::new(0))];
    let vocabulary = Vocabulary::new(tokens, []).unwrap();
    let mut guide = guide("aa?", &vocabulary);
    guide.advance(TokenId::new(0)).unwrap();
    assert!(guide.is_accepting() && !guide.is_finished());
    guide.advance(TokenId::new(0)).unwrap();
    assert!(guide.is_finished() && guide.mask().unwrap().is_empty());
    assert_eq!(
        guide.advance(TokenId::new(0)).unwrap_err().kind(),
        ErrorKind::TokenRefused
    );
}

#[test]
fn missing_bytes_leave_out_only_what_needs_them() {
    let vocabulary = words(&["a", "b", "ab", "bc"]);
    // `c` is no token by itself, but `bc` is one.
    let allowed = |pattern| guide(pattern, &vocabulary).allowed_tokens().unwrap();
    assert_eq!(allowed("a*b|ac"), ids(&[0, 1, 2]));
    assert_eq!(allowed("abc|b"), ids(&[0, 1]));
    assert_eq!(allowed("abca|bx|b"), ids(&[0, 1]));
    let lazy = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    let index = Index::with_config("(a|b)c|b", &vocabulary, &Config::default(), &lazy).unwrap();
    let mut guide = Guide::new(Arc::new(index));
    // After `a` only `c` could come, which no token begins with.
    assert_eq!(guide.allowed_tokens().unwrap(), ids(&[1, 3]));
    assert!(guide.advance(TokenId::new(0)).is_err());
}

#[test]
fn the_same_rows_whatever_the_threads() {
    let vocabulary = bytes_and(&["ab", "abc", "zz"]);
    let build = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| Index::new("[a-z]{1,20}é?", &vocabulary).unwrap().to_bytes())
    };
    assert_eq!(build(1).unwrap(), build(3).unwrap());
}

#[test]
fn a_lazy_index_serves_many_threads() {
    let vocabulary = bytes_and(&["aa", "aaa"]);
    let lazy = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    let index = Index::with_config("a{0,200}b", &vocabulary, &Config::default(), &lazy).unwrap();
    let index = Arc::new(index);
    assert_eq!(index.stats().rows, 0);
    std::thread::scope(|scope| {
        for step in 1..=3 {
            let index = index.clone();
            scope.spawn(move || {
                let mut guide = Guide::new(index);
                for _ in 0..200 / step {
                    let token = [0, 97, 256, 257][step];
                    assert!(guide.mask().unwrap().allows(TokenId::new(token)));
                    guide.advance(TokenId::new(token)).unwrap();
                }
            });
        }
    });
    assert!(index.stats().rows >= 3);
}

#[test]
fn patterns_as_deep_as_the_limit_fit_a_small_stack() {
    // A group, the sequence in it and its repetition are a level each.
    let depth = Config::default().nest_limit as usize;
    let nested = |groups| format!("{}b{}", "(?:a".repeat(groups), "|c)?".repeat(groups));
    assert_eq!(
        Dfa::new(&nested(depth)).unwrap_err().kind(),
        ErrorKind::Syntax
    );
    let nested = nested(depth / 4);
    let compile = move || Dfa::new(&nested).unwrap().accepts("aaab");
    // As small as the stacks of test and worker threads are by default.
    let thread = std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(compile)
        .unwrap();
    assert!(!thread.join().unwrap());
}

#[test]
fn landings_are_the_mask_by_where_tokens_lead() {
    let vocabulary = bytes_and(&["aa", "ab", "abc", "bc", "a", "\"a", "b\"", "a\"x", "\u{e9}"]);
    for pattern in ["\"[ab\u{e9}]*\"x?", "(a|b){2,5}c", "a*", "(ab|aabc)?"] {
        let mut guide = guide(pattern, &vocabulary);
        for step in 0..4 {
            let mut tokens: Vec<TokenId> =
                guide.landings().unwrap().into_iter().flatten().collect();
            tokens.sort_unstable();
            assert_eq!(
                tokens,
                guide.allowed_tokens().unwrap(),
                "{pattern}, step {step}"
            );
            for group in guide.landings().unwrap() {
                let after: Vec<Vec<u8>> = group
                    .iter()
                    .map(|&token| {
                        let mut guide = guide.clone();
                        guide.advance(token).unwrap();
                        [guide.completion().unwrap(), guide.allowed_bytes()].concat()
                    })
                    .collect();
                assert!(
                    after.windows(2).all(|pair| pair[0] == pair[1]),
                    "{pattern}: {group:?}"
                );
            }
            let tokens = guide.allowed_tokens().unwrap();
            let Some(&next) = tokens.get(step % tokens.len().max(1)) else {
                break;
            };
            guide.advance(next).unwrap();
        }
        // All characters of a loop lead to one place.
        assert!(guide.landings().unwrap().len() <= 8, "{pattern}");
    }
}
