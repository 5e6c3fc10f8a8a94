//! The lists of specs in `tests/e2e`.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::Outcome;

const FOLDER: &str = "tests/e2e";
const PASSING: &str = "passing.txt";
const EXCEPTIONS: &str = "exceptions.txt";
const SLOW: &str = "slow.txt";

/// The specs that count, and those that are treated differently.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// Specs that pass on the real server.
    pub(super) passing: BTreeSet<String>,
    /// Specs that do not pass on the embedded server, and why.
    pub(super) exceptions: BTreeMap<String, String>,
    /// Specs that CI does not run.
    pub(super) slow: BTreeSet<String>,
}

impl Lists {
    pub(super) fn read(root: &Path) -> Outcome<Self> {
        let read = |name: &str| {
            let path = root.join(FOLDER).join(name);
            fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))
        };
        Self::parse(&read(PASSING)?, &read(EXCEPTIONS)?, &read(SLOW)?)
    }

    fn parse(passing: &str, exceptions: &str, slow: &str) -> Outcome<Self> {
        let names = |text: &str| -> BTreeSet<String> { lines(text).map(str::to_owned).collect() };
        let passing = names(passing);
        let slow = names(slow);
        let mut reasons = BTreeMap::new();
        for line in lines(exceptions) {
            let (name, reason) = line
                .split_once(" # ")
                .ok_or_else(|| format!("invalid line in {EXCEPTIONS}: expected NAME # REASON: {line}"))?;
            reasons.insert(name.to_owned(), reason.to_owned());
        }
        let unknown = reasons.keys().chain(&slow).find(|name| !passing.contains(*name));
        if let Some(name) = unknown {
            return Err(format!("{name}: not in {PASSING}").into());
        }
        Ok(Self {
            passing,
            exceptions: reasons,
            slow,
        })
    }

    /// Returns the specs that run in CI.
    pub(super) fn quick(&self) -> Vec<String> {
        self.passing.difference(&self.slow).cloned().collect()
    }

    /// Writes the specs that pass on the real server. Removes the others from the other lists.
    pub(super) fn write_passing(&self, root: &Path) -> Outcome {
        let folder = root.join(FOLDER);
        let kept = |name: &&String| self.passing.contains(*name);
        fs::write(folder.join(PASSING), text(self.passing.iter()))?;
        fs::write(folder.join(SLOW), text(self.slow.iter().filter(kept)))?;
        let mut exceptions = String::new();
        for (name, reason) in &self.exceptions {
            if kept(&name) {
                writeln!(exceptions, "{name} # {reason}")?;
            }
        }
        Ok(fs::write(folder.join(EXCEPTIONS), exceptions)?)
    }
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.is_empty())
}

fn text<'a>(names: impl Iterator<Item = &'a String>) -> String {
    names.flat_map(|name| [name, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_the_tree_are_valid_and_sorted() {
        let root = crate::root();
        let lists = Lists::read(&root).unwrap();
        let written = fs::read_to_string(root.join(FOLDER).join(PASSING)).unwrap();
        assert_eq!(text(lists.passing.iter()), written);
        assert!(!lists.quick().is_empty());
    }

    #[test]
    fn quick_specs_are_those_that_pass_and_are_not_slow() {
        let lists = Lists::parse("a\nb\nc\n", "b # why\n", "c\n").unwrap();
        assert_eq!(lists.quick(), ["a", "b"]);
        assert_eq!(lists.exceptions["b"], "why");
    }

    #[test]
    fn exceptions_must_be_listed_and_explained() {
        let unknown = Lists::parse("a\n", "b # why\n", "").unwrap_err().to_string();
        assert_eq!(unknown, "b: not in passing.txt");
        let without = Lists::parse("a\n", "a\n", "").unwrap_err().to_string();
        assert!(without.contains("expected NAME # REASON"), "{without}");
    }
}
