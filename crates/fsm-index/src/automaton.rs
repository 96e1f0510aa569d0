use crate::SpecialTokens;

/// A deterministic machine over bytes: what every mask is computed from.
///
/// The trait keeps two kinds of state apart. A [`State`](Self::State) belongs
/// to a guide: it stands alone, lives as long as the text does and changes only
/// when bytes are committed. A [`Cursor`] belongs to one walk over the
/// vocabulary: it is a plain number that the automaton may forget at the next
/// [`enter`](Self::enter). An automaton with unbounded memory (a stack, keys
/// already used) can so be walked without storing a state for each token.
///
/// # Contract
///
/// [`step`](Self::step) is exact: it gives [`Cursor::DEAD`] if and only if no
/// continuation of the bytes so far is accepted, texts that
/// [`exceptions`](Self::exceptions) tells aside. A token may therefore be
/// allowed as soon as its last byte leaves the cursor alive. The language may
/// not be empty: the start can always be finished.
///
/// The methods after [`step`](Self::step) that have a default are hints: the
/// default is always right, and only slower. A hint that says too much makes
/// masks wrong; [`contract::check`](crate::contract::check) compares them with
/// plain stepping.
pub trait ByteAutomaton: Send + Sync {
    /// What a guide remembers. Cloned once a token, to be able to go back.
    type State: Clone + Send + Sync;
    /// Working memory of one walk.
    type Scratch: Send;

    /// Whether [`step`](Self::step) takes a few nanoseconds at most. If not,
    /// walks remember what it said of a cursor and a byte.
    const STEPS_ARE_CHEAP: bool = false;

    /// Fresh working memory.
    fn scratch(&self) -> Self::Scratch;

    /// The state before the first byte.
    fn start(&self) -> Self::State;

    /// Whether the text may end here.
    fn is_accepting(&self, state: &Self::State) -> bool;

    /// Commits `bytes`.
    ///
    /// # Errors
    ///
    /// The offset of the first byte that may not come; `state` is unchanged.
    fn advance(
        &self,
        state: &mut Self::State,
        bytes: &[u8],
        scratch: &mut Self::Scratch,
    ) -> Result<(), usize>;

    /// Appends a shortest text (in bytes) that leads from `state` to
    /// acceptance; nothing where the text may end. An automaton that reads
    /// special tokens goes as far as the first of them on its way, which
    /// [`SpecialTokens::completion`] names.
    ///
    /// Where that would have more than [`MAX_COMPLETION`](crate::MAX_COMPLETION) bytes,
    /// nothing may be appended.
    fn completion(&self, state: &Self::State, out: &mut Vec<u8>);

    /// As [`completion`](Self::completion), if that text has at most so many bytes: whether
    /// it has, and nothing is appended if not. It should cost no more than what fits.
    fn completion_within(&self, state: &Self::State, max_bytes: usize, out: &mut Vec<u8>) -> bool {
        let before = out.len();
        self.completion(state, out);
        let fits = out.len() - before <= max_bytes;
        if !fits {
            out.truncate(before);
        }
        fits
    }

    /// Begins a walk at `state`. Cursors of earlier walks with this scratch
    /// are no longer valid.
    fn enter(&self, state: &Self::State, scratch: &mut Self::Scratch) -> Cursor;

    /// The cursor after one more byte. Stepping from [`Cursor::DEAD`] stays
    /// there.
    fn step(&self, cursor: Cursor, byte: u8, scratch: &mut Self::Scratch) -> Cursor;

    /// Whether from every state between two characters acceptance is reached without some
    /// characters: `chars` are inclusive ranges of code points, ascending, without
    /// surrogates. A lazy index asks it about those that its vocabulary cannot spell; then
    /// nothing else has to be looked at. `false` is always right, and slower: the index then
    /// searches each state for a way to the end.
    fn can_do_without(&self, _chars: &[(u32, u32)]) -> bool {
        false
    }

    /// Where `state` stands, for people; not every automaton knows.
    fn place(&self, _state: &Self::State) -> Option<Place> {
        None
    }

