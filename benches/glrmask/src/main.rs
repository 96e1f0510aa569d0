//! The crate `glrmask`, in its default settings, as a program that `maskbench` asks as it asks
//! its own engines:
//!
//! ```console
//! cargo build --release --locked --manifest-path benches/glrmask/Cargo.toml
//! maskbench --engine tokenmold --engine glrmask=PROGRAM --engine glrmask-started=PROGRAM ..
//! ```
//!
//! Where a text begins, the crate computes its first mask at once. `glrmask` counts that with
//! the first mask; for `glrmask-started` it is over before the clock runs.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use fsm_index::{MaskBuffer, TokenId, TokenKind, Vocabulary};
use glrmask::{Constraint as Mask, ConstraintState, Grammar, Vocab};
use serde_json::Value;
use tokenmold_benches::engines::{Constraint, Engine, PropertyOrder, Session};
use tokenmold_benches::{program, worker};

/// The name under which a text's beginning is part of its first mask.
const CHARGED: &str = "glrmask";

/// The name under which it is part of nothing.
const STARTED: &str = "glrmask-started";

/// What `maskbench` tells its engines.
#[derive(Parser, Debug)]
struct Arguments {
    /// `glrmask` or `glrmask-started`.
    #[arg(long)]
    worker: String,

    /// A `tokenizer.json`.
    #[arg(long)]
    tokenizer: PathBuf,

    /// Of no use here: no position is checked by brute force.
    #[arg(long)]
    seed: u64,

    /// Time that a case may take, in seconds.
    #[arg(long)]
    limit_seconds: f64,

    /// Of no use here: the crate has an order of its own.
    #[arg(long)]
    property_order: PropertyOrder,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let engine = || {
        let begins = match arguments.worker.as_str() {
            CHARGED => Begins::WithTheFirstMask,
            STARTED => Begins::BeforeTheClock,
            other => return Err(format!("no engine {other}; there are {CHARGED}, {STARTED}")),
        };
        let vocabulary = program::vocabulary(&arguments.tokenizer)?;
        let engine: Box<dyn Engine> = Box::new(GlrMask {
            tokens: tokens(&vocabulary),
            begins,
        });
        Ok((engine, vocabulary.width().div_ceil(32)))
    };
    let done = worker::work(engine, arguments.seed, arguments.limit_seconds);
    program::end("tokenmold-glrmask", done)
}

/// The tokens of text with their bytes; no grammar of JSON reads the others.
fn tokens(vocabulary: &Vocabulary) -> Vocab {
    let text = |&token: &TokenId| vocabulary.kind(token) == TokenKind::Text;
    let all = (0..vocabulary.width() as u32)
        .map(TokenId::new)
        .filter(text);
    let bytes = |token| vocabulary.token_bytes(token).unwrap_or_default().to_vec();
    Vocab::new(all.map(|token| (token.get(), bytes(token))).collect())
}

/// What the beginning of a text is counted with.
#[derive(Clone, Copy)]
enum Begins {
    WithTheFirstMask,
    BeforeTheClock,
}

struct GlrMask {
    tokens: Vocab,
    begins: Begins,
}

impl Engine for GlrMask {
    fn compile(&self, schema: &Value) -> Result<Box<dyn Constraint>, String> {
        let grammar = Grammar::from_json_schema(schema.to_string()).map_err(|e| e.to_string())?;
        let mask = grammar.compile(&self.tokens).map_err(|e| e.to_string())?;
        Ok(Box::new(Compiled {
            mask,
            begins: self.begins,
        }))
    }
}

#[derive(Clone)]
struct Compiled {
    mask: Mask,
    begins: Begins,
}

impl Constraint for Compiled {
    fn session(&self) -> Result<Box<dyn Session + '_>, String> {
        let state = match self.begins {
            Begins::WithTheFirstMask => None,
            Begins::BeforeTheClock => Some(self.mask.start()),
        };
        Ok(Box::new(Text {
            mask: &self.mask,
            state,
        }))
    }

    fn for_another_thread(&self) -> Box<dyn Constraint> {
        Box::new(self.clone())
    }
}

struct Text<'c> {
    mask: &'c Mask,
    /// Nothing before it is first asked for.
    state: Option<ConstraintState<'c>>,
}

impl<'c> Text<'c> {
    fn state(&mut self) -> &mut ConstraintState<'c> {
        self.state.get_or_insert_with(|| self.mask.start())
    }
}

impl Session for Text<'_> {
    fn mask(&mut self, buffer: &mut MaskBuffer) -> Result<(), String> {
        self.state().fill_mask(buffer.words_mut());
        Ok(())
    }

    fn advance(&mut self, token: u32) -> Result<(), String> {
        match self.state().commit_token(token) {
            true => Ok(()),
            false => Err("the token is not allowed".to_owned()),
        }
    }

    fn is_accepting(&mut self) -> bool {
        self.state().is_accepting()
    }
}
