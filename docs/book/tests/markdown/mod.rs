//! Parses Markdown files for these tests.

#![allow(dead_code, reason = "each test uses a part")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// A file's links and anchors.
pub(crate) struct Document {
    /// The targets of its links and pictures.
    pub(crate) links: Vec<String>,
    /// The anchors of its headings.
    pub(crate) anchors: BTreeSet<String>,
}

impl Document {
    pub(crate) fn read(path: &Path) -> Document {
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Document::of(&text)
    }

    pub(crate) fn of(text: &str) -> Document {
        let (mut links, mut anchors) = (Vec::new(), BTreeSet::new());
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let mut heading: Option<String> = None;
        // The parser treats a reference without a definition as text, but it is a dead link.
        let mut undefined = Vec::new();
        let mut broken = |link: pulldown_cmark::BrokenLink<'_>| {
            if matches!(link.link_type, pulldown_cmark::LinkType::Reference) {
                undefined.push(format!("[{}] is not defined", link.reference));
            }
            None
        };
        let parser = Parser::new_with_broken_link_callback(text, options(), Some(&mut broken));
        for event in parser {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    links.push(dest_url.into_string());
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    let slug = slug(&heading.take().unwrap_or_default());
                    let times = seen.entry(slug.clone()).or_default();
                    anchors.insert(if *times == 0 {
                        slug.clone()
                    } else {
                        format!("{slug}-{times}")
                    });
                    *times += 1;
                }
                Event::Text(words) | Event::Code(words) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&words);
                    }
                }
                _ => {}
            }
        }
        links.extend(undefined);
        Document { links, anchors }
    }
}

/// Returns the info string of each block of code, or an empty one.
pub(crate) fn blocks(text: &str) -> Vec<String> {
    let kinds = Parser::new_ext(text, options()).filter_map(|event| match event {
        Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => Some(info.into_string()),
        Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)) => Some(String::new()),
        _ => None,
    });
    kinds.collect()
}

/// Returns all Markdown files of the repository.
pub(crate) fn all() -> Vec<PathBuf> {
    files(&["md"])
}

/// Returns all files of the repository with one of these extensions.
pub(crate) fn files(extensions: &[&str]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    gather(&root(), extensions, &mut files);
    files.sort();
    files
}

fn gather(folder: &Path, extensions: &[&str], files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if !name.starts_with('.') && name != "target" {
                gather(&path, extensions, files);
            }
        } else if path
            .extension()
            .is_some_and(|own| extensions.iter().any(|extension| own == *extension))
        {
            files.push(path);
        }
    }
}

/// Returns the repository's folder.
pub(crate) fn root() -> PathBuf {
    let book = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = book.ancestors().nth(2).expect("the book is in docs/book");
    root.to_path_buf()
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH
}

/// Returns a heading's anchor, in the format of GitHub and mdBook.
fn slug(heading: &str) -> String {
    let kept = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase)
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}
