//! The files of each crate's product code: what is built without `cfg(test)`, found by following
//! `mod` items from the roots of its libraries and programs.
//!
//! For example, `src/run/tests.rs`, declared as `#[cfg(test)] mod tests;`, is not among them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use cargo_metadata::{MetadataCommand, TargetKind};
use syn::spanned::Spanned as _;

use crate::tokens::{self, Token};

/// A crate of the workspace.
pub(crate) struct Crate {
    pub(crate) name: String,
    pub(crate) files: Vec<File>,
}

/// A file of product code.
pub(crate) struct File {
    /// The path from the workspace's root.
    pub(crate) path: PathBuf,
    /// The module that the file is, by names below the root of its library or program.
    pub(crate) module: Vec<String>,
    /// The file of the library or program that it is of.
    pub(crate) root: PathBuf,
    pub(crate) items: Vec<syn::Item>,
    pub(crate) tokens: Vec<Token>,
    pub(crate) lines: Vec<Line>,
    /// The text of the pages that are the module's documentation, such as the README of a crate.
    pub(crate) pages: String,
}

/// A line of a file.
pub(crate) struct Line {
    pub(crate) text: String,
    /// The line is part of an item that only tests build.
    pub(crate) of_tests: bool,
}

impl File {
    /// Returns the number of lines that are not of tests.
    pub(crate) fn product_lines(&self) -> usize {
        self.lines.iter().filter(|line| !line.of_tests).count()
    }

    /// Returns the tokens that are not of tests.
    pub(crate) fn product_tokens(&self) -> impl Iterator<Item = &Token> {
        self.tokens.iter().filter(|token| {
            let line = self.lines.get(token.start.line.wrapping_sub(1));
            line.is_some_and(|line| !line.of_tests)
        })
    }

    /// Returns the path and a line, as compilers print them.
    pub(crate) fn at(&self, span: proc_macro2::Span) -> String {
        format!("{}:{}", self.path.display(), span.start().line)
    }
}

/// Reads all crates of a workspace but those that are named.
pub(crate) fn read(root: &Path, left_out: &[String]) -> anyhow::Result<Vec<Crate>> {
    let metadata = MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .no_deps()
        .exec()?;
    let root = metadata.workspace_root.clone().into_std_path_buf();
    let mut crates = Vec::new();
    for package in metadata.workspace_packages() {
        let name = package.name.to_string();
        if left_out.contains(&name) {
            continue;
        }
        // A file that two programs share is read once.
        let mut files = BTreeMap::new();
        for target in &package.targets {
            let product = target.kind.iter().any(|kind| {
                !matches!(
                    kind,
                    TargetKind::Test
                        | TargetKind::Bench
                        | TargetKind::Example
                        | TargetKind::CustomBuild
                )
            });
            if product {
                let source = target.src_path.clone().into_std_path_buf();
                Reader {
                    workspace: &root,
                    source: &source,
                    files: &mut files,
                }
                .read(&source, Vec::new(), ModuleAt::Root)?;
            }
        }
        crates.push(Crate {
            name,
            files: files.into_values().collect(),
        });
    }
    crates.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(crates)
}

/// The place of a module's own modules.
#[derive(Clone, Copy)]
enum ModuleAt {
    /// Beside the file, which is a crate's root.
    Root,
    /// Beside `mod.rs`, or in the folder of the file's name.
    Below,
}

/// Reads the modules of a library or program.
struct Reader<'a> {
    workspace: &'a Path,
    source: &'a Path,
    files: &'a mut BTreeMap<PathBuf, File>,
}

