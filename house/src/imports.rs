//! The files and folders of a crate that use each other, and the circles among them.
//!
//! A file uses another if it names something that is defined there: by a path in an import or in
//! the code, through re-exports. A re-export itself is a door, and no use, unless the file also
//! names what it hands on. For example, `a.rs` with `use crate::b::Thing` and `b.rs` with `super::a::make()` are
//! a circle of two files. Circles are the strongly connected components (Tarjan 1972) with more
//! than one member.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use petgraph::algo::tarjan_scc;
use petgraph::graph::DiGraph;

use crate::crates::{Crate, File};
use crate::tokens::{Kind, Token};

/// The modules of a crate, and the names that each has.
pub(crate) struct Modules<'a> {
    files: &'a [File],
    by_path: HashMap<(&'a Path, Vec<String>), usize>,
    names: Vec<Names>,
    /// The uses of one file by another, from and to.
    uses: Vec<(usize, usize)>,
}

/// The names of a file.
#[derive(Default)]
struct Names {
    defined: HashSet<String>,
    imports: Vec<Import>,
}

/// A name that a file takes from elsewhere.
struct Import {
    path: Vec<String>,
    /// The name here; `*` stands for all.
    name: String,
    is_door: bool,
}

impl<'a> Modules<'a> {
    pub(crate) fn of(krate: &'a Crate) -> Self {
        let files = &krate.files[..];
        let by_path = files
            .iter()
            .enumerate()
            .map(|(at, file)| ((file.root.as_path(), file.module.clone()), at))
            .collect();
        let names = files.iter().map(Names::of).collect();
        let mut modules = Self {
            files,
            by_path,
            names,
            uses: Vec::new(),
        };
        let uses = (0..files.len()).map(|file| modules.used_by(file));
        let uses = uses
            .enumerate()
            .flat_map(|(one, used)| used.into_iter().map(move |other| (one, other)));
        modules.uses = uses.collect();
        modules
    }

    /// Returns the file that defines what a path in a file names, if it is of this crate.
    pub(crate) fn defined(&self, file: usize, path: &[String]) -> Option<usize> {
        self.resolve(file, path, 0)
    }

    fn resolve(&self, file: usize, path: &[String], depth: usize) -> Option<usize> {
        // Re-exports of each other in a ring end here.
        if depth > 12 {
            return None;
        }
        let mut module = self.files[file].module.clone();
        let mut rest = path;
        let mut absolute = false;
        while let Some((first, others)) = rest.split_first() {
            match first.as_str() {
                "crate" => module.clear(),
                "self" => {}
                "super" => {
                    module.pop()?;
                }
                _ => break,
            }
            absolute = true;
            rest = others;
        }
        let mut at = self.module(file, &module)?;
        let mut is_first = !absolute;
        while let Some((name, others)) = rest.split_first() {
            module.push(name.clone());
            if let Some(inner) = self.module(file, &module) {
                at = inner;
                rest = others;
                is_first = false;
                continue;
            }
            module.pop();
            let names = &self.names[at];
            if names.defined.contains(name) {
                return Some(at);
            }
            let imported = names.imports.iter().find(|import| import.name == *name);
            if let Some(import) = imported {
                return self.resolve(at, &import.path, depth + 1);
            }
            let found = names
                .imports
                .iter()
                .filter(|import| import.name == "*")
                .find_map(|import| {
                    let within = self.resolve(at, &import.path, depth + 1)?;
                    let found = within != at && self.names[within].defined.contains(name);
                    found.then_some(within)
                });
            if found.is_some() {
                return found;
            }
            // A first name that nothing defines is another crate's.
            return (!is_first).then_some(at);
        }
        Some(at)
    }

    fn module(&self, file: usize, module: &[String]) -> Option<usize> {
        let root = self.files[file].root.as_path();
        self.by_path.get(&(root, module.to_vec())).copied()
    }

