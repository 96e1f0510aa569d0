//! Masks that are computed while the model reads are the masks that would be
//! computed after it, and what goes wrong with them goes wrong as it would there.

#![cfg(feature = "embedded")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ThreadId;

use fsm_index::{Config, Fill, Guide, Index, IndexConfig};
use tokenmold::chat::chatml;
use tokenmold::constraint::Constraint;
use tokenmold::generate::{Event, Flow, Generation, Prompt, PromptLookup, Request, Session};
use tokenmold::model::{LoadedModel, Model};
use tokenmold::sampling::SamplingConfig;
use tokenmold::{Error, ErrorKind, embedded};

fn guide(regex: &str, loaded: &LoadedModel) -> Guide {
    let lazy = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    let vocabulary = loaded.tokenizer.vocabulary();
    let index = Index::with_config(regex, vocabulary, &Config::default(), &lazy).unwrap();
    Guide::new(Arc::new(index))
}

/// What the constraint of a text is to do.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    /// Every mask is at hand, so that nothing is computed beside the model.
    AllKnown,
    /// No mask is.
    NoneKnown,
    /// As the guide says.
    Own,
    /// The mask after so many tokens is an error.
    Fails(usize),
    /// It panics.
    Panics(usize),
}

/// A guide that says where its masks were computed.
struct Watched {
    guide: Guide,
    manner: Manner,
    taken: usize,
    home: ThreadId,
    elsewhere: Arc<AtomicUsize>,
}

impl Watched {
    fn new(guide: Guide, manner: Manner) -> Self {
        Watched {
            guide,
            manner,
            taken: 0,
            home: std::thread::current().id(),
            elsewhere: Arc::default(),
        }
    }
}

impl Constraint for Watched {
    fn mask(&mut self) -> Result<&[u32], Error> {
        if std::thread::current().id() != self.home {
            self.elsewhere.fetch_add(1, Ordering::Relaxed);
        }
        match self.manner {
            Manner::Fails(at) if at == self.taken => {
                return Err(Error::from(
                    fsm_index::Index::new("[", self.guide.index().vocabulary()).unwrap_err(),
                ));
            }
            Manner::Panics(at) => assert!(at != self.taken, "the mask of this test panics"),
            _ => {}
        }
        Constraint::mask(&mut self.guide)
    }

    fn is_mask_known(&mut self) -> bool {
        match self.manner {
            Manner::AllKnown => true,
            Manner::Own => self.guide.is_mask_known(),
            _ => false,
        }
    }

    fn width(&self) -> usize {
        Constraint::width(&self.guide)
    }

    fn advance(&mut self, token: u32) -> Result<(), Error> {
        Constraint::advance(&mut self.guide, token)?;
        self.taken += 1;
        Ok(())
    }

    fn rollback(&mut self, count: usize) -> Result<(), Error> {
        Constraint::rollback(&mut self.guide, count)?;
        self.taken -= count;
        Ok(())
    }

    fn is_accepting(&self) -> bool {
        self.guide.is_accepting()
    }

    fn completion(&self) -> Option<Vec<u8>> {
        Constraint::completion(&self.guide)
    }

    fn set_budget(&mut self, tokens: Option<usize>) -> Result<(), Error> {
        Constraint::set_budget(&mut self.guide, tokens)
    }

    fn is_finished(&self) -> bool {
        self.guide.is_finished()
    }

    fn forced_tokens(&self, encode: &mut dyn FnMut(&[u8]) -> Vec<u32>) -> Vec<u32> {
        Constraint::forced_tokens(&self.guide, encode)
    }
}

const REGEXES: [&str; 3] = [
    r#"\{"name":"[A-Z][a-z]{0,30}","age":[1-9][0-9]?\}"#,
    r#"\[("[A-Za-z0-9 ]{0,12}"(, ?"[A-Za-z0-9 ]{0,12}"){0,6})?\]"#,
    "[^\"\\\\]{3,30}✓",
];

fn request(seed: u64) -> Request {
    let prompt = chatml::prompt("List the values as JSON.", "Zoe, 12, Paris");
    Request::new(Prompt::Chat(prompt))
        .with_max_tokens(40)
        .with_show_probabilities(3)
        .with_sampling(SamplingConfig::with_temperature(0.9, seed))
}

/// A text, all of its events, and how many masks another thread computed.
fn text(
    loaded: &mut LoadedModel,
    constraint: &mut Watched,
    seed: u64,
) -> Result<(Generation, String), Error> {
    let mut events = String::new();
    let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    let generation = session.generate(&request(seed), Some(constraint), &mut |event| {
        let mut event = event.clone();
        if let Event::Token(token) = &mut event {
            // A time is another one each time.
            token.mask = None;
        }
        events += &format!("{event:?}\n");
        Flow::Continue
    })?;
    Ok((generation, events))
}

#[test]
fn texts_are_the_same_to_the_bit() {
    let mut loaded = embedded::load().unwrap();
    for regex in REGEXES {
        for seed in 0..3 {
            let mut run = |manner| {
                let mut constraint = Watched::new(guide(regex, &loaded), manner);
                let (generation, events) = text(&mut loaded, &mut constraint, seed).unwrap();
                let elsewhere = constraint.elsewhere.load(Ordering::Relaxed);
                (generation, events, elsewhere)
            };
            let (here, here_events, none) = run(Manner::AllKnown);
            let (beside, beside_events, all) = run(Manner::NoneKnown);
            let (own, own_events, _) = run(Manner::Own);
            assert_eq!(none, 0);
            // One for each forward pass: the prompt's, and each step's.
            assert_eq!(all, beside.steps + 1);
            for (other, events) in [(beside, beside_events), (own, own_events)] {
                assert_eq!(here_events, events, "{regex}");
                assert_eq!(here.tokens, other.tokens);
                assert_eq!(here.text, other.text);
                assert_eq!((here.steps, here.masks), (other.steps, other.masks));
                assert_eq!((here.finish, here.complete), (other.finish, other.complete));
            }
        }
    }
}

