//! An automaton joined with a vocabulary. For example, the automaton of `[0-9]+` and the tokens
//! `1`, `23` and `x` make an index whose first mask allows `1` and `23`.

mod config;
mod eager;
mod endings;
#[cfg(feature = "file")]
mod file;
mod own_tokens;
mod profile;
mod searched;
mod tables;
mod ways;

use std::fmt;
use std::sync::Arc;

use crate::automaton::{AskParts, MAX_COMPLETION, Piece, pieces};
use crate::budget::{Budget, Meter};
pub(crate) use config::Watch;
pub use config::{BuildProgress, Fill, IndexConfig, IndexStats};
pub(crate) use eager::Built;
pub use tables::{PackedRow, Tables};

use crate::cache::{Cache, Cutter, Generation, Known, Origin, Thing};
use crate::plan::{RowMaker, Work};
use crate::rows::{EndTokens, Row, RowView, Specials};
use crate::spelling::{Search, Spelling, whole_key};
use crate::tokens::Cut;
use crate::walk::Language;
use crate::{ByteAutomaton, ByteDfa, Cursor, Error, TextRuns, TokenId, Vocabulary};
pub(crate) use endings::Endings;
use own_tokens::OwnTokens;
pub(crate) use profile::{NEVER, Profile, Rule};
use searched::searched_row;
pub(crate) use ways::{Ways, spelt_pieces};

/// An automaton joined with a vocabulary: for each state, the tokens that may
/// come next.
///
/// Immutable and shared: any number of [`Guide`](crate::Guide)s on any number
/// of threads lend its rows. Equal rows are stored once.
///
/// For a regular expression it is built with all its rows ([`Index::new`]), and can be saved. Any
/// other [`ByteAutomaton`], however large, is indexed lazily ([`Index::lazy`]): a row is computed
/// when a guide first comes to need it, and remembered for all.
///
/// ```
/// use std::sync::Arc;
/// use fsm_index::{Guide, Index, TokenId, Vocabulary};
///
/// let tokens = ["0", "1", "12", "x"].iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
/// let vocabulary = Vocabulary::new(tokens, [TokenId::new(4)])?;
/// let index = Arc::new(Index::new("[0-9]{1,2}", &vocabulary)?);
/// let mut guide = Guide::new(index);
/// assert_eq!(guide.allowed_tokens()?, [0, 1, 2].map(TokenId::new));
/// guide.advance(TokenId::new(2))?;
/// assert_eq!(guide.allowed_tokens()?, [TokenId::new(4)]);
/// # Ok::<(), fsm_index::Error>(())
/// ```
pub struct Index<A: ByteAutomaton = ByteDfa> {
    automaton: A,
    vocabulary: Vocabulary,
    /// The notation of the automaton's texts.
    language: Language,
    text_runs: TextRuns,
    sparse: usize,
    rows: Rows,
    own: OwnTokens,
    /// The facts to be looked at if some byte is no token.
    spelling: Spelling,
    /// The budget of a mask if nobody says otherwise.
    mask_budget: Budget,
    /// The distances of states from the end of texts.
    endings: Endings,
    /// Nodes that a search for a shorter way to the end may visit for one state.
    search_nodes: u64,
}

enum Rows {
    Built(Built),
    Kept(Cache),
}

/// A row that a guide lends.
#[derive(Clone, Debug)]
pub(crate) enum Lent {
    /// The place of a row that was built with the index.
    Built(u32),
    /// A row that is remembered.
    Kept(Arc<Row>),
}

