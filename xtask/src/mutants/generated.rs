//! Bugs that cargo-mutants generates: function bodies, operators, match arms.
//!
//! cargo-mutants only lists them. They are applied and tested here, because cargo-mutants would build each of
//! them separately.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::tree::Tree;
use crate::{Outcome, pins, process, tools};

/// Modules in which mistakes would make a cache or a queue wrong without an error.
pub(crate) const MODULES: &[&str] = &[
    "crates/kube-informer/src/pipeline/reflector/machine",
    "crates/kube-informer/src/pipeline/reflector/driver.rs",
    "crates/kube-informer/src/pipeline/reflector/backoff.rs",
    "crates/kube-informer/src/pipeline/reflector/list_buffer.rs",
    "crates/kube-informer/src/pipeline/queue/mod.rs",
    "crates/kube-informer/src/pipeline/controller/mod.rs",
    "crates/kube-informer/src/pipeline/store/mod.rs",
    "crates/kube-informer/src/pipeline/store/writer.rs",
    "crates/kube-informer/src/pipeline/store/scopes.rs",
    "crates/kube-informer/src/pipeline/store/index.rs",
    "crates/kube-informer/src/pipeline/store/tree",
    "crates/kube-informer/src/pipeline/processor/pending.rs",
    "crates/kube-informer/src/pipeline/processor/queue.rs",
    "crates/kube-informer/src/pipeline/processor/mailbox.rs",
    "crates/kube-informer/src/pipeline/processor/listener.rs",
    "crates/kube-informer/src/pipeline/processor/runner.rs",
    "crates/kube-informer/src/object/format/packed.rs",
    "crates/kube-informer/src/object/format/compactor.rs",
    "crates/kube-informer/src/object/format/packing.rs",
    "crates/kube-informer/src/object/format/compress.rs",
    "crates/kube-informer/src/object/format/decode_cache.rs",
    "crates/kube-informer/src/object/entry.rs",
    "crates/kube-informer/src/types/resource_version.rs",
    "crates/kube-workqueue/src/core",
];

/// A bug that cargo-mutants generates.
#[derive(Debug, Clone)]
pub(crate) struct Mutant {
    pub(crate) file: String,
    pub(crate) package: String,
    /// The change and its function. A number distinguishes equal changes in one function.
    pub(crate) mutation: String,
    /// Identifies the mutant until its function changes.
    pub(crate) fingerprint: String,
    /// First and last line of the function.
    pub(crate) lines: (usize, usize),
    pub(crate) genre: MutantKind,
    start: (usize, usize),
    end: (usize, usize),
    pub(crate) replacement: String,
}

/// The kinds of mutants that cargo-mutants generates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MutantKind {
    FnValue,
    BinaryOperator,
    UnaryOperator,
    MatchArm,
    MatchArmGuard,
    StructField,
}

impl Mutant {
    pub(crate) fn line(&self) -> usize {
        self.start.0
    }

    /// Returns the path of its module in the crate.
    pub(crate) fn module(&self) -> impl Iterator<Item = &str> {
        let path = self.file.split_once("/src/").map_or("", |(_, path)| path);
        let path = path.trim_end_matches(".rs").split('/');
        path.filter(|name| !matches!(*name, "" | "mod" | "lib"))
    }

    /// Returns the bytes of the source that the mutant replaces.
    pub(crate) fn range_in(&self, source: &str) -> Outcome<Range<usize>> {
        let place = |at| offset(source, at).ok_or_else(|| format!("{}: invalid position", self.file));
        Ok(place(self.start)?..place(self.end)?)
    }

    /// Returns the source with the bug.
    pub(crate) fn planted_in(&self, source: &str) -> Outcome<String> {
        let mut text = source.to_owned();
        text.replace_range(self.range_in(source)?, &self.replacement);
        Ok(text)
    }
}

#[cfg(test)]
impl Mutant {
    pub(crate) fn for_test(
        file: &str,
        lines: (usize, usize),
        start: (usize, usize),
        end: (usize, usize),
        replacement: &str,
    ) -> Mutant {
        Mutant {
            file: file.to_owned(),
            package: "a".to_owned(),
            mutation: "replace it".to_owned(),
            fingerprint: "replace it".to_owned(),
            lines,
            genre: MutantKind::BinaryOperator,
            start,
            end,
            replacement: replacement.to_owned(),
        }
    }
}

