//! Draws what compilation costs by the size of schemas, and masks by the width of vocabularies. For
//! example, `costs-compile.svg` has a point for each schema, its bytes across and microseconds up.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::Parser;
use fsm_index::{Fill, Guide, Index, IndexConfig, JSON_TEXT, TokenId};
use plotters::prelude::*;
use schema_regex::Options;
use schema_regex::automaton::SchemaAutomaton;
use tokenmold_benches::cases::Case;
use tokenmold_benches::program::{self, Chosen};
use tokenmold_benches::stats::{Summary, slope};

/// Compiles cases and walks their valid texts under vocabularies of several widths; writes
/// `costs-compile.svg` and `costs-mask.svg` and prints what they show.
#[derive(Parser, Debug)]
struct Arguments {
    /// Files `tokenizer.json`, one for each vocabulary.
    #[arg(long = "tokenizer", required = true)]
    tokenizers: Vec<PathBuf>,

    #[command(flatten)]
    chosen: Chosen,

    /// The folder of the drawings.
    #[arg(long, default_value = "docs")]
    out: PathBuf,
}

fn main() -> ExitCode {
    program::end("costs", run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let cases = arguments.chosen.read()?;
    let compiles = compiles(&cases);
    // The power of the size that times grow by.
    let logs: Vec<(f64, f64)> = compiles.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let slope = slope(&logs);
    println!(
        "{} schemas compiled; time grows as size to the {slope:.2} (least squares of the logarithms)",
        compiles.len()
    );
    draw_compiles(&arguments.out.join("costs-compile.svg"), &compiles)?;

    println!("   width    masks   avg us   p50 us   p99 us  p99.9 us");
    let mut masks: Vec<(f64, Summary)> = Vec::new();
    for path in &arguments.tokenizers {
        let (width, summary) = masks_of(path, &cases)?;
        println!(
            "{width:8} {:8} {:8.2} {:8.2} {:8.1} {:9.1}",
            summary.count, summary.avg, summary.p50, summary.p99, summary.p999
        );
        masks.push((width as f64, summary));
    }
    masks.sort_by(|a, b| a.0.total_cmp(&b.0));
    draw_masks(&arguments.out.join("costs-mask.svg"), &masks)
}

/// The bytes of each schema that is taken, and the least of three times to compile it, in us.
fn compiles(cases: &[Case]) -> Vec<(f64, f64)> {
    let options = Options::default();
    let time = |case: &Case| {
        let begun = Instant::now();
        let automaton = SchemaAutomaton::new(&case.schema, &options).ok()?;
        let time = begun.elapsed().as_secs_f64() * 1e6;
        drop(automaton);
        Some(time)
    };
    cases
        .iter()
        .filter_map(|case| {
            let least = time(case)?.min(time(case)?).min(time(case)?);
            Some((case.schema.to_string().len() as f64, least))
        })
        .collect()
}

/// The width of a vocabulary, and its masks of first requests in us.
fn masks_of(path: &Path, cases: &[Case]) -> Result<(usize, Summary), String> {
    let (vocabulary, speller) = program::vocabulary_and_speller(path)?;
    vocabulary.prepare(JSON_TEXT);
    let config = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    let mut times = Vec::new();
    for case in cases {
        let Ok(automaton) = SchemaAutomaton::new(&case.schema, &Options::default()) else {
            continue;
        };
        let index = Arc::new(
            Index::lazy(automaton, &vocabulary, &config)
                .map_err(|e| format!("{}: {e}", path.display()))?,
        );
        let valid = case.tests.iter().filter(|test| test.valid);
        for tokens in valid.filter_map(|test| speller.spell(&test.text)) {
            let mut guide = Guide::new(Arc::clone(&index));
            for token in tokens {
                let begun = Instant::now();
                guide.mask().unwrap();
                times.push(begun.elapsed().as_secs_f64() * 1e6);
                if guide.advance(TokenId::new(token)).is_err() {
                    break;
                }
            }
        }
    }
    Ok((vocabulary.width(), Summary::new(times)))
}

fn draw_compiles(path: &Path, points: &[(f64, f64)]) -> Result<(), String> {
    let failed = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let largest = |which: fn(&(f64, f64)) -> f64| points.iter().map(which).fold(100.0, f64::max);
    let area = SVGBackend::new(path, (720, 440)).into_drawing_area();
    area.fill(&WHITE).map_err(|e| failed(&e))?;
    let mut chart = ChartBuilder::on(&area)
        .caption("Compiling a schema", ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(42)
        .y_label_area_size(64)
        .build_cartesian_2d(
            (10.0..largest(|p| p.0) * 1.3).log_scale(),
            (1.0..largest(|p| p.1) * 1.3).log_scale(),
        )
        .map_err(|e| failed(&e))?;
    chart
        .configure_mesh()
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y:.0}"))
        .x_desc("bytes of the schema")
        .y_desc("microseconds")
        .draw()
        .map_err(|e| failed(&e))?;
    let dots = points
        .iter()
        .map(|&at| Circle::new(at, 2, BLUE.mix(0.45).filled()));
    chart.draw_series(dots).map_err(|e| failed(&e))?;
    area.present().map_err(|e| failed(&e))
}

fn draw_masks(path: &Path, masks: &[(f64, Summary)]) -> Result<(), String> {
    let failed = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let widest = masks.iter().map(|m| m.0).fold(1.0, f64::max);
    let longest = masks.iter().map(|m| m.1.p999).fold(10.0, f64::max);
    let area = SVGBackend::new(path, (720, 440)).into_drawing_area();
    area.fill(&WHITE).map_err(|e| failed(&e))?;
    let mut chart = ChartBuilder::on(&area)
        .caption("A mask of a first request", ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(42)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..widest * 1.1, (0.1..longest * 2.0).log_scale())
        .map_err(|e| failed(&e))?;
    chart
        .configure_mesh()
        .x_label_formatter(&|x| format!("{x:.0}"))
        .x_desc("tokens of the vocabulary")
        .y_desc("microseconds")
        .draw()
        .map_err(|e| failed(&e))?;
    type Pick = fn(&Summary) -> f64;
    let lines: [(&str, Pick, RGBColor); 4] = [
        ("p50", |s| s.p50, BLUE),
        ("average", |s| s.avg, BLACK),
        ("p99", |s| s.p99, RED),
        ("p99.9", |s| s.p999, MAGENTA),
    ];
    for (name, pick, color) in lines {
        let points: Vec<(f64, f64)> = masks.iter().map(|m| (m.0, pick(&m.1))).collect();
        let dots = points.iter().map(|&at| Circle::new(at, 3, color.filled()));
        chart.draw_series(dots).map_err(|e| failed(&e))?;
        chart
            .draw_series(LineSeries::new(points, &color))
            .map_err(|e| failed(&e))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK)
        .draw()
        .map_err(|e| failed(&e))?;
    area.present().map_err(|e| failed(&e))
}