    /// Returns the files that a file uses.
    fn used_by(&self, file: usize) -> BTreeSet<usize> {
        let mut used = BTreeSet::new();
        let tokens = product_tokens(&self.files[file]);
        let named: HashSet<&str> = tokens
            .iter()
            .filter(|token| token.kind == Kind::Name)
            .map(|token| token.text.as_str())
            .collect();
        for import in &self.names[file].imports {
            if !import.is_door || named.contains(import.name.as_str()) {
                used.extend(self.resolve(file, &import.path, 0));
            }
        }
        for path in paths(&tokens) {
            let first = path[0].as_str();
            let mut inner = self.files[file].module.clone();
            inner.push(first.to_owned());
            let is_ours =
                matches!(first, "crate" | "self" | "super") || self.module(file, &inner).is_some();
            if is_ours {
                used.extend(self.resolve(file, &path, 0));
            }
        }
        used.remove(&file);
        used
    }

    /// Returns the circles of files, each as their paths.
    pub(crate) fn circles_of_files(&self) -> Vec<Vec<String>> {
        let names: Vec<String> = self
            .files
            .iter()
            .map(|file| file.path.display().to_string())
            .collect();
        circles(&names, self.uses.iter().copied())
    }

    /// Returns the circles of folders.
    pub(crate) fn circles_of_folders(&self) -> Vec<Circle> {
        let folders: Vec<PathBuf> = self
            .files
            .iter()
            .map(|file| file.path.parent().unwrap_or(Path::new("")).to_owned())
            .collect();
        let distinct: BTreeSet<&PathBuf> = folders.iter().collect();
        let distinct: Vec<&PathBuf> = distinct.into_iter().collect();
        let number = |file: usize| distinct.binary_search(&&folders[file]).unwrap_or_default();
        let names: Vec<String> = distinct
            .iter()
            .map(|folder| folder.display().to_string())
            .collect();
        let between = self
            .uses
            .iter()
            .map(|(one, other)| (number(*one), number(*other)))
            .filter(|(one, other)| one != other);
        circles(&names, between)
            .into_iter()
            .map(|folders| {
                let is_in = |file: usize| folders.contains(&names[number(file)]);
                let uses = self
                    .uses
                    .iter()
                    .filter(|(one, other)| number(*one) != number(*other))
                    .filter(|(one, other)| is_in(*one) && is_in(*other))
                    .map(|(one, other)| {
                        let (one, other) = (&self.files[*one].path, &self.files[*other].path);
                        format!("{} -> {}", one.display(), other.display())
                    })
                    .collect();
                Circle { folders, uses }
            })
            .collect()
    }
}

/// Folders that use each other.
pub(crate) struct Circle {
    pub(crate) folders: Vec<String>,
    /// The uses between files of different folders among them.
    pub(crate) uses: Vec<String>,
}

/// Returns the names of each circle.
fn circles(names: &[String], edges: impl Iterator<Item = (usize, usize)>) -> Vec<Vec<String>> {
    let mut graph = DiGraph::<usize, ()>::new();
    let nodes: Vec<_> = (0..names.len()).map(|at| graph.add_node(at)).collect();
    let edges: BTreeSet<(usize, usize)> = edges.collect();
    for (one, other) in edges {
        graph.add_edge(nodes[one], nodes[other], ());
    }
    let mut circles: Vec<Vec<String>> = tarjan_scc(&graph)
        .into_iter()
        .filter(|members| members.len() > 1)
        .map(|members| {
            let mut members: Vec<String> = members
                .into_iter()
                .map(|node| names[graph[node]].clone())
                .collect();
            members.sort();
            members
        })
        .collect();
    circles.sort();
    circles
}

/// Returns the items that a file imports to show them to everybody: the first name of each path,
/// which may be a crate's, and the last.
pub(crate) fn shown(items: &[syn::Item]) -> Vec<(String, String)> {
    let mut names = Names::default();
    for item in items {
        match item {
            syn::Item::Use(item) if matches!(item.vis, syn::Visibility::Public(_)) => {
                names.import(item);
            }
            _ => {}
        }
    }
    let ends = |import: Import| {
        let first = import.path.first()?.clone();
        Some((first, import.path.last()?.clone()))
    };
    names.imports.into_iter().filter_map(ends).collect()
}

