//! Finds recently changed functions.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::Command;

use super::generated::Mutant;
use crate::{Outcome, process};

/// Number of commits to search for changes, if no base is given.
const COMMITS: usize = 5;

/// Returns the current commit. A tree without Git has none.
pub(crate) fn commit(root: &Path) -> Outcome<String> {
    let mut git = Command::new("git");
    Ok(process::read(git.current_dir(root).args(["rev-parse", "HEAD"]))?
        .trim()
        .to_owned())
}

/// Returns a commit a few commits ago, or the oldest known one: a clone may have only one.
pub(crate) fn default_base(root: &Path) -> Outcome<String> {
    let mut git = Command::new("git");
    git.current_dir(root)
        .args(["rev-list", "--first-parent", "HEAD", "--max-count"])
        .arg((COMMITS + 1).to_string());
    let commits = process::read(&mut git)?;
    let oldest = commits.lines().last().ok_or("there are no commits")?;
    Ok(oldest.to_owned())
}

/// Returns the mutants whose functions changed between a commit and the working tree.
pub(crate) fn since(root: &Path, base: &str, mutants: Vec<Mutant>) -> Outcome<Vec<Mutant>> {
    let mut git = Command::new("git");
    git.current_dir(root)
        .args(["diff", "--unified=0", "--no-color", "--no-ext-diff", base]);
    let changed = changed_lines(&process::read(&mut git)?);
    let is_changed = |mutant: &Mutant| {
        let lines = changed.get(&mutant.file).into_iter().flatten();
        let (first, last) = mutant.lines;
        lines
            .into_iter()
            .any(|lines| *lines.start() <= last && *lines.end() >= first)
    };
    Ok(mutants.into_iter().filter(is_changed).collect())
}

/// Returns the changed lines of new files in a diff without context.
fn changed_lines(diff: &str) -> HashMap<String, Vec<RangeInclusive<usize>>> {
    let mut changed: HashMap<String, Vec<_>> = HashMap::new();
    let mut file = None;
    for line in diff.lines() {
        if let Some(name) = line.strip_prefix("+++ ") {
            file = name.strip_prefix("b/").map(str::to_owned);
        } else if let (Some(hunk), Some(file)) = (line.strip_prefix("@@ "), &file)
            && let Some(lines) = new_lines(hunk)
        {
            changed.entry(file.clone()).or_default().push(lines);
        }
    }
    changed
}

/// Returns the new lines of `-1,2 +3,4 @@`. If lines were only removed, returns those around the gap.
fn new_lines(hunk: &str) -> Option<RangeInclusive<usize>> {
    let new = hunk.split_whitespace().find_map(|word| word.strip_prefix('+'))?;
    let (first, count) = new.split_once(',').unwrap_or((new, "1"));
    let (first, count): (usize, usize) = (first.parse().ok()?, count.parse().ok()?);
    Some(first..=if count == 0 { first + 1 } else { first + count - 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_are_those_of_the_new_file() {
        let diff = "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +3,4 @@ fn f\n+x\n@@ -9 +12 @@\n@@ -20,3 +22,0 @@\n--- a/b.rs\n+++ /dev/null\n@@ -1 +0,0 @@\n";
        let changed = changed_lines(diff);
        assert_eq!(changed.len(), 1);
        assert_eq!(changed["a.rs"], [3..=6, 12..=12, 22..=23]);
    }
}
