//! The automata of all terminals side by side.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use fsm_index::{ByteAutomaton, ByteSet};

use crate::compile::cfg::{Cfg, Matter};
use crate::compile::table::Run;

/// The states of all terminals, numbered through; 0 is dead.
#[derive(Debug)]
pub(crate) struct Lexer {
    /// The class of each byte: bytes of one class are alike in every state.
    pub(crate) classes: [u8; 256],
    /// A byte of each class.
    pub(crate) bytes: Vec<u8>,
    /// All bytes of each class.
    pub(crate) sets: Vec<ByteSet>,
    next: Vec<u32>,
    /// By state: the terminal.
    pub(crate) terminal: Vec<u32>,
    pub(crate) accepting: Vec<bool>,
    /// By state: how many bytes acceptance is away.
    pub(crate) distance: Vec<u32>,
    /// By state: whether no byte leads on.
    pub(crate) is_final: Vec<bool>,
    /// By state: whether the text must go on behind a lexeme that ends there.
    pub(crate) goes_on: Vec<bool>,
    /// Whether there is such a state.
    pub(crate) has_open_ends: bool,
    /// By terminal: where it begins; 0 for one that is no automaton.
    pub(crate) starts: Vec<u32>,
}

impl Lexer {
    pub(crate) fn new(cfg: &Cfg) -> Lexer {
        let mut lexer = Lexer {
            classes: std::array::from_fn(|byte| byte as u8),
            bytes: Vec::new(),
            sets: Vec::new(),
            next: Vec::new(),
            terminal: vec![u32::MAX],
            accepting: vec![false],
            distance: vec![u32::MAX],
            is_final: Vec::new(),
            goes_on: vec![false],
            has_open_ends: false,
            starts: Vec::new(),
        };
        let mut rows: Vec<&[Run]> = Vec::new();
        let mut bases = vec![0];
        let mut has_json = false;
        for (number, terminal) in cfg.terminals.iter().enumerate() {
            has_json |= matches!(terminal.matter, Matter::Json(_));
            let Matter::Table(table) = &terminal.matter else {
                lexer.starts.push(0);
                continue;
            };
            // State 1 of the terminal gets this number.
            let base = lexer.terminal.len() as u32;
            lexer.starts.push(base + table.start - 1);
            for state in 1..table.states() {
                rows.push(table.row(state));
                bases.push(base);
                lexer.terminal.push(number as u32);
                lexer.accepting.push(table.accepting[state]);
                lexer.goes_on.push(table.goes_on(state));
            }
        }
        // Bytes with equal columns are one class; JSON tells all of them apart.
        if !has_json {
            lexer.classes = byte_classes(&rows);
        }
        let count = lexer
            .classes
            .iter()
            .map(|&class| usize::from(class) + 1)
            .max()
            .unwrap_or(1);
        lexer.bytes = vec![0; count];
        lexer.sets = vec![ByteSet::NONE; count];
        for byte in (0..=255u8).rev() {
            let class = usize::from(lexer.classes[usize::from(byte)]);
            lexer.bytes[class] = byte;
            lexer.sets[class] = lexer.sets[class].with(byte);
        }
        lexer.next = vec![0; count * lexer.terminal.len()];
        let cells = lexer.next[count..].chunks_mut(count);
        for ((row, base), cells) in rows.iter().zip(&bases[1..]).zip(cells) {
            for run in *row {
                for &class in &lexer.classes[usize::from(run.first)..=usize::from(run.last)] {
                    cells[usize::from(class)] = base + run.to - 1;
                }
            }
        }
        let rows = lexer.next.chunks(count);
        lexer.is_final = rows.map(|row| row.iter().all(|&to| to == 0)).collect();
        lexer.measure();
        lexer.has_open_ends = lexer.goes_on.contains(&true);
        lexer
    }

    /// Bytes that it takes, about.
    pub(crate) fn memory(&self) -> usize {
        4 * self.next.len() + 10 * self.terminal.len()
    }

    /// How many classes of bytes there are.
    pub(crate) fn width(&self) -> usize {
        self.bytes.len()
    }

    #[inline]
    pub(crate) fn step(&self, state: u32, class: u8) -> u32 {
        self.next[state as usize * self.width() + usize::from(class)]
    }

