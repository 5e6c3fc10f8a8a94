//! No link inside of the repository is dead, in the book and in all other Markdown files.

#[path = "markdown/mod.rs"]
mod markdown;

use std::path::Path;

use markdown::{Document, all, root};

/// The URL of files of the repository in the book, which the HTML version does not contain.
const REPOSITORY: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/");

#[test]
fn links_inside_of_the_repository_are_valid() {
    let root = root();
    let mut dead = Vec::new();
    for file in all() {
        let document = Document::read(&file);
        for link in &document.links {
            if let Err(why) = follow(&file, link, &document) {
                let file = file.strip_prefix(&root).unwrap_or(&file);
                dead.push(format!("{}: {link}: {why}", file.display()));
            }
        }
    }
    assert!(dead.is_empty(), "{dead:#?}");
}

/// A chapter's relative link to a file outside of the book works on GitHub, but not in the HTML version.
#[test]
fn chapters_link_relatively_only_within_the_book() {
    let book = root().join("docs/book/src");
    let mut outside = Vec::new();
    for file in all().iter().filter(|file| file.starts_with(&book)) {
        let links = Document::read(file).links;
        outside.extend(links.into_iter().filter(|link| link.starts_with("..")));
    }
    assert!(outside.is_empty(), "{outside:#?}");
}

#[test]
fn a_dead_link_is_noticed() {
    let readme = root().join("README.md");
    let document = Document::of("# Some *words*, `here`\n[a][b]\n");
    assert_eq!(document.links, ["[b] is not defined"]);
    for dead in [
        "nowhere.md",
        "#nowhere",
        "CONTRIBUTING.md#nowhere",
        "[b] is not defined",
        &format!("{REPOSITORY}blob/main/nowhere.md"),
    ] {
        assert!(follow(&readme, dead, &document).is_err(), "{dead}");
    }
    for good in [
        "LICENSE",
        "#some-words-here",
        "CONTRIBUTING.md#layout",
        "https://example.com/nowhere",
        &format!("{REPOSITORY}blob/main/CONTRIBUTING.md#layout"),
    ] {
        assert_eq!(follow(&readme, good, &document), Ok(()), "{good}");
    }
}

fn follow(file: &Path, link: &str, document: &Document) -> Result<(), &'static str> {
    let (path, anchor) = match link.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor)),
        None => (link, None),
    };
    let path = match path.strip_prefix(REPOSITORY) {
        Some(path) => match path.split_once("/main/") {
            Some(("blob" | "tree", path)) => root().join(path),
            // Issues, tags and similar pages.
            _ => return Ok(()),
        },
        None if path.contains("://") || path.starts_with("mailto:") => return Ok(()),
        None => file.parent().unwrap_or(file).join(path),
    };
    if link.starts_with('#') {
        return has(document, anchor);
    }
    if !path.exists() {
        return Err("no such file");
    }
    match anchor {
        Some(_) if path.extension().is_some_and(|extension| extension == "md") => {
            has(&Document::read(&path), anchor)
        }
        _ => Ok(()),
    }
}

fn has(document: &Document, anchor: Option<&str>) -> Result<(), &'static str> {
    if anchor.is_none_or(|anchor| document.anchors.contains(anchor)) {
        Ok(())
    } else {
        Err("no such heading")
    }
}
