//! Checks the book: every chapter is in the table of contents and is a test, and every block of code has a
//! language.

#[path = "markdown/mod.rs"]
mod markdown;

use std::collections::BTreeSet;
use std::fs;

use book::CHAPTERS;
use markdown::{Document, all, blocks, root};

#[test]
fn every_chapter_is_in_the_summary_and_a_test() {
    let folder = root().join("docs/book/src");
    let summary = Document::read(&folder.join("SUMMARY.md"));
    let listed: Vec<&str> = summary.links.iter().map(String::as_str).collect();
    let mut tested = CHAPTERS.to_vec();
    tested.sort_unstable();

    let mut sorted = listed.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, tested, "chapters of SUMMARY.md and of lib.rs");

    let written: BTreeSet<String> = all()
        .iter()
        .filter_map(|file| file.strip_prefix(&folder).ok())
        .map(|file| file.display().to_string())
        .filter(|name| name != "SUMMARY.md")
        .collect();
    let tested: BTreeSet<String> = tested.into_iter().map(str::to_owned).collect();
    assert_eq!(written, tested, "files in docs/book/src and chapters of lib.rs");
}

/// Rust blocks are compiled, and run unless they need the reader's cluster. Other attributes would do
/// neither.
#[test]
fn every_block_has_a_language_and_every_program_is_tested() {
    const LANGUAGES: &[&str] = &["rust", "rust,no_run", "go", "sh", "text", "toml", "yaml"];
    let mut wrong = Vec::new();
    for chapter in CHAPTERS {
        let text = fs::read_to_string(root().join("docs/book/src").join(chapter)).expect("a chapter");
        for block in blocks(&text) {
            if !LANGUAGES.contains(&block.as_str()) {
                wrong.push(format!("{chapter}: a block of `{block}`"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
