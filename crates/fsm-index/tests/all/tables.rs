//! The tables of an index, run as their documentation says, against guides.
#![cfg(feature = "regex")]

use std::sync::Arc;

use fsm_index::{Guide, Index, IndexConfig, Tables, TokenId, TokenKind, TokenMask, Vocabulary};

fn step(tables: &Tables, cursor: u32, byte: u8) -> u32 {
    let (state, node) = (cursor >> tables.shift, cursor & ((1 << tables.shift) - 1));
    let code = match (node, byte) {
        (0, _) => u32::from(tables.first[usize::from(byte)]),
        (_, 0x80..=0xBF) => {
            let from = tables.nodes[node as usize - 1] as usize;
            let range = (from..).find(|&i| tables.lasts[i] >= byte - 0x80).unwrap();
            u32::from(tables.codes[range])
        }
        _ => 0,
    };
    if code == 0 {
        return 0;
    }
    if code <= tables.classes {
        return tables.cells[(state * tables.classes + code - 1) as usize] << tables.shift;
    }
    let node = code - tables.classes;
    let set =
        |sets: &[u64], at: u32| sets[at as usize * tables.set_words..][..tables.set_words].to_vec();
    let (live, reach) = (set(&tables.live, state), set(&tables.reach, node - 1));
    match live.iter().zip(&reach).any(|(a, b)| a & b != 0) {
        true => state << tables.shift | node,
        false => 0,
    }
}

fn mask(tables: &Tables, cursor: u32, vocabulary: &Vocabulary) -> TokenMask {
    let (state, node) = (cursor >> tables.shift, cursor & ((1 << tables.shift) - 1));
    let state = tables.alike.get(state as usize).copied().unwrap_or(state);
    let cursor = state << tables.shift | node;
    let at = tables.row_cursors.binary_search(&cursor).unwrap();
    let place = tables.row_places[at] as usize;
    if let Some(mask) = tables.dense.get(place) {
        return mask.clone();
    }
    let row = &tables.packed[place - tables.dense.len()];
    let mut mask = TokenMask::none(vocabulary.width());
    let order = vocabulary.tokens_in_order();
    for &(from, to) in &row.runs {
        for &token in &order[from as usize..to as usize] {
            mask.allow(TokenId::new(token));
        }
    }
    for &token in &row.others {
        mask.allow(TokenId::new(token));
    }
    mask
}

#[test]
fn tables_run_as_documented() {
    let words = [
        "a", "b", "ab", "aab", "é", "éa", "\u{20ac}", "日", "日本", "a",
    ];
    let bytes = (0..=255u8).map(|byte| vec![byte]);
    let tokens = bytes.chain(words.iter().map(|word| word.as_bytes().to_vec()));
    let tokens = tokens.zip(0..).map(|(word, id)| (word, TokenId::new(id)));
    let vocabulary = Vocabulary::new(tokens, [TokenId::new(300)]).unwrap();
    for pattern in [
        "(ab|é)*",
        "[a-zé-日]{0,90}x",
        "\\w+( \\w+)?",
        ".{0,70}",
        "\"[^\"]*\"",
    ] {
        for packed_tokens in [None, Some(0), Some(40)] {
            let config = IndexConfig {
                packed_tokens,
                ..IndexConfig::default()
            };
            let index =
                Index::with_config(pattern, &vocabulary, &fsm_index::Config::default(), &config);
            let index = Arc::new(index.unwrap());
            let tables = index.tables().unwrap();
            let mut guide = Guide::new(index);
            let mut cursor = tables.start;
            for turn in 0..60usize {
                let here = guide.mask().unwrap().clone();
                assert_eq!(mask(&tables, cursor, &vocabulary), here, "{pattern}");
                let texts: Vec<TokenId> = here
                    .iter()
                    .filter(|&token| vocabulary.kind(token) == TokenKind::Text)
                    .collect();
                let Some(&token) = texts.get(turn * 7919 % texts.len().max(1)) else {
                    break;
                };
                for &byte in vocabulary.token_bytes(token).unwrap() {
                    cursor = step(&tables, cursor, byte);
                }
                guide.advance(token).unwrap();
                assert_eq!(cursor, guide.state().0);
            }
        }
    }
}