    /// What reads special tokens, if this automaton does.
    fn specials(&self) -> Option<&dyn SpecialTokens<Self::State, Self::Scratch>> {
        None
    }

    /// Whether text of one class of code points is read in a loop at `cursor`,
    /// for tokens within `horizon`. Where [`top_tells`](Self::top_tells) this may
    /// look at no more than the topmost level.
    fn text_loop(
        &self,
        _cursor: Cursor,
        _horizon: Horizon<'_>,
        _scratch: &mut Self::Scratch,
    ) -> Option<TextLoop> {
        None
    }

    /// The cursor behind so many characters of the class of the
    /// [`text_loop`](Self::text_loop) at `cursor`, one after another, where that is
    /// quicker told than by steps: the one that the steps lead to.
    fn text_ahead(
        &self,
        _cursor: Cursor,
        _chars: u32,
        _scratch: &mut Self::Scratch,
    ) -> Option<Cursor> {
        None
    }

    /// A class of code points of which any text may come at `cursor`: asked where a
    /// loop is no help. It may look at no more than the topmost level where
    /// [`top_tells`](Self::top_tells).
    fn free_text(&self, _cursor: Cursor, _scratch: &mut Self::Scratch) -> Option<FreeText> {
        None
    }

    /// The code points of a class that [`text_loop`](Self::text_loop) or
    /// [`free_text`](Self::free_text) named: inclusive ranges, ascending, without
    /// surrogates.
    fn text_class(&self, _class: ClassId) -> &[(u32, u32)] {
        &[]
    }