impl Reader<'_> {
    fn read(&mut self, path: &Path, module: Vec<String>, at: ModuleAt) -> anyhow::Result<()> {
        if self.files.contains_key(path) {
            return Ok(());
        }
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let parsed = syn::parse_file(&text).with_context(|| path.display().to_string())?;
        let texts: Vec<&str> = text.lines().collect();
        let mut lines: Vec<Line> = texts
            .iter()
            .map(|line| Line {
                text: (*line).to_owned(),
                of_tests: false,
            })
            .collect();
        let items = product_items(parsed.items, &mut lines);
        let beside = path.parent().unwrap_or(self.workspace).to_owned();
        let folder = match at {
            ModuleAt::Below if path.file_name().is_some_and(|name| name != "mod.rs") => {
                path.with_extension("")
            }
            ModuleAt::Root | ModuleAt::Below => beside.clone(),
        };
        let mut pages = String::new();
        for page in texts.iter().filter_map(|line| included_page(line)) {
            let page = beside.join(page);
            pages.push_str(&fs::read_to_string(&page).with_context(|| page.display().to_string())?);
        }
        let declared: Vec<_> = items.iter().filter_map(declared_module).collect();
        self.files.insert(
            path.to_owned(),
            File {
                path: path.strip_prefix(self.workspace).unwrap_or(path).to_owned(),
                module: module.clone(),
                root: self.source.to_owned(),
                items,
                tokens: tokens::of(&text, &texts),
                lines,
                pages,
            },
        );
        for (name, given) in declared {
            let file = folder.join(format!("{name}.rs"));
            let source = match given {
                Some(given) => beside.join(given),
                None if file.exists() => file,
                None => folder.join(&name).join("mod.rs"),
            };
            let mut inner = module.clone();
            inner.push(name);
            self.read(&source, inner, ModuleAt::Below)?;
        }
        Ok(())
    }
}

/// Returns the path of the page that a line takes in as the documentation of its module.
fn included_page(line: &str) -> Option<&str> {
    let attribute = line.trim_start().strip_prefix("#![")?;
    let (_, page) = attribute.split_once("doc = include_str!(\"")?;
    Some(page.split_once('"')?.0)
}

/// Returns the items that are built without tests, and marks the lines of the others.
fn product_items(items: Vec<syn::Item>, lines: &mut [Line]) -> Vec<syn::Item> {
    let mut kept = Vec::new();
    for item in items {
        if of_tests(attributes(&item)) {
            let span = item.span();
            let first = span.start().line.saturating_sub(1);
            let last = span.end().line.min(lines.len());
            for line in &mut lines[first..last] {
                line.of_tests = true;
            }
            continue;
        }
        kept.push(match item {
            syn::Item::Impl(mut block) => {
                block.items.retain(|item| match item {
                    syn::ImplItem::Fn(method) if of_tests(&method.attrs) => {
                        let span = method.span();
                        let first = span.start().line.saturating_sub(1);
                        for line in &mut lines[first..span.end().line] {
                            line.of_tests = true;
                        }
                        false
                    }
                    _ => true,
                });
                syn::Item::Impl(block)
            }
            item => item,
        });
    }
    kept
}

/// Tells whether attributes have `cfg(test)` among them, alone or in `all(..)`.
fn of_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) if list.path.is_ident("cfg") => {
            let tokens = list.tokens.to_string();
            tokens == "test" || tokens.starts_with("all (test") || tokens.starts_with("all(test")
        }
        _ => false,
    })
}

/// Returns the name of a module that has a file of its own, and the path that is given for it.
fn declared_module(item: &syn::Item) -> Option<(String, Option<String>)> {
    let syn::Item::Mod(module) = item else {
        return None;
    };
    let given = module
        .attrs
        .iter()
        .find_map(|attribute| match &attribute.meta {
            syn::Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
                syn::Expr::Lit(syn::ExprLit {
                    lit: syn::Lit::Str(path),
                    ..
                }) => Some(path.value()),
                _ => None,
            },
            _ => None,
        });
    module
        .content
        .is_none()
        .then(|| (module.ident.to_string(), given))
}

/// Returns an item's attributes.
pub(crate) fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::ExternCrate(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::ForeignMod(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::TraitAlias(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Union(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
