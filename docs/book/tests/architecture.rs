//! The functions and types that the chapter on the architecture names exist in the files that it links to.

#[path = "markdown/mod.rs"]
mod markdown;

use std::fs;

use markdown::root;

const REPOSITORY: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/");
/// Maximum number of functions on the path of an event or of a page.
const MAX_STEPS: usize = 14;

#[test]
fn every_function_and_type_is_in_its_file() {
    let chapters = chapter("architecture.md") + &chapter("client-go-parts.md");
    let links = links(&chapters);
    assert!(links.len() > 40, "{links:?}");
    let wrong: Vec<String> = links
        .iter()
        .filter(|(name, file)| !is_in(name, file))
        .map(|(name, file)| format!("{name} is not in {file}"))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn both_walks_are_short() {
    let chapter = chapter("architecture.md");
    let walks: Vec<usize> = chapter
        .split("\n## One ")
        .skip(1)
        .map(|walk| walk.split("\n## ").next().unwrap_or_default())
        .map(|walk| {
            walk.lines()
                .filter(|line| line.starts_with('|') && line.contains("]("))
                .count()
        })
        .collect();
    assert_eq!(walks.len(), 2);
    assert!(
        walks.iter().all(|steps| (8..=MAX_STEPS).contains(steps)),
        "{walks:?}"
    );
}

#[test]
fn missing_functions_are_noticed() {
    let file = "crates/kube-informer/src/pipeline/queue/mod.rs";
    assert!(is_in("DeltaReceiver::pop", file));
    assert!(is_in("queue", file) && is_in("QueueDepth", file));
    assert!(!is_in("DeltaReceiver::push", file));
    assert!(!is_in("Queue", file));
}

fn chapter(file: &str) -> String {
    fs::read_to_string(root().join("docs/book/src").join(file)).expect("the chapter")
}

/// Returns the texts and files of links of the form [`Name`](file).
fn links(chapter: &str) -> Vec<(String, String)> {
    let parts = chapter.split("[`").skip(1);
    parts
        .filter_map(|part| {
            let (name, rest) = part.split_once("`](")?;
            let file = rest.split(')').next()?.strip_prefix(REPOSITORY)?;
            Some((name.to_owned(), file.to_owned()))
        })
        .collect()
}

/// Returns whether a file defines a type, a function or a method. A lower-case name without a path is a
/// module.
fn is_in(name: &str, file: &str) -> bool {
    let source = fs::read_to_string(root().join(file)).unwrap_or_default();
    let defines = |what: &str, name: &str| {
        let start = format!("{what} {name}");
        source.match_indices(&start).any(|(at, _)| {
            let next = source[at + start.len()..].chars().next();
            !next.is_some_and(|next| next.is_alphanumeric() || next == '_')
        })
    };
    match name.split_once("::") {
        Some((owner, function)) => source.contains(owner) && defines("fn", function),
        None if name.starts_with(char::is_lowercase) => {
            defines("fn", name) || file.contains(&format!("/{name}/")) && !source.is_empty()
        }
        None => ["struct", "enum", "trait", "type"]
            .iter()
            .any(|what| defines(what, name)),
    }
}