    /// What reads the text at `cursor`, for walks within `horizon` that would take a
    /// step for each of its bytes. It may look at no more than the topmost level.
    fn text_reader(
        &self,
        _cursor: Cursor,
        _horizon: Horizon<'_>,
        _scratch: &mut Self::Scratch,
    ) -> Option<Box<dyn ReadText + '_>> {
        None
    }

    /// The cursor where the text that begins at `cursor` has been read to `at` by its
    /// [`text_reader`](Self::text_reader).
    fn text_cursor(&self, cursor: Cursor, _at: TextAt, _scratch: &mut Self::Scratch) -> Cursor {
        cursor
    }

    /// A cursor at which nearly the same texts may come as at `cursor`: its
    /// mask is then taken and patched by a walk over the difference, which
    /// ends where both cursors have become the same number. That one may
    /// resemble another in turn, but not in a circle.
    fn resembles(&self, _cursor: Cursor, _scratch: &mut Self::Scratch) -> Option<Cursor> {
        None
    }

    /// Where a cursor and the one that it [`resembles`](Self::resembles) differ:
    /// puts the texts into `out` and says `true` if the same tokens within `horizon` may
    /// come at both, apart from those that begin with one of the texts. `false`, and
    /// `out` means nothing, if that cannot be said; then a walk finds out.
    fn differences(
        &self,
        _cursor: Cursor,
        _horizon: Horizon<'_>,
        _scratch: &mut Self::Scratch,
        _out: &mut Differences,
    ) -> bool {
        false
    }

    /// Whether only texts that can be listed may come at a cursor: puts them
    /// into `out` and says `true` if every text that may come begins with one of
    /// them, or one of them begins with it; and each of them, but for its last byte, must
    /// be the beginning of one that may come. `false`, and `out` means nothing, if that is
    /// not so, or they are many.
    fn spells(
        &self,
        _cursor: Cursor,
        _scratch: &mut Self::Scratch,
        _out: &mut Differences,
    ) -> bool {
        false
    }

    /// Calls `each` with what may not come at `state` although
    /// [`step`](Self::step) lets it pass: what is forbidden only because of
    /// what was said before, such as a key that the object has already. It is
    /// taken out of the mask after that was found by its key, so that the key
    /// need not tell what was said. [`advance`](Self::advance) refuses it at the
    /// byte that completes it.
    fn exceptions(&self, _state: &Self::State, _each: &mut dyn FnMut(Exception<'_>)) {}

    /// Whether a token that an exception calls suspect can be refused at all: a
    /// quick look before [`advance`](Self::advance) tries it. Saying `true` is
    /// always right.
    fn is_suspect(&self, _state: &Self::State, _token: &[u8]) -> bool {
        true
    }

    /// Texts of which only [`advance`](Self::advance) tells whether a token may come that has
    /// one of them in it: what [`step`](Self::step) and hints say of such tokens counts for
    /// nothing. So what only few, long texts would change need not be told at every state. A
    /// vocabulary should have no such token, or next to none: each is tried for every mask,
    /// and rows are not shared with other automata then.
    fn unsure_texts(&self) -> &[Box<[u8]>] {
        &[]
    }

    /// Whether two states are plainly one, as before and behind a character of a free
    /// text: then the mask of one is that of the other. A quick look, for which `false`
    /// is always right.
    fn is_same(&self, _state: &Self::State, _other: &Self::State) -> bool {
        false
    }

    /// Appends a key of what the mask at `cursor` can depend on, if every token
    /// is within `horizon` and a walk looks at no more than the
    /// `depth` topmost levels of the automaton's stack (1 is the top alone).
    /// Cursors with equal keys must have equal masks as long as
    /// [`depth_used`](Self::depth_used) stays within `depth`, exceptions aside,
    /// and [`is_accepting`](Self::is_accepting) must be equal too. `false` (and
    /// `out` left as it was) means: do not keep this mask.
    ///
    /// Keys may be told apart by `depth`: a key of one depth is never compared
    /// with one of another.
    fn mask_key(
        &self,
        _cursor: Cursor,
        _depth: usize,
        _horizon: Horizon<'_>,
        _scratch: &mut Self::Scratch,
        _out: &mut Vec<u32>,
    ) -> bool {
        false
    }

    /// Whether the topmost level of the stack alone, which is
    /// [`mask_key`](Self::mask_key) at depth 1, says of most tokens whether they
    /// may come at `cursor`. That part of the mask is then computed once for all
    /// states with this topmost level, and only what is left is computed for
    /// each of them.
    fn top_tells(&self, _cursor: Cursor, _scratch: &mut Self::Scratch) -> bool {
        false
    }

    /// How many levels the mask at `cursor` is worth looking up by, at least: with fewer it
    /// is hardly ever told. A hint, which changes what is remembered and no mask.
    fn least_depth(&self, _cursor: Cursor, _scratch: &Self::Scratch) -> usize {
        1
    }

    /// Appends a key of the `depth` topmost levels, as [`mask_key`](Self::mask_key) does,
    /// in words that mean the same in every automaton that names the same language: the
    /// inside of any JSON string, for one. What these levels tell is then computed once
    /// for a vocabulary. `None` (and `out` left as it was) where there is no such key, as
    /// wherever the text may end.
    fn common_key(
        &self,
        _cursor: Cursor,
        _depth: usize,
        _horizon: Horizon<'_>,
        _scratch: &mut Self::Scratch,
        _out: &mut Vec<u32>,
    ) -> Option<KeyLanguage> {
        None
    }

    /// As [`step`](Self::step), in a walk that began where
    /// [`top_tells`](Self::top_tells); `None` if more than the topmost level of
    /// where it began must be looked at. [`depth_used`](Self::depth_used) does
    /// not change.
    fn step_on_top(&self, cursor: Cursor, byte: u8, scratch: &mut Self::Scratch) -> Option<Cursor> {
        Some(self.step(cursor, byte, scratch))
    }

    /// The bytes with which a text can go on at `cursor`, and perhaps others: what is
    /// not among them leads to [`Cursor::DEAD`]. For walks, which then need not take
    /// all steps. [`depth_used`](Self::depth_used) changes as by a step.
    fn next_bytes(&self, _cursor: Cursor, _scratch: &mut Self::Scratch) -> ByteSet {
        ByteSet::ALL
    }

    /// As [`next_bytes`](Self::next_bytes), of what the topmost level tells alone: see
    /// [`step_on_top`](Self::step_on_top). [`depth_used`](Self::depth_used) does not
    /// change.
    fn next_bytes_on_top(&self, cursor: Cursor, scratch: &mut Self::Scratch) -> ByteSet {
        self.next_bytes(cursor, scratch)
    }

    /// Begins to count anew how many levels are looked at, from `cursor` on:
    /// [`depth_used`](Self::depth_used) then speaks of the levels of its stack. `None`
    /// if that cannot be counted.
    fn count_depth(&self, _cursor: Cursor, _scratch: &mut Self::Scratch) -> Option<Depth> {
        None
    }

    /// Goes on counting where [`count_depth`](Self::count_depth) left off, with `used`
    /// levels of the stack of its cursor looked at.
    fn count_on(&self, _before: Depth, _used: usize, _scratch: &mut Self::Scratch) {}

    /// How many levels of the stack the walk since the last
    /// [`enter`](Self::enter) has looked at, at most. An automaton without a
    /// stack says 1.
    fn depth_used(&self, _scratch: &Self::Scratch) -> usize {
        1
    }
}

/// How deep has been looked into a stack; see [`ByteAutomaton::count_depth`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depth {
    /// The depth of the stack where the count began.
    pub base: u32,
    /// The least depth that was looked at.
    pub least: u32,
}