impl Names {
    fn of(file: &File) -> Self {
        let mut names = Self::default();
        names.add(&file.items);
        // Imports in the bodies of functions, too.
        let mut bodies = Bodies { names: &mut names };
        for item in &file.items {
            if !matches!(item, syn::Item::Use(_)) {
                syn::visit::Visit::visit_item(&mut bodies, item);
            }
        }
        names
    }

    fn add(&mut self, items: &[syn::Item]) {
        for item in items {
            let name = match item {
                syn::Item::Const(item) => &item.ident,
                syn::Item::Enum(item) => &item.ident,
                syn::Item::Fn(item) => &item.sig.ident,
                syn::Item::Mod(item) if item.content.is_some() => &item.ident,
                syn::Item::Static(item) => &item.ident,
                syn::Item::Struct(item) => &item.ident,
                syn::Item::Trait(item) => &item.ident,
                syn::Item::TraitAlias(item) => &item.ident,
                syn::Item::Type(item) => &item.ident,
                syn::Item::Union(item) => &item.ident,
                syn::Item::Macro(item) => match &item.ident {
                    Some(name) => name,
                    None => continue,
                },
                syn::Item::Use(item) => {
                    self.import(item);
                    continue;
                }
                _ => continue,
            };
            self.defined.insert(name.to_string());
        }
    }

    fn import(&mut self, item: &syn::ItemUse) {
        let is_door = !matches!(item.vis, syn::Visibility::Inherited);
        self.tree(&item.tree, &mut Vec::new(), is_door);
    }

    fn tree(&mut self, tree: &syn::UseTree, before: &mut Vec<String>, is_door: bool) {
        let leaf = |name: String, path: Vec<String>| Import {
            path,
            name,
            is_door,
        };
        match tree {
            syn::UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.tree(&path.tree, before, is_door);
                before.pop();
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.tree(tree, before, is_door);
                }
            }
            syn::UseTree::Name(name) if name.ident == "self" => {
                if let Some(last) = before.last() {
                    self.imports.push(leaf(last.clone(), before.clone()));
                }
            }
            syn::UseTree::Name(name) => {
                let mut path = before.clone();
                path.push(name.ident.to_string());
                self.imports.push(leaf(name.ident.to_string(), path));
            }
            syn::UseTree::Rename(rename) => {
                let mut path = before.clone();
                if rename.ident != "self" {
                    path.push(rename.ident.to_string());
                }
                self.imports.push(leaf(rename.rename.to_string(), path));
            }
            syn::UseTree::Glob(_) => self.imports.push(leaf("*".to_owned(), before.clone())),
        }
    }
}

/// Adds the imports that stand in bodies.
struct Bodies<'a> {
    names: &'a mut Names,
}

impl<'ast> syn::visit::Visit<'ast> for Bodies<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.names.import(item);
    }
}

/// Returns a file's tokens without those of tests and of imports.
fn product_tokens(file: &File) -> Vec<&Token> {
    let mut kept = Vec::new();
    let mut in_import = false;
    for token in file.product_tokens() {
        if token.kind == Kind::Name && token.text == "use" {
            in_import = true;
        }
        if !in_import {
            kept.push(token);
        }
        if token.text == ";" {
            in_import = false;
        }
    }
    kept
}

/// Returns the paths of at least two names, but those that say who sees an item.
fn paths(tokens: &[&Token]) -> Vec<Vec<String>> {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let is_name = |at: usize| tokens.get(at).is_some_and(|token| token.kind == Kind::Name);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if !is_name(at) {
            at += 1;
            continue;
        }
        let start = at;
        let mut path = vec![text(at).to_owned()];
        while text(at + 1) == ":" && text(at + 2) == ":" && is_name(at + 3) {
            path.push(text(at + 3).to_owned());
            at += 3;
        }
        at += 1;
        let is_visibility = start > 1 && text(start - 1) == "in" && text(start - 2) == "(";
        if path.len() > 1 && !is_visibility {
            found.push(path);
        }
    }
    found
}
