//! The program's completions for a shell, and its pages for `man`. For example, `tokenmold man
//! --out DIR` writes a page for the program and one for each command.

use std::path::PathBuf;

use clap_complete::Shell;
use serde_json::json;

use super::{Failure, Output};

/// Arguments of `tokenmold completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Arguments of `tokenmold man`.
#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// Write a page for the program and each of its commands into this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn completions(
    args: &CompletionArgs,
    mut program: clap::Command,
) -> Result<Output, Failure> {
    let mut script = Vec::new();
    let name = program.get_name().to_owned();
    clap_complete::generate(args.shell, &mut program, name, &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    Ok(Output {
        json: json!({ "script": script }),
        text: script,
        ..Output::default()
    })
}

pub(crate) fn man(args: &ManArgs, program: clap::Command) -> Result<Output, Failure> {
    let mut program = program.disable_help_subcommand(true);
    program.build();
    let Some(folder) = &args.out else {
        let page = page(&program)?;
        return Ok(Output {
            json: json!({ "page": page }),
            text: page,
            ..Output::default()
        });
    };
    std::fs::create_dir_all(folder).map_err(|e| Failure::of(folder.display(), e))?;
    clap_mangen::generate_to(program, folder).map_err(|e| Failure::of(folder.display(), e))?;
    Ok(Output {
        text: format!("{}\n", folder.display()),
        json: json!({ "pages": folder }),
        ..Output::default()
    })
}

fn page(command: &clap::Command) -> Result<String, Failure> {
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(command.clone()).render(&mut page);
    rendered.map_err(|e| Failure::of("the manual page", e))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