    /// Whether a lexeme is over in a state that was followed by what must not follow it.
    #[inline]
    pub(crate) fn is_trap(&self, state: u32) -> bool {
        self.distance[state as usize] == u32::MAX
    }

    /// Where a state leads, by class.
    pub(crate) fn row(&self, state: u32) -> &[u32] {
        &self.next[state as usize * self.width()..][..self.width()]
    }

    fn measure(&mut self) {
        let width = self.width();
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); self.terminal.len()];
        for state in 1..self.terminal.len() {
            let mut last = 0;
            for &to in &self.next[state * width..][..width] {
                if to != 0 && to != last {
                    before[to as usize].push(state as u32);
                    last = to;
                }
            }
        }
        let states = 1..self.terminal.len() as u32;
        let mut open: Vec<u32> = states.filter(|&s| self.accepting[s as usize]).collect();
        self.distance = vec![u32::MAX; self.terminal.len()];
        open.iter()
            .for_each(|&state| self.distance[state as usize] = 0);
        let mut far = 0;
        while !open.is_empty() {
            far += 1;
            let mut next = Vec::new();
            for to in open {
                for &from in &before[to as usize] {
                    if self.distance[from as usize] == u32::MAX {
                        self.distance[from as usize] = far;
                        next.push(from);
                    }
                }
            }
            open = next;
        }
    }

    /// The class that leads nearest to acceptance, and where it leads.
    pub(crate) fn nearer(&self, state: u32) -> Option<(u32, u8)> {
        let classes = 0..=(self.width() - 1) as u8;
        let ways = classes.map(|class| (self.step(state, class), class));
        let alive = ways.filter(|way| way.0 != 0);
        alive.min_by_key(|way| (self.distance[way.0 as usize], way.1))
    }

    /// Appends a shortest text from a state to acceptance.
    pub(crate) fn finish(&self, mut state: u32, out: &mut Vec<u8>) {
        while self.distance[state as usize] != 0 {
            let Some((next, class)) = self.nearer(state) else {
                return; // Only the dead state has no way on.
            };
            out.push(self.bytes[usize::from(class)]);
            state = next;
        }
    }

    /// By terminal: how long its shortest text is; a special token counts as one byte.
    pub(crate) fn least(&self, cfg: &Cfg) -> Vec<u32> {
        let terminals = cfg.terminals.iter().zip(&self.starts);
        terminals
            .map(|(terminal, &start)| match &terminal.matter {
                Matter::Table(_) => self.distance[start as usize],
                Matter::Json(automaton) => {
                    let mut text = Vec::new();
                    automaton.completion(&automaton.start(), fsm_index::MAX_COMPLETION, &mut text);
                    text.len() as u32
                }
                Matter::Special(_) => 1,
            })
            .collect()
    }
}

/// The class of each byte: those are in one that lead to the same in each row.
fn byte_classes(rows: &[&[Run]]) -> [u8; 256] {
    let mut class_of = [0u8; 256];
    let mut sizes = [0usize; 256];
    sizes[0] = 256;
    // Refined row by row, so that no column is ever held as a whole.
    for row in rows {
        if !tells_apart(row, &class_of, &sizes) {
            continue;
        }
        let mut dense = [0u32; 256];
        for run in *row {
            dense[usize::from(run.first)..=usize::from(run.last)].fill(run.to);
        }
        let mut seen: HashMap<(u8, u32), u8, FixedState> = HashMap::default();
        sizes = [0; 256];
        for (class, to) in class_of.iter_mut().zip(dense) {
            let count = seen.len() as u8;
            *class = *seen.entry((*class, to)).or_insert(count);
            sizes[usize::from(*class)] += 1;
        }
    }
    class_of
}

/// Whether a row leads from bytes of one class to different states.
fn tells_apart(row: &[Run], class_of: &[u8; 256], sizes: &[usize; 256]) -> bool {
    // Most rows have few bytes: of each class that is met the bytes are counted which go
    // the same way.
    let mut met: Vec<(u8, u32, usize)> = Vec::new();
    for run in row {
        for &class in &class_of[usize::from(run.first)..=usize::from(run.last)] {
            match met.iter_mut().find(|way| way.0 == class) {
                Some((_, to, count)) if *to == run.to => *count += 1,
                Some(_) => return true,
                None => met.push((class, run.to, 1)),
            }
        }
    }
    met.iter().any(|way| sizes[usize::from(way.0)] != way.2)
}
