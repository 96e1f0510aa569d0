//! All counts, in the order in which they are printed.
//!
//! For example, "files over 600 lines" has the files as its places.

use std::collections::{BTreeMap, BTreeSet};

use crate::crates::Crate;
use crate::frozen::Settings;
use crate::imports::{self, Modules};
use crate::items::{Items, Openness};
use crate::words::Words;

/// The lines from which on a function is long: more than a screen and a half shows.
const LONG_FUNCTION: usize = 100;

/// The lines from which on a file is long, as the review of the house counted them.
const LONG_FILE: usize = 600;

/// A count.
pub(crate) struct Count {
    pub(crate) name: String,
    pub(crate) figure: f64,
    pub(crate) better: Better,
    /// The places that were counted, one a line.
    pub(crate) places: Vec<String>,
}

/// The direction in which a count gets better.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Better {
    Lower,
    Higher,
}

/// Counts everything.
pub(crate) fn of(crates: &[Crate], settings: &Settings) -> Vec<Count> {
    let mut counts = Vec::new();
    let mut all = 0;
    for krate in crates {
        let lines: usize = krate.files.iter().map(|file| file.product_lines()).sum();
        let mut files: Vec<_> = krate.files.iter().collect();
        files.sort_by_key(|file| std::cmp::Reverse(file.product_lines()));
        let places = files
            .iter()
            .map(|file| format!("{:>6}  {}", file.product_lines(), file.path.display()))
            .collect();
        counts.push(lower(
            format!("product lines of {}", krate.name),
            lines,
            places,
        ));
        if !settings.measuring.contains(&krate.name) {
            all += lines;
        }
    }
    counts.push(lower("product lines of the crates", all, Vec::new()));
    long_files(crates, &mut counts);
    let modules: Vec<Modules<'_>> = crates.iter().map(Modules::of).collect();
    items(crates, &modules, settings, &mut counts);
    circles(&modules, &mut counts);
    lists(crates, settings, &mut counts);
    words(crates, &mut counts);
    counts
}

fn lower(name: impl Into<String>, figure: usize, places: Vec<String>) -> Count {
    Count {
        name: name.into(),
        figure: figure as f64,
        better: Better::Lower,
        places,
    }
}

/// A count of places.
fn of_places(name: &str, places: Vec<String>) -> Count {
    lower(name, places.len(), places)
}

fn long_files(crates: &[Crate], counts: &mut Vec<Count>) {
    let places = crates
        .iter()
        .flat_map(|krate| &krate.files)
        .filter(|file| file.product_lines() > LONG_FILE)
        .map(|file| format!("{:>6}  {}", file.product_lines(), file.path.display()))
        .collect();
    counts.push(of_places(&format!("files over {LONG_FILE} lines"), places));
}

/// The part of the workspace that sees an item that is neither its module's alone nor everybody's.
enum Reach {
    /// Its crate.
    Crate,
    /// The crate above an inner one, which does not show it to others.
    CrateAbove,
}

/// The names that crates above the inner ones import from these to show them to everybody.
fn shown(crates: &[Crate], settings: &Settings) -> BTreeSet<String> {
    let mut shown = BTreeSet::new();
    let outer = |krate: &&Crate| !settings.inner_crates.contains(&krate.name);
    for file in crates.iter().filter(outer).flat_map(|krate| &krate.files) {
        for (krate, name) in imports::shown(&file.items) {
            let is_of = |inner: &String| inner.replace('-', "_") == krate;
            if settings.inner_crates.iter().any(is_of) {
                shown.insert(name);
            }
        }
    }
    shown
}

