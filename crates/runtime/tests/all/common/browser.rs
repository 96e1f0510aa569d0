//! A real browser, if one is here: `TOKENMOLD_BROWSER`, or the first of the usual names on the path.

use std::path::PathBuf;

const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

pub fn browser() -> Option<PathBuf> {
    if let Some(own) = std::env::var_os("TOKENMOLD_BROWSER") {
        return Some(own.into());
    }
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let all = NAMES
        .iter()
        .flat_map(|name| folders.iter().map(move |f| f.join(name)));
    all.into_iter().find(|path| path.is_file())
}
