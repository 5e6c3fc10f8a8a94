//! Sources, documents and pages contain no phrase of docs/style/banned.txt, except the lines of docs/style/allowed.txt.

#[path = "markdown/mod.rs"]
mod markdown;

use std::collections::BTreeSet;
use std::fs;

use markdown::root;
use regex::{RegexSet, RegexSetBuilder};

#[test]
fn no_file_contains_a_banned_phrase() {
    let banned = banned();
    let allowed = entries("allowed.txt");
    let allowed: Vec<(&str, &str)> = allowed
        .iter()
        .map(|entry| {
            entry
                .split_once(": ")
                .unwrap_or_else(|| panic!("allowed.txt: no file in {entry:?}"))
        })
        .collect();
    let (mut found, mut used) = (Vec::new(), BTreeSet::new());
    for path in markdown::files(&["rs", "md", "js", "html"]) {
        let file = path
            .strip_prefix(root())
            .expect("a file of the repository")
            .display()
            .to_string();
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
        for (number, line) in text.lines().enumerate().filter(|(_, line)| banned.is_match(line)) {
            match allowed
                .iter()
                .position(|(own, part)| *own == file && line.contains(part))
            {
                Some(entry) => _ = used.insert(entry),
                None => found.push(format!("{file}:{}: {}", number + 1, line.trim())),
            }
        }
    }
    assert!(
        found.is_empty(),
        "banned phrases (see docs/style/banned.txt): {found:#?}"
    );
    let unused: Vec<_> = (0..allowed.len())
        .filter(|entry| !used.contains(entry))
        .map(|entry| allowed[entry])
        .collect();
    assert!(
        unused.is_empty(),
        "stale entries of docs/style/allowed.txt: {unused:#?}"
    );
}

#[test]
fn phrases_are_found_in_any_case() {
    let banned = banned();
    for line in [
        "Nobody reads it",
        "// which is told to no handler",
        "list it anew",
    ] {
        assert!(banned.is_match(line), "{line}");
    }
    for line in ["a newcomer", "the handler is notified", "is not an index"] {
        assert!(!banned.is_match(line), "{line}");
    }
}

fn banned() -> RegexSet {
    RegexSetBuilder::new(entries("banned.txt"))
        .case_insensitive(true)
        .build()
        .expect("valid regular expressions")
}

/// Returns the lines of a file of docs/style without comments.
fn entries(file: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join("docs/style").join(file)).expect("the file");
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}
