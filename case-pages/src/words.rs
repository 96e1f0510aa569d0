//! A small vocabulary whose masks lead through texts: for example, the token `": "` ends a name and begins a value.

use std::sync::Arc;

use fsm_index::contract::{Effort, check};
use fsm_index::{ByteAutomaton, Guide, Index, IndexConfig, TokenId, Vocabulary};

use crate::{Case, Findings, Scenario};

/// All bytes and some words, the longest first.
pub struct Words {
    vocabulary: Vocabulary,
    longest_first: Vec<(Vec<u8>, TokenId)>,
}

impl Words {
    /// Takes the words that cut a suite's texts at unlucky places.
    pub fn new(words: &[&str]) -> Words {
        let bytes = (0..=255u8).map(|byte| vec![byte]);
        let words = words.iter().map(|text| text.as_bytes().to_vec());
        let tokens: Vec<Vec<u8>> = bytes.chain(words).collect();
        let end = TokenId::new(tokens.len() as u32);
        let mut longest_first: Vec<(Vec<u8>, TokenId)> =
            tokens.into_iter().zip((0..).map(TokenId::new)).collect();
        let tokens = longest_first.iter().map(|(text, token)| (text, *token));
        let vocabulary = Vocabulary::new(tokens, [end]).unwrap();
        longest_first.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        Words {
            vocabulary,
            longest_first,
        }
    }

    /// Follows each text by its longest tokens: masks must lead through those that the automaton accepts and
    /// through no others. Then the automaton must keep the contract of its trait.
    pub fn lead<'c, A>(
        &self,
        automaton: &A,
        scenario: &Scenario,
        cases: impl Iterator<Item = &'c Case<'c>>,
        found: &mut Findings,
    ) where
        A: ByteAutomaton + Clone + Send + Sync + 'static,
    {
        let index = Index::lazy(automaton.clone(), &self.vocabulary, &IndexConfig::default());
        let index = match index {
            Ok(index) => Arc::new(index),
            Err(error) => return found.add(scenario.line, error.to_string(), None),
        };
        for case in cases {
            let leads = self.leads(&index, case.text.as_bytes());
            if leads != fsm_index::is_match(automaton, case.text.as_bytes()) {
                found.add(case.line, format!("masks lead through it: {leads}"), None);
            }
        }
        let effort = Effort {
            walks: 1,
            tokens: 10,
            seed: scenario.line as u64 + 1,
        };
        if let Err(message) = check(automaton, &self.vocabulary, &[], effort) {
            found.add(scenario.line, message, None);
        }
    }

    fn leads<A: ByteAutomaton>(&self, index: &Arc<Index<A>>, mut rest: &[u8]) -> bool {
        let mut guide = Guide::new(index.clone());
        let allows =
            |guide: &mut Guide<A>, token| guide.mask().is_ok_and(|mask| mask.allows(token));
        while !rest.is_empty() {
            let mut tokens = self.longest_first.iter();
            let next = tokens.find(|(text, _)| rest.starts_with(text));
            let (text, token) = next.expect("every byte is a token");
            if !allows(&mut guide, *token) || guide.advance(*token).is_err() {
                return false;
            }
            rest = &rest[text.len()..];
        }
        allows(&mut guide, self.vocabulary.ends()[0])
    }
}