#[test]
fn a_guide_says_that_masks_it_has_seen_are_known() {
    let mut loaded = embedded::load().unwrap();
    let first = guide(REGEXES[0], &loaded);
    let mut constraint = Watched::new(first.clone(), Manner::Own);
    text(&mut loaded, &mut constraint, 1).unwrap();
    let mut again = Watched::new(first, Manner::Own);
    text(&mut loaded, &mut again, 1).unwrap();
    assert_eq!(again.elsewhere.load(Ordering::Relaxed), 0);
}

#[test]
fn an_error_of_a_mask_is_the_error_of_the_text_where_it_is_asked_for() {
    let mut loaded = embedded::load().unwrap();
    for at in [0, 3] {
        let mut constraint = Watched::new(guide("[a-z ]{20}", &loaded), Manner::Fails(at));
        let mut told = 0;
        let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
        let error = session
            .generate(&request(1), Some(&mut constraint), &mut |event| {
                told += usize::from(matches!(event, Event::Token(_)));
                Flow::Continue
            })
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Constraint);
        assert_eq!(told, at);
        assert!(constraint.elsewhere.load(Ordering::Relaxed) > 0);
        // The session goes on.
        let mut sound = Watched::new(guide("[a-z ]{20}", &loaded), Manner::NoneKnown);
        assert!(text(&mut loaded, &mut sound, 1).unwrap().0.tokens.len() > 3);
    }
}

#[test]
fn a_panic_of_a_mask_goes_on_in_the_caller() {
    let mut loaded = embedded::load().unwrap();
    let mut constraint = Watched::new(guide("[a-z ]{20}", &loaded), Manner::Panics(2));
    let text = std::panic::AssertUnwindSafe(|| text(&mut loaded, &mut constraint, 1));
    let panic = std::panic::catch_unwind(text).map(|_| ()).unwrap_err();
    let message = panic.downcast_ref::<&str>().copied().unwrap_or_default();
    assert_eq!(message, "the mask of this test panics");
}

#[test]
fn the_caller_can_stop_while_masks_are_computed_beside_the_model() {
    let mut loaded = embedded::load().unwrap();
    let mut constraint = Watched::new(guide(REGEXES[1], &loaded), Manner::NoneKnown);
    let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    for most in [0, 2] {
        let mut seen = 0;
        let generation = session
            .generate(&request(1), Some(&mut constraint), &mut |event| {
                seen += usize::from(matches!(event, Event::Token(_)));
                match seen >= most {
                    true => Flow::Stop,
                    false => Flow::Continue,
                }
            })
            .unwrap();
        assert_eq!(generation.tokens.len(), most);
        // The constraint stands where the text does, and can go on or back.
        assert_eq!(constraint.taken, most);
        constraint.rollback(most).unwrap();
    }
}

/// Fails at its second step.
struct Failing<'m> {
    steps: usize,
    model: &'m mut tokenmold::model::Transformer,
}

impl Model for Failing<'_> {
    fn forward(&mut self, tokens: &[u32], position: usize) -> Result<Vec<f32>, Error> {
        self.steps += 1;
        match self.steps {
            2 => self.model.forward(&[], position),
            _ => self.model.forward(tokens, position),
        }
    }

    fn truncate(&mut self, length: usize) {
        self.model.truncate(length);
    }

    fn cached(&self) -> usize {
        self.model.cached()
    }

    fn context_length(&self) -> usize {
        self.model.context_length()
    }

    fn vocabulary_width(&self) -> usize {
        self.model.vocabulary_width()
    }
}

#[test]
fn the_constraint_comes_back_where_the_model_fails() {
    let mut loaded = embedded::load().unwrap();
    let mut constraint = Watched::new(guide("[a-z ]{20}", &loaded), Manner::NoneKnown);
    let mut model = Failing {
        steps: 0,
        model: &mut loaded.model,
    };
    let mut session = Session::new(&mut model, &loaded.tokenizer);
    let error = session
        .generate(&request(1), Some(&mut constraint), &mut |_| Flow::Continue)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Model);
    assert_eq!(constraint.taken, 1);
    assert!(Constraint::mask(&mut constraint).is_ok());
}

#[test]
fn speculation_and_masks_beside_the_model_agree() {
    let mut loaded = embedded::load().unwrap();
    for regex in REGEXES {
        let mut run = |manner| {
            let mut constraint = Watched::new(guide(regex, &loaded), manner);
            let mut lookup = PromptLookup::default();
            let session = Session::new(&mut loaded.model, &loaded.tokenizer);
            let mut session = session.with_drafter(&mut lookup, 4);
            let generation = session
                .generate(&request(2), Some(&mut constraint), &mut |_| Flow::Continue)
                .unwrap();
            (generation.tokens, generation.steps, generation.speculation)
        };
        assert_eq!(run(Manner::AllKnown), run(Manner::NoneKnown));
    }
}