/// Where an automaton stands, for people. See [`ByteAutomaton::place`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// What is being read, in words.
    pub state: String,
    /// The places in what the automaton was made of that speak of what comes
    /// next: JSON Pointers, where that was a schema.
    pub locations: Vec<String>,
}

/// What no token of a vocabulary exceeds.
#[derive(Clone, Copy, Debug)]
pub struct Horizon<'v> {
    bytes: usize,
    reach: Option<&'v [Reach; 256]>,
    name_heads: Option<&'v ByteSet>,
}

/// What no token exceeds that has a byte in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// How often the byte occurs in one token.
    pub occurrences: u16,
    /// How many bytes a token has from its first such byte on, that byte
    /// included.
    pub behind: u16,
    /// How many bytes a token has before its last such byte.
    pub before: u16,
    /// How far the last such byte of a token is from its first.
    pub apart: u16,
}

impl<'v> Horizon<'v> {
    /// Tokens of at most so many bytes, whichever they are.
    pub fn of_bytes(bytes: usize) -> Horizon<'v> {
        Horizon {
            bytes,
            reach: None,
            name_heads: None,
        }
    }

    /// Tokens of at most `bytes` bytes that have each byte within its reach.
    pub fn new(bytes: usize, reach: &'v [Reach; 256]) -> Horizon<'v> {
        Horizon {
            bytes,
            reach: Some(reach),
            name_heads: None,
        }
    }

    /// These tokens, of which each that has a comma or an opening brace, white space and a
    /// quotation mark in it ends there or goes on with one of `heads`, and has no quotation
    /// mark with a colon, white space aside, behind that: see
    /// [`name_heads`](Self::name_heads).
    pub fn with_name_heads(self, heads: &'v ByteSet) -> Horizon<'v> {
        Horizon {
            name_heads: Some(heads),
            ..self
        }
    }

    /// The length of the longest token, in bytes.
    pub fn bytes(self) -> usize {
        self.bytes
    }

    /// How often a byte occurs in one token, at most.
    pub fn occurrences(self, byte: u8) -> usize {
        self.reach.map_or(self.bytes, |reach| {
            reach[usize::from(byte)].occurrences.into()
        })
    }

    /// How many bytes a token has from its first `byte` on, at most; 0 if no
    /// token has it.
    pub fn behind(self, byte: u8) -> usize {
        self.reach
            .map_or(self.bytes, |reach| reach[usize::from(byte)].behind.into())
    }

    /// How many bytes a token has before its last `byte`, at most; 0 if no token has it.
    pub fn before(self, byte: u8) -> usize {
        self.reach
            .map_or(self.bytes, |reach| reach[usize::from(byte)].before.into())
    }

    /// How far the last `byte` of a token is from its first, at most.
    pub fn apart(self, byte: u8) -> usize {
        self.reach
            .map_or(self.bytes, |reach| reach[usize::from(byte)].apart.into())
    }

    /// With what a name in an object may begin, as far as a token tells that opens the
    /// object or ends the member before: names that begin in other ways are alike to such
    /// a token, and it ends none that a value follows. `None` if that is not known.
    pub fn name_heads(self) -> Option<ByteSet> {
        self.name_heads.copied()
    }
}

/// Texts that tell two cursors apart, or that may come: see
/// [`ByteAutomaton::differences`] and [`ByteAutomaton::spells`].
#[derive(Clone, Debug, Default)]
pub struct Differences {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    branch: Option<u8>,
}

impl Differences {
    /// Adds the text of some pieces and `last` behind it. Texts that begin alike should
    /// come one after another.
    pub fn add(&mut self, pieces: &[&[u8]], last: u8) {
        for piece in pieces {
            self.bytes.extend_from_slice(piece);
        }
        self.bytes.push(last);
        self.ends.push(self.bytes.len());
    }

    /// Also adds, for each byte of each text, the text before it with `byte`
    /// instead: an escape, behind which the text can go on in another spelling.
    pub fn branch_everywhere(&mut self, byte: u8) {
        self.branch = Some(byte);
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.branch = None;
    }

    pub(crate) fn branch(&self) -> Option<u8> {
        self.branch
    }

    pub(crate) fn texts(&self) -> impl Iterator<Item = &[u8]> {
        let mut from = 0;
        self.ends.iter().map(move |&end| {
            let text = &self.bytes[from..end];
            from = end;
            text
        })
    }
}

/// What may not come although it might. See [`ByteAutomaton::exceptions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exception<'a> {
    /// Every token that begins with this text is refused.
    Begins(&'a [u8]),
    /// Every token with this text in it is suspect: it is tried by
    /// [`ByteAutomaton::advance`]. Few tokens should have it, as few have a
    /// whole key in quotes.
    Contains(&'a [u8]),
    /// Every token in which these bytes come one after another, whatever is between
    /// them, is suspect in the same way: few tokens have a bracket and then a comma.
    InOrder(&'a [u8]),
    /// Every token that has a byte in it so often, or oftener, is suspect in the
    /// same way: few tokens have three quotes.
    Often {
        /// The byte.
        byte: u8,
        /// How often.
        times: usize,
    },
}

/// A position of one walk. See [`ByteAutomaton`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cursor(pub u32);

impl Cursor {
    /// The cursor from which nothing is accepted any more.
    pub const DEAD: Cursor = Cursor(0);

    /// Whether nothing is accepted any more.
    pub fn is_dead(self) -> bool {
        self == Cursor::DEAD
    }
}

/// What automata have in common that write the same keys for the same. See
/// [`ByteAutomaton::common_key`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyLanguage {
    /// Whose it is; by custom the name of a crate.
    pub name: &'static str,
    /// Tells apart what options change.
    pub dialect: u32,
}

/// A class of code points of one automaton. See [`ByteAutomaton::text_class`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClassId(pub u32);

/// Text that may come, whatever it is. See [`ByteAutomaton::free_text`].
///
/// It may come at the cursor, or at the place, and behind more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeText {
    /// The class; characters outside it may come too.
    pub class: ClassId,
    /// How many characters it may have, with what comes before it from the cursor on.
    pub chars: usize,
    /// Behind what it may come.
    pub behind: Behind,
    /// Whether text of the class with more characters, from the cursor on, may not come;
    /// then each is one byte.
    pub ends: bool,
}

/// Behind what free text may come, from the cursor on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    /// Any text without quotes, backslashes and control characters that may come,
    /// whether that is of the class or not.
    AnyText,
    /// Text of the class.
    ItsClass,
}