impl<A: ByteAutomaton> Index<A> {
    /// Joins an automaton with a vocabulary, lazily: O(1), apart from a look
    /// at the vocabulary's single bytes.
    ///
    /// If some byte is not a token of its own, the language is cut to the texts that tokens spell:
    /// a token may come if and only if some tokens behind it complete the text. That costs nothing
    /// where [`PlainText::can_do_without`](crate::PlainText::can_do_without) says that nothing is
    /// lost; otherwise the mask of each state that was not met before is a walk, and each state to
    /// which it leads is searched for a way to the end. A search that gives up (behind 4 million
    /// nodes) counts as no way.
    ///
    /// # Errors
    ///
    /// Tokens spell no text that the automaton accepts ([`CannotSpell`](crate::ErrorKind::CannotSpell), with the
    /// bytes and the place), none was found ([`LimitExceeded`](crate::ErrorKind::LimitExceeded)), or the
    /// vocabulary lacks a special token that the automaton reads.
    ///
    /// ```
    /// use fsm_index::{Config, Dfa, Index, IndexConfig, TokenId, Vocabulary};
    ///
    /// # let tokens = ["a", "b"];
    /// # let tokens = tokens.iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
    /// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(2)])?;
    /// // Any automaton will do; one with a stack has no end of states.
    /// let automaton = Dfa::new("a*b")?.to_bytes(&Config::default())?;
    /// let index = Index::lazy(automaton, &vocabulary, &IndexConfig::default())?;
    /// assert_eq!(index.stats().rows_computed, 0);
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn lazy(
        automaton: A,
        vocabulary: &Vocabulary,
        config: &IndexConfig,
    ) -> Result<Index<A>, Error> {
        let mut index = Index::with_cache(automaton, vocabulary, config)?;
        index.spelling = Spelling::of(&index.automaton, vocabulary)?;
        Ok(index)
    }

    /// The automaton.
    pub fn automaton(&self) -> &A {
        &self.automaton
    }

