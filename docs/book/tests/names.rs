//! client-go's names in the migration guide can be found by rustdoc's search.

#[path = "markdown/mod.rs"]
mod markdown;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use markdown::root;

/// Words of the guide that need not be found: names without a counterpart, and words that are not names of
/// items.
const NOT_HERE: &[&str] = &[
    "Apps",
    "Config",
    "DeepCopy",
    "Deployments",
    "DetailedFuncs",
    "Everything",
    "ExpirationCache",
    "GetController",
    "Heap",
    "List",
    "Parse",
    "Pods",
    "RealFIFO",
    "Shutdown",
    "Start",
    "UndeltaStore",
    "WithOptions",
];

#[test]
fn the_names_of_the_guide_from_client_go_are_found_by_rustdocs_search() {
    let guide = fs::read_to_string(root().join("docs/book/src/from-client-go.md")).expect("the guide");
    let mut findable = BTreeSet::new();
    gather(&root().join("crates"), &mut findable);
    let rows = guide
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    let lost: BTreeSet<&str> = rows
        .flat_map(|(client_go, _)| client_go.split('`').skip(1).step_by(2))
        .flat_map(|code| code.split(|c: char| !c.is_ascii_alphanumeric()))
        .filter(|word| word.len() > 3 && word.starts_with(char::is_uppercase))
        .filter(|word| word.contains(char::is_lowercase))
        .filter(|word| !findable.contains(*word) && !NOT_HERE.contains(word))
        .collect();
    assert!(
        lost.is_empty(),
        "give these to items with #[doc(alias = …)]: {lost:?}"
    );
}

/// Collects aliases, without their packages, and names of public types.
fn gather(folder: &Path, findable: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            gather(&path, findable);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let code = fs::read_to_string(&path).expect("a source file");
            for aliases in code.split("#[doc(alias").skip(1) {
                let (aliases, _) = aliases.split_once(")]").expect("an attribute has an end");
                let aliases = aliases.split('"').skip(1).step_by(2);
                findable.extend(
                    aliases
                        .filter_map(|alias| alias.rsplit('.').next())
                        .map(str::to_owned),
                );
            }
            for word in ["pub struct ", "pub enum ", "pub trait "] {
                let names = code.split(word).skip(1);
                let name = |rest: &str| {
                    rest.split(|c: char| !c.is_alphanumeric())
                        .next()
                        .map(str::to_owned)
                };
                findable.extend(names.filter_map(name));
            }
        }
    }
}