/// Reads text, such as the inside of a string: a small part of an automaton, which
/// goes on without cursors until it is left. See [`ByteAutomaton::text_reader`].
pub trait ReadText {
    /// Where it begins.
    fn start(&self) -> TextAt;

    /// Reads one byte more.
    fn step(&self, at: TextAt, byte: u8) -> TextStep;

    /// Readers of one automaton with equal numbers take the same steps from equal
    /// places, so that what one has read need not be read again. `None` where nothing
    /// is promised.
    fn language(&self) -> Option<[u64; 4]> {
        None
    }

    /// Whether no byte beyond ASCII leads on from a place: then none is tried. Saying
    /// `false` is always right.
    fn is_ascii_next(&self, _at: TextAt) -> bool {
        false
    }

    /// A class of code points of which any text may come from a place on, as
    /// [`ByteAutomaton::free_text`] says it of a cursor; [`ByteAutomaton::text_class`] tells
    /// the class. Asked where much of a trie lies ahead.
    fn free_text(&self, _at: TextAt) -> Option<FreeText> {
        None
    }

    /// Code points that, as they are, lead nowhere from any place: inclusive ranges,
    /// ascending. Leaving some out is always right.
    fn dead_class(&self) -> &[(u32, u32)] {
        &[]
    }

    /// How many characters come before the text may be left, at least, from where it
    /// begins. Saying 0 is always right.
    fn least_chars(&self) -> usize {
        0
    }