    /// The vocabulary.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    pub(crate) fn mask_budget(&self) -> &Budget {
        &self.mask_budget
    }

    pub(crate) fn endings(&self) -> &Endings {
        &self.endings
    }

    pub(crate) fn search_nodes(&self) -> u64 {
        self.search_nodes
    }

    /// Tells whether tokens spell all that the automaton needs to end a text.
    pub(crate) fn spells_what_it_needs(&self) -> bool {
        matches!(self.spelling, Spelling::Whole)
    }

    /// The fewest tokens that spell a shortest completion of a state; `None` if none is found that
    /// tokens spell.
    pub(crate) fn tokens_to_the_end(&self, state: &A::State) -> Option<Vec<u32>> {
        let trie = self.vocabulary.trie();
        let names = self.automaton.parts().special_names.names;
        let special = |name: &str| {
            let at = names.iter().position(|known| **known == *name)?;
            self.own.specials.get(at).map(|token| token.get())
        };
        let found = pieces(&self.automaton, state, MAX_COMPLETION);
        let tokens = found.and_then(|pieces| spelt_pieces(&pieces, trie, special));
        if tokens.is_some() || self.spells_any_text() {
            return tokens;
        }
        let spelt = self.spelt_completion(state)?;
        spelt_pieces(&[Piece::Text(spelt)], trie, special)
    }

    /// Tells whether tokens spell any text.
    pub(crate) fn spells_any_text(&self) -> bool {
        self.vocabulary.has_all_bytes()
    }

    /// Returns a text that completes a text and is spelt by tokens.
    pub(crate) fn spelt_completion(&self, state: &A::State) -> Option<Vec<u8>> {
        let (automaton, vocabulary) = (&self.automaton, &self.vocabulary);
        match self.spelling.search() {
            Some(search) => search.completion(automaton, vocabulary, state),
            None => Search::default().completion(automaton, vocabulary, state),
        }
    }

    /// Returns the contents of the index at the moment; for a lazy one this grows.
    pub fn stats(&self) -> IndexStats {
        match &self.rows {
            Rows::Built(built) => IndexStats {
                rows: built.row_count(),
                row_bytes: built.memory(),
                nodes_visited: 0,
                rows_computed: 0,
                rows_common: 0,
            },
            Rows::Kept(cache) => {
                let newest = cache.newest();
                let search = self.spelling.search();
                IndexStats {
                    rows: newest.row_count(),
                    row_bytes: newest.memory() + search.map_or(0, Search::memory),
                    nodes_visited: cache.visited() + search.map_or(0, Search::visited),
                    rows_computed: cache.computed(),
                    rows_common: cache.shared(),
                }
            }
        }
    }

    /// The row of a state: built, remembered, or computed now, and the special tokens that may
    /// come beside it. `generation` is where the caller looked before, and is replaced if that
    /// is over.
    pub(crate) fn lend(
        &self,
        state: &A::State,
        specials: &mut Specials,
        work: &mut Work<A>,
        generation: &mut Option<Arc<Generation>>,
        budget: &Budget,
    ) -> Result<Lent, Error> {
        let cursor = self.automaton.enter(state, &mut work.scratch);
        let cache = match &self.rows {
            Rows::Built(built) => {
                return Ok(Lent::Built(built.place(&self.automaton, cursor, work)));
            }
            Rows::Kept(cache) => cache,
        };
        if generation
            .as_ref()
            .is_some_and(|old| !cache.is_current(old))
        {
            *generation = None;
        }
        let known = generation.get_or_insert_with(|| cache.newest());
        let end_tokens = EndTokens::at(&self.automaton, state);
        let row = self.row(state, cursor, end_tokens, work, known, budget);
        match work.take_visited() {
            0 => {}
            nodes => cache.visit(nodes),
        }
        let row = row?;
        let is_whole = self.spells_what_it_needs();
        if self
            .own
            .may_stand_beside(&row, is_whole.then_some(&self.vocabulary))
        {
            let (automaton, vocabulary) = (&self.automaton, &self.vocabulary);
            let symbols = &self.own.specials;
            if let Some(search) = self.spelling.search() {
                specials.find_leading(automaton, vocabulary, symbols, state, |special| {
                    let mut after = state.clone();
                    automaton.advance_special(&mut after, *special)
                        && search.is_live(automaton, vocabulary, &after)
                });
            } else {
                let scratch = &mut work.scratch;
                specials.find(automaton, vocabulary, symbols, state, cursor, scratch);
            }
        } else {
            specials.forget();
        }
        cache.count(work.origin());
        Ok(Lent::Kept(row))
    }

    /// The row of a state, of what tokens can finish.
    fn row(
        &self,
        state: &A::State,
        cursor: Cursor,
        end_tokens: EndTokens,
        work: &mut Work<A>,
        known: &Generation,
        budget: &Budget,
    ) -> Result<Arc<Row>, Error> {
        let maker = self.maker(Cutter::Other, known);
        let Some(search) = self.spelling.search() else {
            return match maker.known_row(cursor, work) {
                Ok(row) => Ok(row),
                Err(missed) => {
                    work.meter = Meter::new(budget);
                    maker.fresh_row(cursor, end_tokens, missed, work)
                }
            };
        };
        // The answer depends on all of the state, so that only its whole key will do.
        let Work { scratch, key, .. } = work;
        let words = key.begin(Thing::SearchedRow, 0);
        let has_key = whole_key(&self.automaton, state, cursor, scratch, words);
        let key = has_key.then(|| key.clone());
        if let Some(key) = &key
            && let Known::Value(row) = known.rows.get(key.words())
        {
            work.note_origin(Origin::Remembered);
            return Ok(row);
        }
        work.meter = Meter::new(budget);
        let row = searched_row(search, state, cursor, end_tokens, &maker, work)?;
        let row = known.pool(row);
        if let Some(key) = key {
            known.rows.add(key.words(), row.clone());
        }
        work.note_origin(Origin::Computed);
        Ok(row)
    }

    pub(crate) fn view<'a>(&'a self, lent: &'a Lent) -> RowView<'a> {
        match (lent, &self.rows) {
            (Lent::Kept(row), _) => row.view(),
            (Lent::Built(place), Rows::Built(built)) => built.row(*place),
            // A place is only ever lent where rows are built.
            (Lent::Built(_), Rows::Kept(_)) => RowView::Packed(&[]),
        }
    }

    /// Tells whether a token whose bytes lead to `state` may be taken.
    pub(crate) fn is_spellable(&self, state: &A::State, work: &mut Work<A>) -> bool {
        match &self.spelling {
            Spelling::Whole => true,
            Spelling::DeadEnds(dead_ends) => {
                let cursor = self.automaton.enter(state, &mut work.scratch);
                !dead_ends.contains(&cursor)
            }
            Spelling::Searched(search) => search.is_live(&self.automaton, &self.vocabulary, state),
        }
    }

    /// The token of the automaton's special symbol.
    pub(crate) fn specials(&self) -> &[TokenId] {
        &self.own.specials
    }

    /// The tokens of which no row tells anything: see [`Facts::unsure_texts`](crate::Facts::unsure_texts).
    pub(crate) fn unsure(&self) -> &[u32] {
        &self.own.unsure
    }

    /// The tokens of which no row tells anything, and whether they may come.
    pub(crate) fn try_unsure(
        &self,
        state: &A::State,
        work: &mut Work<A>,
    ) -> impl Iterator<Item = (u32, bool)> {
        self.own.unsure.iter().map(|&token| {
            let bytes = self.vocabulary.token_bytes(TokenId::new(token));
            let mut after = state.clone();
            let done =
                self.automaton
                    .advance(&mut after, bytes.unwrap_or_default(), &mut work.scratch);
            (token, done.is_ok() && self.is_spellable(&after, work))
        })
    }

    /// The vocabulary cut by a class of characters, made at once if it is not there: for who would otherwise
    /// walk over the whole vocabulary at each place of a text.
    pub(crate) fn cut(&self, class: &[(u32, u32)]) -> Option<Arc<Cut>> {
        let policy = match self.text_runs {
            TextRuns::Never => TextRuns::Never,
            TextRuns::Auto | TextRuns::Always => TextRuns::Always,
        };
        let shared = self.vocabulary.shared_rows();
        shared.cut(&self.vocabulary, class, policy, Cutter::Caller)
    }

    fn maker<'a>(&'a self, cutter: Cutter, known: &'a Generation) -> RowMaker<'a, A> {
        RowMaker {
            known,
            cutter,
            automaton: &self.automaton,
            vocabulary: &self.vocabulary,
            shared: self.vocabulary.shared_rows(),
            language: &self.language,
            text_runs: self.text_runs,
            sparse: self.sparse,
            dead_ends: self.spelling.dead_ends(),
            shares: self.own.unsure.is_empty(),
        }
    }

    fn with_cache(
        automaton: A,
        vocabulary: &Vocabulary,
        config: &IndexConfig,
    ) -> Result<Index<A>, Error> {
        let own = OwnTokens::of(&automaton, vocabulary)?;
        let lexicon = automaton.parts().lexicon;
        if let Some(names) = lexicon.names {
            // Work that takes long the first time should not be part of some mask.
            let _ = vocabulary.trie().name_heads(&names);
        }
        Ok(Index {
            own,
            language: Language::new(&lexicon),
            automaton,
            vocabulary: vocabulary.clone(),
            text_runs: config.text_runs,
            sparse: config.packed_tokens.unwrap_or(match config.fill {
                Fill::Eager => 2_000,
                Fill::Lazy => 128,
            }),
            rows: Rows::Kept(Cache::new(config.max_row_bytes)),
            spelling: Spelling::Whole,
            mask_budget: config.mask_budget.clone(),
            endings: Endings::default(),
            search_nodes: config.search_nodes,
        })
    }
}

