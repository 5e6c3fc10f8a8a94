//! `docs/conformance/mutants.md`: results per module, and the reason for each survivor.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::generated::{MODULES, Mutant};
use super::results::{Results, Status};
use super::stages;
use crate::Outcome;

/// Path of the document.
pub(crate) const PATH: &str = "docs/conformance/mutants.md";

const FIGURES: &str = "<!-- figures, written by `cargo xtask mutants --write` -->\n";
const END: &str = "<!-- end of figures -->\n";
const SURVIVORS: &str = "## Survivors\n";
const NO_REASON: &str = "no reason yet";

/// Reasons by file and mutation.
pub(crate) type Reasons = BTreeMap<(String, String), String>;

pub(crate) fn reasons(root: &Path) -> Outcome<Reasons> {
    Ok(parse(&fs::read_to_string(root.join(PATH))?))
}

/// Survivors without a reason, and reasons for mutants that are caught or no longer exist.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Differences {
    pub(crate) unlisted: Vec<String>,
    pub(crate) stale: Vec<String>,
}

pub(crate) fn compare(reasons: &Reasons, mutants: &[Mutant], results: &Results) -> Differences {
    let mut differences = Differences::default();
    let mut files = BTreeSet::new();
    let mut unknown_or_missed = BTreeSet::new();
    for mutant in mutants {
        files.insert(mutant.file.as_str());
        let entry = (mutant.file.clone(), mutant.mutation.clone());
        match results.get(mutant) {
            Some(Status::Missed { .. }) => {
                if reasons.get(&entry).is_none_or(|reason| reason == NO_REASON) {
                    differences.unlisted.push(shown(&entry));
                }
                unknown_or_missed.insert(entry);
            }
            Some(Status::Caught { .. } | Status::Unviable) => {}
            None => {
                unknown_or_missed.insert(entry);
            }
        }
    }
    let stale = reasons.keys().filter(|entry| !unknown_or_missed.contains(entry));
    let stale = stale.filter(|(file, _)| files.contains(file.as_str()) || !is_in_modules(file));
    differences.stale.extend(stale.map(shown));
    differences
}

/// Writes results and survivors. Keeps existing reasons; others must be added by hand.
pub(crate) fn write(root: &Path, mutants: &[Mutant], results: &Results) -> Outcome {
    let path = root.join(PATH);
    let text = fs::read_to_string(&path)?;
    let reasons = parse(&text);
    let mut survivors = Reasons::new();
    for mutant in mutants {
        let entry = (mutant.file.clone(), mutant.mutation.clone());
        match (results.get(mutant), reasons.get(&entry)) {
            (Some(Status::Missed { .. }), reason) => {
                let reason = reason.map_or(NO_REASON, String::as_str);
                survivors.insert(entry, reason.to_owned());
            }
            (None, Some(reason)) => {
                survivors.insert(entry, reason.clone());
            }
            _ => {}
        }
    }
    let (head, rest) = text
        .split_once(FIGURES)
        .ok_or("mutants.md: missing start of the figures")?;
    let (_, middle) = rest
        .split_once(END)
        .ok_or("mutants.md: missing end of the figures")?;
    let (middle, _) = middle
        .split_once(SURVIVORS)
        .ok_or("mutants.md: missing list of survivors")?;
    let figures = figures(mutants, results);
    let survivors = listed(&survivors);
    fs::write(
        path,
        format!("{head}{FIGURES}{figures}{END}{middle}{SURVIVORS}{survivors}"),
    )?;
    Ok(())
}

/// The number of mutants of a module, and their results.
#[derive(Debug, Default, Clone)]
pub(crate) struct ModuleCounts {
    pub(crate) mutants: usize,
    pub(crate) tested: usize,
    pub(crate) unviable: usize,
    pub(crate) missed: usize,
    pub(crate) by_stage: BTreeMap<String, usize>,
}

