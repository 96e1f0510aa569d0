//! The parts that the pages share: the playground, the page of a trace, and the page of a schema's keywords. For example,
//! `{{steps.html}}` in a page stands for the steps of a text, with their styles in `parts.css` and what they do in `steps.js`.
//!
//! Each page is one file without others, so that it works where nothing can be fetched.

/// The parts, by the names that stand for them in pages. A part that holds others comes before them, because each is put in once.
const PARTS: [(&str, &str); 8] = [
    ("{{head.html}}", include_str!("head.html")),
    ("{{steps.html}}", include_str!("steps.html")),
    ("{{where.html}}", include_str!("where.html")),
    ("{{ledger.html}}", include_str!("ledger.html")),
    ("{{providers.html}}", include_str!("providers.html")),
    ("{{parts.css}}", include_str!("parts.css")),
    ("{{parts.js}}", include_str!("parts.js")),
    ("{{steps.js}}", include_str!("steps.js")),
];

/// Returns the page with the parts in their places.
pub(crate) fn filled(page: &str) -> String {
    PARTS.iter().fold(page.to_owned(), |page, (name, part)| {
        page.replace(name, part)
    })
}