impl Index {
    /// Compiles `pattern` and builds its index eagerly.
    ///
    /// # Errors
    ///
    /// As [`Dfa::new`](crate::Dfa::new) and [`Index::build`].
    ///
    /// ```
    /// use fsm_index::{Index, TokenId, Vocabulary};
    ///
    /// # let tokens = ["a", "b"];
    /// # let tokens = tokens.iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
    /// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(2)])?;
    /// assert!(Index::new("a+", &vocabulary)?.stats().rows > 0);
    /// // A text that no tokens spell is none.
    /// assert!(Index::new("c", &vocabulary).is_err());
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    #[cfg(feature = "regex")]
    pub fn new(pattern: &str, vocabulary: &Vocabulary) -> Result<Index, Error> {
        Index::with_config(
            pattern,
            vocabulary,
            &crate::Config::default(),
            &IndexConfig::default(),
        )
    }

    /// Compiles `pattern` and builds its index.
    ///
    /// # Errors
    ///
    /// As [`Dfa::new`](crate::Dfa::new) and [`Index::build`].
    #[cfg(feature = "regex")]
    pub fn with_config(
        pattern: &str,
        vocabulary: &Vocabulary,
        config: &crate::Config,
        index_config: &IndexConfig,
    ) -> Result<Index, Error> {
        let dfa = crate::Dfa::with_config(pattern, config)?;
        Index::build(dfa.to_bytes(config)?, vocabulary, index_config)
    }