    /// Whether the same may come as at the beginning.
    fn is_back(&self, at: TextAt) -> bool;
}

/// A set of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteSet([u64; 4]);

impl ByteSet {
    /// No byte.
    pub const NONE: ByteSet = ByteSet([0; 4]);
    /// Every byte.
    pub const ALL: ByteSet = ByteSet([u64::MAX; 4]);

    /// The set of some bytes.
    pub const fn of(bytes: &[u8]) -> ByteSet {
        let mut set = ByteSet::NONE;
        let mut at = 0;
        while at < bytes.len() {
            set.0[bytes[at] as usize / 64] |= 1 << (bytes[at] % 64);
            at += 1;
        }
        set
    }

    /// The bytes from one to another, both included.
    pub const fn range(from: u8, to: u8) -> ByteSet {
        let mut set = ByteSet::NONE;
        let mut byte = from as usize;
        while byte <= to as usize {
            set.0[byte / 64] |= 1 << (byte % 64);
            byte += 1;
        }
        set
    }

    /// The bytes of either set.
    pub const fn or(self, other: ByteSet) -> ByteSet {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        ByteSet([a | e, b | f, c | g, d | h])
    }

    /// Whether they have a byte in common.
    pub const fn meets(self, other: ByteSet) -> bool {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        a & e | b & f | c & g | d & h != 0
    }

    /// Whether it has a byte.
    #[inline]
    pub const fn has(&self, byte: u8) -> bool {
        self.0[byte as usize / 64] >> (byte % 64) & 1 != 0
    }
}

/// A place in a text: whatever its reader means by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TextAt(pub [u32; 4]);

/// Where a byte of a text leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextStep {
    /// Nowhere: no text that may come goes on with it.
    Dead,
    /// Further on in the text.
    To(TextAt),
    /// Perhaps out of the text, which only the automaton can tell.
    Leaves,
}

/// Where text leads, by whole characters: after *any* character of `class` the
/// cursor is `next`.
///
/// In the inside of a free string `next` is the cursor itself. Under a limit
/// of length it is another one each time; `steady` then says for how long that
/// makes no difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextLoop {
    /// The class; characters outside it may come too, and lead anywhere.
    pub class: ClassId,
    /// The cursor after any one character of the class. Never dead.
    pub next: Cursor,
    /// How many characters of the class may be read one after another, whatever
    /// they are, such that the texts within `horizon` that may come after each of
    /// them are the same as now, texts that begin with a character of the class
    /// aside. 0 is always right;
    /// [`u32::MAX`] says "for ever".
    pub steady: u32,
    /// Whether the cursors along the text differ in nothing but how much of it may,
    /// or must, come: then a text that leaves the topmost level of the stack leads
    /// from each of them to the same, if it may come there at all.
    pub alike: bool,
}
