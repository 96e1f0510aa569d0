//! The page of keywords is the table.

use schema_regex::ledger::markdown;
use schema_regex::parse_str;

#[test]
fn the_page_is_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/KEYWORDS.md");
    let wanted = markdown();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &wanted).unwrap();
    }
    match std::fs::read_to_string(path) {
        Ok(found) => assert!(
            found == wanted,
            "docs/KEYWORDS.md is not the table; run UPDATE_DOCS=1 cargo test -p schema-regex --test all ledger"
        ),
        // Outside of the repository (a packaged crate) there is no page.
        Err(_) => eprintln!("docs/KEYWORDS.md is not here: not compared"),
    }
}

#[test]
fn a_byte_order_mark_is_skipped() {
    assert!(parse_str("\u{FEFF}{\"type\": \"null\"}").is_ok());
    assert!(parse_str("\u{FEFF}\u{FEFF}{}").is_err());
    assert!(parse_str("{}\u{FEFF}").is_err());
}