impl ModuleCounts {
    pub(crate) fn count<'m>(
        mutants: impl IntoIterator<Item = &'m Mutant>,
        results: &Results,
    ) -> ModuleCounts {
        let mut figures = ModuleCounts::default();
        for mutant in mutants {
            figures.mutants += 1;
            let Some(status) = results.get(mutant) else {
                continue;
            };
            figures.tested += 1;
            match status {
                Status::Unviable => figures.unviable += 1,
                Status::Missed { .. } => figures.missed += 1,
                Status::Caught { stage, .. } => *figures.by_stage.entry(stage.clone()).or_default() += 1,
            }
        }
        figures
    }

    pub(crate) fn viable(&self) -> usize {
        self.tested - self.unviable
    }

    pub(crate) fn caught(&self) -> usize {
        self.viable() - self.missed
    }

    /// Returns tenths of a per cent, so that no rounding hides a survivor.
    pub(crate) fn per_mille(&self) -> usize {
        (1_000 * self.caught())
            .checked_div(self.viable())
            .unwrap_or(1_000)
    }

    fn row(&self, name: &str) -> String {
        let mut row = format!(
            "| {name} | {} | {} | {} | {} ",
            self.mutants,
            self.tested,
            self.viable(),
            self.caught()
        );
        for stage in stages::NAMES {
            let _ = write!(row, "| {} ", self.by_stage.get(stage).unwrap_or(&0));
        }
        let percent = if self.viable() == 0 {
            "not tested".to_owned()
        } else {
            format!("{}.{} %", self.per_mille() / 10, self.per_mille() % 10)
        };
        let _ = writeln!(row, "| {} | {percent} |", self.missed);
        row
    }
}

/// Returns a table with a row for each module.
pub(crate) fn figures(mutants: &[Mutant], results: &Results) -> String {
    let mut table = format!(
        "| module | mutants | tested | viable | caught | {} | survivors | caught, % of viable |\n",
        stages::NAMES.join(" | ")
    );
    let _ = writeln!(table, "|---{}|", "|---:".repeat(stages::NAMES.len() + 6));
    for module in MODULES {
        let inside = mutants.iter().filter(|mutant| is_in(&mutant.file, module));
        let figures = ModuleCounts::count(inside, results);
        if figures.mutants > 0 {
            let name = module
                .strip_prefix("crates/")
                .unwrap_or(module)
                .replace("/src/", "/");
            table.push_str(&figures.row(&format!("`{name}`")));
        }
    }
    table.push_str(&ModuleCounts::count(mutants, results).row("all"));
    table
}

fn listed(survivors: &Reasons) -> String {
    let mut text = String::new();
    let mut last = "";
    for ((file, mutation), reason) in survivors {
        if file != last {
            let _ = writeln!(text, "\n### {file}\n");
            last = file;
        }
        let _ = writeln!(text, "- `{mutation}`: {reason}");
    }
    text
}

fn parse(text: &str) -> Reasons {
    let (_, survivors) = text.split_once(SURVIVORS).unwrap_or_default();
    let mut reasons = Reasons::new();
    let mut file = "";
    for line in survivors.lines() {
        if let Some(name) = line.strip_prefix("### ") {
            file = name.trim();
        } else if let Some((mutation, reason)) =
            line.strip_prefix("- `").and_then(|line| line.split_once("`: "))
        {
            reasons.insert((file.to_owned(), mutation.to_owned()), reason.trim().to_owned());
        }
    }
    reasons
}

fn is_in_modules(file: &str) -> bool {
    MODULES.iter().any(|module| is_in(file, module))
}

fn is_in(file: &str, module: &str) -> bool {
    let rest = file.strip_prefix(module);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn shown((file, mutation): &(String, String)) -> String {
    format!("{file}: {mutation}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_survive_a_round_trip() {
        let entry = |file: &str, mutation: &str, reason: &str| {
            ((file.to_owned(), mutation.to_owned()), reason.to_owned())
        };
        let survivors = Reasons::from([
            entry("a.rs", "replace || with && in a", "both are the same there"),
            entry("a.rs", "replace f with ()", "only frees memory"),
            entry("b.rs", "delete ! in b #2", "never asked: see above"),
        ]);
        let text = format!("# Mutants\n\n{SURVIVORS}{}", listed(&survivors));
        assert_eq!(parse(&text), survivors);
    }

    #[test]
    fn the_share_of_no_mutants_is_complete() {
        assert_eq!(ModuleCounts::default().per_mille(), 1_000);
        let figures = ModuleCounts {
            mutants: 5,
            tested: 4,
            unviable: 1,
            missed: 1,
            by_stage: BTreeMap::new(),
        };
        assert_eq!(
            (figures.viable(), figures.caught(), figures.per_mille()),
            (3, 2, 666)
        );
    }
}
