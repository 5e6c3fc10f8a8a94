//! The modules of a crate only import modules before them in a list, so that there are no cycles.

#[path = "markdown/mod.rs"]
mod markdown;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use markdown::root;

/// A crate, and its modules from the lowest to the highest layer.
struct LayeredCrate {
    name: &'static str,
    /// A module may import itself and earlier modules.
    layers: &'static [&'static str],
    /// Allowed imports of later modules.
    exceptions: &'static [(&'static str, &'static str)],
}

/// In the order of the data flow.
const INFORMER: LayeredCrate = LayeredCrate {
    name: "kube-informer",
    layers: &[
        "util",
        "types",
        "error",
        "object",
        "measures",
        "client",
        "handler",
        "pipeline::wire",
        "pipeline::reflector",
        "pipeline::queue",
        "pipeline::controller",
        "pipeline::store",
        "pipeline::processor",
        "discovery",
        "lister",
        "informer",
        "erased",
        "factory",
        "metrics",
    ],
    // The controller moves deltas from the queue to the store and the processor, so it imports both.
    exceptions: &[
        ("pipeline::controller", "pipeline::store"),
        ("pipeline::controller", "pipeline::processor"),
    ],
};

/// From the rules for objects to the sockets.
const EMBEDDED: LayeredCrate = LayeredCrate {
    name: "kube-embedded",
    layers: &[
        "golang",
        "regexp",
        "hash",
        "timestamp",
        "status",
        "schema",
        "defaults",
        "validation",
        "scale",
        "patch",
        "cel",
        "crd",
        "store",
        "select",
        "auth",
        "openapi",
        "api",
        "convert",
        "admission",
        "rules",
        "table",
        "request",
        "response",
        "record",
        "faults",
        "cluster",
        "services",
        "follow_up",
        "verbs",
        "controllers",
        "http",
        "server",
    ],
    exceptions: &[],
};

#[test]
fn no_module_imports_a_later_one() {
    for layered in [INFORMER, EMBEDDED] {
        check(&layered);
    }
}

fn check(layered: &LayeredCrate) {
    let source = root().join("crates").join(layered.name).join("src");
    let mut wrong = BTreeSet::new();
    let mut modules = BTreeSet::new();
    for file in rust_files(&source) {
        let path = file.strip_prefix(&source).unwrap();
        let Some(module) = module_of(path) else { continue };
        modules.insert(module.clone());
        let text = fs::read_to_string(&file).unwrap();
        for imported in imports(without_tests(&text)) {
            if !layered.allows(&module, &imported) {
                wrong.insert(format!("{} imports {imported}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let listed: BTreeSet<String> = layered.layers.iter().map(|&layer| layer.to_owned()).collect();
    assert_eq!(modules, listed, "every module of {} has a layer", layered.name);
}

#[test]
fn later_imports_are_noticed() {
    let text =
        "use crate::{error::Error, pipeline::{store::Store, wire}};\nfn f() -> crate::object::Key {}\n";
    let found = imports(text);
    let expected = ["error", "object", "pipeline::store", "pipeline::wire"];
    assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
    assert!(!INFORMER.allows("pipeline::queue", "pipeline::store"));
    assert!(!INFORMER.allows("error", "object"));
    assert!(INFORMER.allows("pipeline::store", "pipeline::reflector"));
    assert!(!INFORMER.allows("object", "Root"));
    assert!(!EMBEDDED.allows("store", "verbs"));
}

impl LayeredCrate {
    fn allows(&self, module: &str, imported: &str) -> bool {
        let layer = |name: &str| self.layers.iter().position(|layer| *layer == name);
        self.exceptions.contains(&(module, imported))
            || layer(imported).is_some_and(|imported| Some(imported) <= layer(module))
    }
}

/// Returns the files with code outside of tests.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if matches!(name.as_str(), "tests" | "bin") {
            continue;
        }
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") && name != "tests.rs" {
            files.push(path);
        }
    }
    files
}

/// Returns the module of a file: `pipeline/store/tree/mod.rs` belongs to `pipeline::store`. The crate root
/// and `pipeline/mod.rs` belong to no layer.
fn module_of(path: &Path) -> Option<String> {
    let parts: Vec<String> = path
        .with_extension("")
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    match parts.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] | ["lib"] | ["pipeline", "mod"] => None,
        ["pipeline", stage, ..] => Some(format!("pipeline::{stage}")),
        [module, ..] => Some(module.to_owned()),
    }
}

fn without_tests(text: &str) -> &str {
    match text.find("#[cfg(test)]\nmod tests {") {
        Some(tests) => &text[..tests],
        None => text,
    }
}

/// Returns the modules that a source imports from `crate::`. Items at the crate root are `Root`.
fn imports(text: &str) -> BTreeSet<String> {
    let code: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect();
    let code = code.join("\n");
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let before = code[..at].chars().next_back();
        if !before.is_some_and(|before| before.is_alphanumeric() || before == '_') {
            paths(&code[at + "crate::".len()..], "", &mut found);
        }
    }
    found
}

/// Adds the modules of a path, or of a group of paths in braces.
fn paths(path: &str, prefix: &str, found: &mut BTreeSet<String>) {
    if let Some(group) = path.strip_prefix('{') {
        for part in parts_of(group) {
            paths(part.trim(), prefix, found);
        }
        return;
    }
    let end = path.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let (name, rest) = path.split_at(end.unwrap_or(path.len()));
    match (prefix, name, rest.strip_prefix("::")) {
        ("", "pipeline", Some(rest)) => paths(rest, "pipeline::", found),
        (_, name, _) if name.starts_with(char::is_lowercase) => {
            found.insert(format!("{prefix}{name}"));
        }
        (_, "", _) => {}
        _ => {
            found.insert("Root".to_owned());
        }
    }
}

/// Returns the parts of `a, b::{c, d}, e}`, up to the brace that closes the group.
fn parts_of(group: &str) -> Vec<&str> {
    let mut depth = 0;
    let (mut parts, mut from) = (Vec::new(), 0);
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => {
                parts.push(&group[from..at]);
                return parts;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&group[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts
}
