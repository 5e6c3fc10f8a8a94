//! A copy of the tree that contains all mutants, each behind a switch.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use serde_json::Value;

use super::generated::Mutant;
use super::program::CargoOutput;
use super::suite::TracedSuite;
use super::switch::{self, Id, RewrittenSource};
use super::tree::Tree;
use crate::Outcome;

/// Maximum number of compilations without the mutants that failed before: type errors hide errors of the
/// borrow checker.
const MOST_CHECKS: usize = 20;

/// The packages that have mutants.
const PACKAGES: [&str; 2] = ["crates/kube-informer", "crates/kube-workqueue"];

/// The mutants in one build.
pub(crate) struct CombinedBuild {
    pub(crate) tree: Tree,
    /// Mutants that the build cannot contain. Some of them compile alone.
    pub(crate) left_out: BTreeSet<Id>,
    /// For each mutant, the number that its switch reports when it is reached.
    switches: HashMap<Id, Id>,
}

impl CombinedBuild {
    /// Adds all of these mutants to a copy of the tree, and removes those that do not compile.
    pub(crate) fn prepare(root: &Path, folder: &Path, mutants: &[&Mutant]) -> Outcome<CombinedBuild> {
        let tree = Tree::update(root, folder, "combined")?;
        let mut sources: BTreeMap<&str, (String, Vec<Id>)> = BTreeMap::new();
        for (id, mutant) in mutants.iter().enumerate() {
            if !sources.contains_key(mutant.file.as_str()) {
                sources.insert(&mutant.file, (tree.read(&mutant.file)?, Vec::new()));
            }
            if let Some((_, ids)) = sources.get_mut(mutant.file.as_str()) {
                ids.push(id);
            }
        }
        declare_switches(&tree)?;
        let mut left_out: BTreeSet<Id> = mutants
            .iter()
            .enumerate()
            // Two values of a hidden type are incompatible.
            .filter(|(_, mutant)| returns_hidden_type(mutant))
            .map(|(id, _)| id)
            .collect();
        for _ in 0..MOST_CHECKS {
            let mut files = HashMap::new();
            for (file, (source, ids)) in &sources {
                let ids = ids.iter().filter(|id| !left_out.contains(id));
                let chosen: Vec<(Id, &Mutant)> = ids.map(|id| (*id, mutants[*id])).collect();
                let switched = switch::rewrite(source, &chosen)?;
                tree.write(file, &switched.text)?;
                files.insert((*file).to_owned(), switched);
            }
            left_out.extend(files.values().flat_map(|file| &file.left_out));
            let failed = failed(&tree, &files)?;
            if failed.is_empty() {
                let switches = files.values().flat_map(RewrittenSource::switch_numbers).collect();
                return Ok(CombinedBuild {
                    tree,
                    left_out,
                    switches,
                });
            }
            left_out.extend(failed);
            eprintln!("{} of {} mutants left out", left_out.len(), mutants.len());
        }
        Err(format!("the mutants do not compile together after {MOST_CHECKS} rounds").into())
    }
}

impl CombinedBuild {
    /// Returns how one of the suites catches a mutant, if it does.
    pub(crate) fn caught_by(&self, mutant: Id, suites: &[TracedSuite]) -> Outcome<Option<String>> {
        let switch = self.switches.get(&mutant).ok_or("a mutant without a switch")?;
        for suite in suites {
            if let Some(how) = suite.catches(mutant, *switch)? {
                return Ok(Some(how));
            }
        }
        Ok(None)
    }
}

fn returns_hidden_type(mutant: &Mutant) -> bool {
    let returned = mutant.mutation.split_once(" -> ");
    returned.is_some_and(|(_, returned)| returned.contains("impl "))
}

fn declare_switches(tree: &Tree) -> Outcome {
    let name = switch::MODULE_NAME;
    for package in PACKAGES {
        tree.write(&format!("{package}/src/{name}.rs"), switch::MODULE)?;
        for (root, attribute) in [
            ("src/lib.rs", String::new()),
            // Model tests compile some sources of the library again.
            (
                "tests/model/main.rs",
                format!("#[path = \"../../src/{name}.rs\"]\n"),
            ),
        ] {
            let root = format!("{package}/{root}");
            let source = tree.read(&root)?;
            tree.write(&root, &format!("{source}\n{attribute}mod {name};\n"))?;
        }
    }
    Ok(())
}

/// Compiles the tree and returns the mutants that errors are about.
fn failed(tree: &Tree, files: &HashMap<String, RewrittenSource>) -> Outcome<BTreeSet<Id>> {
    let mut cargo = tree.cargo();
    cargo
        .args(["check", "--keep-going"])
        .args(["--package", "kube-informer", "--package", "kube-workqueue"])
        // Model tests compile some sources again, with other types.
        .args(["--all-features", "--lib", "--test", "model"]);
    let compiled = CargoOutput::by(&mut cargo)?;
    let mut failed = BTreeSet::new();
    let mut unexplained = String::new();
    for error in compiled.errors() {
        let about = mutants_of(error, files);
        if about.is_empty() {
            unexplained.push_str(error["rendered"].as_str().unwrap_or_default());
        }
        failed.extend(about);
    }
    if failed.is_empty() && !compiled.is_success {
        let stderr = compiled.stderr;
        return Err(format!("the tree with all mutants does not compile\n{unexplained}{stderr}").into());
    }
    Ok(failed)
}

/// Returns `a/c` for `a/b/../c`.
fn without_parents(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

fn mutants_of(message: &Value, files: &HashMap<String, RewrittenSource>) -> Vec<Id> {
    let spans = message["spans"].as_array().into_iter().flatten();
    let mut about: Vec<Id> = Vec::new();
    for mut span in spans.filter(|span| span["is_primary"] == true) {
        // An error inside a macro is attributed to the use of the macro.
        while let Some(used) = span["expansion"].get("span") {
            span = used;
        }
        let (Some(file), Some(byte)) = (span["file_name"].as_str(), span["byte_start"].as_u64()) else {
            continue;
        };
        let byte = usize::try_from(byte).unwrap_or(usize::MAX);
        let file = files.get(&without_parents(file));
        about.extend(file.map(|file| file.at(byte)).unwrap_or_default());
    }
    about
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_of_models_are_those_of_the_library() {
        let path = "crates/a/tests/model/../../src/processor/mailbox.rs";
        assert_eq!(without_parents(path), "crates/a/src/processor/mailbox.rs");
    }
}
