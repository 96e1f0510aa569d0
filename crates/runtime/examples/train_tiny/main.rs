//! Trains the tiny model that the library embeds, and measures it.
//!
//! ```text
//! cargo run --release -p tokenmold --example train_tiny -- train
//! ```
//!
//! writes `crates/runtime/model` anew: the tokenizer, the configuration and the
//! weights, and the loss curve into `docs`. See `docs/TINY_MODEL.md`.

mod adam;
mod bpe;
mod measure;
mod net;
mod ops;
mod text;
mod train;

use clap::{Parser, Subcommand};

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Train the tokenizer and the model, and write both.
    Train(train::Options),
    /// Measure the model with and without the mask.
    Measure(measure::Options),
    /// Compare gradients with finite differences.
    Gradients,
    /// Print examples of the synthetic text.
    Show {
        #[arg(long, default_value_t = 5)]
        count: u64,
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
}

type AnyError = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), AnyError> {
    match Arguments::parse().command {
        Command::Train(options) => train::train(&options),
        Command::Measure(options) => measure::measure(&options),
        Command::Gradients => {
            println!("{}", net::gradient_error(1)?);
            Ok(())
        }
        Command::Show { count, seed } => {
            for stream in 0..count {
                let mut writer = text::Writer::new(seed, stream, text::Names::Training);
                let example = writer.example(5);
                println!("{}{}\n", example.prompt(), example.answer);
            }
            Ok(())
        }
    }
}