    /// Joins an automaton with a vocabulary. Eagerly: O(distinct states x
    /// nodes of the vocabulary's trie that stay alive there), where states that
    /// agree on every text as short as a token count as one.
    ///
    /// If some bytes are not tokens, states from which only they lead on are found and never
    /// entered.
    ///
    /// # Errors
    ///
    /// The vocabulary cannot spell any accepted text (the message names the
    /// bytes that are not tokens), the rows of an eager index exceed
    /// `max_row_bytes`, or the budget is exceeded.
    pub fn build(
        automaton: ByteDfa,
        vocabulary: &Vocabulary,
        config: &IndexConfig,
    ) -> Result<Index, Error> {
        Index::build_watched(automaton, vocabulary, config, &|_| {})
    }

    /// [`Index::build`], telling `watch` after each row of an eager index how far it has
    /// come: for progress bars. It is called on all threads that build. A lazy index has
    /// nothing to tell.
    ///
    /// # Errors
    ///
    /// As [`Index::build`].
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// use fsm_index::{Config, Dfa, Index, IndexConfig, TokenId, Vocabulary};
    ///
    /// let tokens = ["0", "1", "x"].iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
    /// let vocabulary = Vocabulary::new(tokens, [TokenId::new(3)])?;
    /// let config = Config::default();
    /// let automaton = Dfa::with_config("[0-9]{1,9}", &config)?.to_bytes(&config)?;
    /// let told = AtomicUsize::new(0);
    /// Index::build_watched(automaton, &vocabulary, &IndexConfig::default(), &|progress| {
    ///     assert!(progress.done <= progress.total);
    ///     told.fetch_add(1, Ordering::Relaxed);
    /// })?;
    /// assert!(told.into_inner() > 0);
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn build_watched(
        automaton: ByteDfa,
        vocabulary: &Vocabulary,
        config: &IndexConfig,
        watch: &(dyn Fn(BuildProgress) + Sync),
    ) -> Result<Index, Error> {
        let dead_ends = crate::spelling::dead_ends(&automaton, vocabulary)?;
        let automaton = match dead_ends {
            // A dead end depends on more than the next token.
            Some(_) => automaton,
            None => automaton.with_horizon(vocabulary.trie().max_depth()),
        };
        let mut index = Index::with_cache(automaton, vocabulary, config)?;
        index.spelling = dead_ends.map_or(Spelling::Whole, Spelling::DeadEnds);
        if config.fill == Fill::Eager {
            index.fill(config, watch)?;
        }
        Ok(index)
    }

    /// The rows, all of them; a lazy index is filled for it.
    pub(crate) fn built(&self) -> Result<Built, Error> {
        match &self.rows {
            Rows::Built(built) => Ok(built.clone()),
            Rows::Kept(_) => Built::new(
                &self.maker(Cutter::Caller, &Generation::default()),
                usize::MAX,
                &Budget::default(),
                &|_| {},
            ),
        }
    }

    /// An index from a file, if `complete` says that its rows are all there:
    /// it is given what tells dead ends.
    #[cfg(feature = "file")]
    pub(crate) fn from_built(
        automaton: ByteDfa,
        vocabulary: &Vocabulary,
        built: Built,
        complete: impl FnOnce(&dyn Fn(&Cursor) -> bool) -> bool,
    ) -> Result<Index, Error> {
        let mut index = Index::with_cache(automaton, vocabulary, &IndexConfig::default())?;
        let dead_ends = crate::spelling::dead_ends(&index.automaton, vocabulary)?;
        index.spelling = dead_ends.map_or(Spelling::Whole, Spelling::DeadEnds);
        let dead = |cursor: &Cursor| {
            let dead_ends = index.spelling.dead_ends();
            dead_ends.is_some_and(|dead| dead.contains(cursor))
        };
        if !complete(&dead) {
            return Err(Error::new(
                crate::ErrorKind::BadIndexFile,
                "the index file lacks the row of a state",
            ));
        }
        index.rows = Rows::Built(built);
        Ok(index)
    }

    /// Computes every row.
    fn fill(&mut self, config: &IndexConfig, watch: Watch<'_>) -> Result<(), Error> {
        let built = Built::new(
            &self.maker(Cutter::Caller, &Generation::default()),
            config.max_row_bytes,
            &config.budget,
            watch,
        )?;
        self.rows = Rows::Built(built);
        self.automaton.drop_hints();
        Ok(())
    }
}

impl<A: ByteAutomaton> fmt::Debug for Index<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stats = self.stats();
        write!(f, "Index({} rows, {} bytes)", stats.rows, stats.row_bytes)
    }
}