fn items(crates: &[Crate], modules: &[Modules<'_>], settings: &Settings, counts: &mut Vec<Count>) {
    let mut long = Vec::new();
    let mut boolean = Vec::new();
    let mut tuple = Vec::new();
    let mut open_functions = Vec::new();
    let mut open_fields = Vec::new();
    let mut shown_functions = Vec::new();
    let mut shown_fields = Vec::new();
    let mut asked = Vec::new();
    let mut without_reason = Vec::new();
    let mut same_name = Vec::new();
    // The methods and files of each type, by its crate, file and name.
    let mut inherent: BTreeMap<String, (usize, BTreeSet<String>)> = BTreeMap::new();
    let shown = shown(crates, settings);
    for (krate, modules) in crates.iter().zip(modules) {
        let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let is_counted = settings.schema_crates.contains(&krate.name);
        let is_inner = settings.inner_crates.contains(&krate.name);
        let reach = |openness, name: &str| match openness {
            Openness::Crate if is_counted => Some(Reach::Crate),
            Openness::Public if is_counted && is_inner && !shown.contains(name) => {
                Some(Reach::CrateAbove)
            }
            _ => None,
        };
        for (at, file) in krate.files.iter().enumerate() {
            let items = Items::of(file);
            for function in &items.functions {
                let place = format!("{} {}", function.at, function.name);
                if function.lines > LONG_FUNCTION {
                    long.push(format!("{:>6}  {place}", function.lines));
                }
                boolean.extend((0..function.boolean_parameters).map(|_| place.clone()));
                tuple.extend((0..function.tuple_parameters).map(|_| place.clone()));
                match reach(function.openness, function.imported_by()) {
                    Some(Reach::Crate) => open_functions.push(place),
                    Some(Reach::CrateAbove) => shown_functions.push(place),
                    None => {}
                }
                if let Some(path) = &function.method_of {
                    let home = modules.defined(at, path).unwrap_or(at);
                    let name = path.last().map_or("", String::as_str);
                    let key = format!("{} of {}", name, krate.files[home].path.display());
                    let (methods, files) = inherent.entry(key).or_default();
                    *methods += 1;
                    files.insert(file.path.display().to_string());
                }
            }
            for field in items.fields {
                match reach(field.openness, &field.of) {
                    Some(Reach::Crate) => open_fields.push(field.at),
                    Some(Reach::CrateAbove) => shown_fields.push(field.at),
                    None => {}
                }
            }
            if file.path.starts_with(&settings.walk_folder) {
                for (name, methods) in items.traits {
                    asked.extend(
                        methods
                            .into_iter()
                            .map(|method| format!("{name}::{method}")),
                    );
                }
            }
            for (name, place) in items.types {
                types.entry(name).or_default().push(place);
            }
            without_reason.extend(items.without_reason);
        }
        // One program of many in a crate may have a type of another's name.
        if !settings.measuring.contains(&krate.name) {
            same_name.extend(
                types
                    .into_iter()
                    .filter(|(_, places)| places.len() > 1)
                    .map(|(name, places)| format!("{} {name}: {}", krate.name, places.join(", "))),
            );
        }
    }
    long.sort_by(|one, other| other.cmp(one));
    let ranked = |figure: fn(&(usize, BTreeSet<String>)) -> usize| {
        let mut ranked: Vec<(usize, &String)> = inherent
            .iter()
            .map(|(name, entry)| (figure(entry), name))
            .collect();
        ranked.sort_by_key(|(figure, _)| std::cmp::Reverse(*figure));
        let most = ranked.first().map_or(0, |(figure, _)| *figure);
        let places = ranked
            .iter()
            .take(20)
            .map(|(figure, name)| format!("{figure:>6}  {name}"))
            .collect();
        (most, places)
    };
    let (most, places) = ranked(|(methods, _)| *methods);
    counts.push(lower("most methods of one type", most, places));
    let (most, places) = ranked(|(_, files)| files.len());
    counts.push(lower("most files with methods of one type", most, places));
    let spread = inherent.iter().filter(|(_, (_, files))| files.len() > 3);
    counts.push(of_places(
        "types with methods in more than three files",
        spread
            .map(|(name, (_, files))| format!("{:>6}  {name}", files.len()))
            .collect(),
    ));
    counts.push(of_places(
        &format!("functions over {LONG_FUNCTION} lines"),
        long,
    ));
    counts.push(of_places("boolean parameters", boolean));
    counts.push(of_places("tuple parameters", tuple));
    counts.push(of_places(
        "open functions of the schema crates",
        open_functions,
    ));
    counts.push(of_places("open fields of the schema crates", open_fields));
    counts.push(of_places(
        "functions that inner crates show to the crate above",
        shown_functions,
    ));
    counts.push(of_places(
        "fields that inner crates show to the crate above",
        shown_fields,
    ));
    counts.push(of_places("methods that a walk may ask", asked));
    counts.push(of_places("names of several types of a crate", same_name));
    counts.push(of_places("constants without a reason", without_reason));
}

fn circles(modules: &[Modules<'_>], counts: &mut Vec<Count>) {
    let mut of_files = Vec::new();
    let mut files_in_them = 0;
    let mut of_folders = Vec::new();
    let mut circles_of_folders = 0;
    let mut folders_in_them = 0;
    for modules in modules {
        for circle in modules.circles_of_files() {
            files_in_them += circle.len();
            of_files.push(circle.join(" "));
        }
        for circle in modules.circles_of_folders() {
            circles_of_folders += 1;
            folders_in_them += circle.folders.len();
            of_folders.push(circle.folders.join(" "));
            of_folders.extend(circle.uses.iter().map(|uses| format!("    {uses}")));
        }
    }
    counts.push(of_places("circles of files", of_files));
    counts.push(lower("files in circles", files_in_them, Vec::new()));
    counts.push(lower("circles of folders", circles_of_folders, of_folders));
    counts.push(lower("folders in circles", folders_in_them, Vec::new()));
}

/// Counts the files that list something which should be listed in one.
fn lists(crates: &[Crate], settings: &Settings, counts: &mut Vec<Count>) {
    for (name, list) in &settings.lists {
        let mut places = Vec::new();
        let counted = crates
            .iter()
            .filter(|krate| !settings.measuring.contains(&krate.name));
        for file in counted.flat_map(|krate| &krate.files) {
            let said: BTreeSet<&str> = file
                .product_tokens()
                .map(|token| token.text.as_str())
                .filter(|text| list.words.iter().any(|word| word == text))
                .collect();
            if said.len() >= list.from {
                let said: Vec<&str> = said.into_iter().collect();
                places.push(format!("{}: {}", file.path.display(), said.join(", ")));
            }
        }
        counts.push(of_places(&format!("places that list {name}"), places));
    }
}

fn words(crates: &[Crate], counts: &mut Vec<Count>) {
    let mut words = Words::default();
    for file in crates.iter().flat_map(|krate| &krate.files) {
        words.add(file);
    }
    let share = words.clauses.len() as f64 * 100.0 / words.sentences.max(1) as f64;
    let reasons = words.reasons as f64 * 1000.0 / words.words.max(1) as f64;
    let tenths = |figure: f64| (figure * 10.0).round() / 10.0;
    let clauses = words.clauses.len();
    counts.push(lower("sentences without a subject", clauses, words.clauses));
    counts.push(Count {
        name: "sentences without a subject, percent".to_owned(),
        figure: tenths(share),
        better: Better::Lower,
        places: Vec::new(),
    });
    counts.push(Count {
        name: "reasons and examples per 1,000 words".to_owned(),
        figure: tenths(reasons),
        better: Better::Higher,
        places: Vec::new(),
    });
    counts.push(of_places(
        "modules without an example",
        words.without_example,
    ));
}