/// Returns all mutants of the modules, in the order of the sources.
pub(crate) fn list(root: &Path, tree: &Tree) -> Outcome<Vec<Mutant>> {
    let program = tools::installed(root, "cargo-mutants", pins::CARGO_MUTANTS)?;
    let mut list = Command::new(program);
    list.current_dir(tree.folder())
        .args(["mutants", "--list", "--json", "--no-config", "--workspace"]);
    for module in MODULES {
        if !root.join(module).exists() {
            return Err(format!(
                "{module} does not exist: correct MODULES in xtask/src/mutants/generated.rs"
            )
            .into());
        }
        let glob = if root.join(module).is_dir() {
            format!("{module}/**/*.rs")
        } else {
            (*module).to_owned()
        };
        list.args(["--file", &glob]);
    }
    let listed: Value = serde_json::from_str(&process::read(&mut list)?)?;
    let mut sources = HashMap::new();
    let mut seen = HashMap::new();
    let mut mutants = Vec::new();
    for value in listed.as_array().into_iter().flatten() {
        let file = text(value, "file")?;
        if !sources.contains_key(file) {
            sources.insert(file.to_owned(), tree.read(file)?);
        }
        let mut mutant = read(value, &sources[file])?;
        // The output of `Debug` is not tested.
        if mutant.mutation.contains("Debug for ") {
            continue;
        }
        let count = seen
            .entry((mutant.file.clone(), mutant.mutation.clone()))
            .and_modify(|count| *count += 1)
            .or_insert(1);
        if *count > 1 {
            mutant.mutation = format!("{} #{count}", mutant.mutation);
        }
        mutant.fingerprint = format!("{} {}", mutant.fingerprint, mutant.mutation);
        mutants.push(mutant);
    }
    Ok(mutants)
}

fn read(value: &Value, source: &str) -> Outcome<Mutant> {
    let text = |field: &str| text(value, field);
    let span = &value["span"];
    let function = match &value["function"]["span"] {
        Value::Null => span,
        function => function,
    };
    let lines = (position(&function["start"])?.0, position(&function["end"])?.0);
    // A name is `FILE:LINE:COLUMN: MUTATION`.
    let name = text("name")?;
    let mutation = name.splitn(4, ':').nth(3).unwrap_or(name).trim();
    let function: Vec<&str> = source
        .lines()
        .skip(lines.0.saturating_sub(1))
        .take((lines.1 + 1).saturating_sub(lines.0))
        .collect();
    Ok(Mutant {
        file: text("file")?.to_owned(),
        package: text("package")?.to_owned(),
        mutation: mutation.to_owned(),
        fingerprint: format!("{:016x}", hash(&function.join("\n"))),
        lines,
        genre: genre(text("genre")?)?,
        start: position(&span["start"])?,
        end: position(&span["end"])?,
        replacement: text("replacement")?.to_owned(),
    })
}

fn text<'v>(value: &'v Value, field: &str) -> Outcome<&'v str> {
    let text = value[field].as_str();
    text.ok_or_else(|| format!("a mutant without {field}").into())
}

fn genre(name: &str) -> Outcome<MutantKind> {
    Ok(match name {
        "FnValue" => MutantKind::FnValue,
        "BinaryOperator" => MutantKind::BinaryOperator,
        "UnaryOperator" => MutantKind::UnaryOperator,
        "MatchArm" => MutantKind::MatchArm,
        "MatchArmGuard" => MutantKind::MatchArmGuard,
        "StructField" => MutantKind::StructField,
        _ => return Err(format!("unknown kind of mutant \"{name}\"").into()),
    })
}

/// Parses a line and a column, both starting at 1.
fn position(value: &Value) -> Outcome<(usize, usize)> {
    let number = |field: &str| {
        let number = value[field]
            .as_u64()
            .ok_or(format!("a position without {field}"))?;
        Ok::<_, Box<dyn std::error::Error>>(usize::try_from(number)?)
    };
    Ok((number("line")?, number("column")?))
}

/// Returns the offset of a line and a column in a text. Columns count characters.
fn offset(text: &str, (line, column): (usize, usize)) -> Option<usize> {
    let before: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let rest = &text[before..];
    let mut within = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
    Some(before + within.nth(column - 1)?)
}

/// FNV-1a: gives the same result on every machine and with every compiler.
pub(crate) fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_characters() {
        let text = "é = 1;\nlet ü = 2;\n";
        assert_eq!(offset(text, (1, 1)), Some(0));
        assert_eq!(&text[offset(text, (2, 9)).unwrap_or(0)..], "2;\n");
        assert_eq!(offset(text, (9, 9)), None);
    }

    #[test]
    fn a_mutant_replaces_its_place() -> Outcome {
        let mutant = Mutant::for_test("crates/a/src/store/tree/mod.rs", (1, 3), (2, 7), (2, 8), ">");
        assert_eq!(mutant.module().collect::<Vec<_>>(), ["store", "tree"]);
        assert_eq!(
            mutant.planted_in("fn f() {\n    1 < 2\n}\n")?,
            "fn f() {\n    1 > 2\n}\n"
        );
        Ok(())
    }
}
