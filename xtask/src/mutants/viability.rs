//! Finds mutants that do not compile, many at a time.
//!
//! One mutant of each function is planted at once, and `cargo check` names the functions that do not compile.
//! The rest is found when the mutant is built separately.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::RangeInclusive;

use super::generated::Mutant;
use super::program::CargoOutput;
use super::tree::Tree;
use crate::Outcome;

/// Maximum number of checks of one round, each without the mutants that failed before: some errors hide
/// others.
const CHECKS: usize = 3;

/// Minimum number of mutants for a round.
const FEWEST: usize = 3;

/// Returns the indexes of mutants that do not compile.
pub(crate) fn unviable(tree: &Tree, mutants: &[&Mutant]) -> Outcome<HashSet<usize>> {
    let mut unviable = HashSet::new();
    let rounds = rounds(mutants);
    for (number, (package, round)) in rounds.iter().enumerate() {
        let mut left = round.clone();
        for _ in 0..CHECKS {
            let failed = check(tree, package, mutants, &left)?;
            if failed.is_empty() {
                break;
            }
            left.retain(|at| !failed.contains(at));
            unviable.extend(failed);
        }
        eprintln!(
            "compiling {} of {}: {} of {} mutants do not",
            number + 1,
            rounds.len(),
            unviable.len(),
            mutants.len()
        );
    }
    Ok(unviable)
}

/// Returns groups of mutants of one package, with at most one per function.
fn rounds(mutants: &[&Mutant]) -> Vec<(String, Vec<usize>)> {
    let mut used = HashMap::new();
    let mut rounds: BTreeMap<(&str, usize), Vec<usize>> = BTreeMap::new();
    for (at, mutant) in mutants.iter().enumerate() {
        // A different hidden type may cause errors in other functions.
        if mutant.mutation.contains("-> impl ") {
            continue;
        }
        let number = used.entry((&mutant.file, mutant.lines)).or_insert(0);
        rounds.entry((&mutant.package, *number)).or_default().push(at);
        *number += 1;
    }
    // A few are built separately as fast.
    rounds.retain(|_, round| round.len() >= FEWEST);
    rounds
        .into_iter()
        .map(|((package, _), round)| (package.to_owned(), round))
        .collect()
}

/// Plants all of these and returns those whose functions have errors.
fn check(tree: &Tree, package: &str, mutants: &[&Mutant], chosen: &[usize]) -> Outcome<HashSet<usize>> {
    let mut files: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for at in chosen {
        files.entry(&mutants[*at].file).or_default().push(*at);
    }
    let mut functions = Vec::new();
    let mut sources = Vec::new();
    for (file, inside) in &files {
        let source = tree.read(file)?;
        let (text, ranges) = plant_all(&source, mutants, inside)?;
        tree.write(file, &text)?;
        sources.push((file, source));
        functions.extend(ranges.into_iter().map(|(at, lines)| (*file, lines, at)));
    }
    let errors = errors(tree, package);
    for (file, source) in sources {
        tree.write(file, &source)?;
    }
    let mut failed = HashSet::new();
    for (file, line) in errors? {
        let inside = functions
            .iter()
            .filter(|(its, lines, _)| *its == file && lines.contains(&line));
        failed.extend(inside.map(|(.., at)| *at));
    }
    Ok(failed)
}

/// Indexes of mutants, with the lines of their functions.
type Functions = Vec<(usize, RangeInclusive<usize>)>;

/// Returns a source with many mutants, and the new lines of each function.
fn plant_all(source: &str, mutants: &[&Mutant], chosen: &[usize]) -> Outcome<(String, Functions)> {
    let mut order = chosen.to_vec();
    order.sort_by_key(|at| mutants[*at].line());
    let mut text = source.to_owned();
    let mut ranges = Functions::new();
    // From the end, so that earlier positions remain valid. Later ones move.
    for at in order.iter().rev() {
        let before = text.lines().count();
        text = mutants[*at].planted_in(&text)?;
        let after = text.lines().count();
        let moved = |line: usize| (line + after).saturating_sub(before);
        for (_, lines) in &mut ranges {
            *lines = moved(*lines.start())..=moved(*lines.end());
        }
        let (first, last) = mutants[*at].lines;
        ranges.push((*at, first..=moved(last)));
    }
    Ok((text, ranges))
}

/// Returns the files and lines of compile errors.
fn errors(tree: &Tree, package: &str) -> Outcome<Vec<(String, usize)>> {
    let mut cargo = tree.cargo();
    cargo.args(["check", "--all-features", "--lib", "--package", package]);
    let mut errors = Vec::new();
    for error in CargoOutput::by(&mut cargo)?.errors() {
        for span in error["spans"].as_array().into_iter().flatten() {
            if let (Some(file), Some(line), Some(true)) = (
                span["file_name"].as_str(),
                span["line_start"].as_u64(),
                span["is_primary"].as_bool(),
            ) {
                errors.push((file.to_owned(), usize::try_from(line)?));
            }
        }
    }
    Ok(errors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moved_functions_are_found() -> Outcome {
        let source = "fn a() {\n    1;\n    2;\n}\nfn b() {\n    3;\n}\n";
        let one = Mutant::for_test("a.rs", (1, 4), (2, 5), (3, 7), "()");
        let other = Mutant::for_test("a.rs", (5, 7), (6, 5), (6, 7), "4;\n5;");
        let (text, ranges) = plant_all(source, &[&one, &other], &[0, 1])?;
        assert_eq!(text, "fn a() {\n    ()\n}\nfn b() {\n    4;\n5;\n}\n");
        assert_eq!(ranges, [(1, 4..=7), (0, 1..=3)]);
        Ok(())
    }

    #[test]
    fn a_round_has_one_mutant_of_each_function() {
        let mutant = |line| Mutant::for_test("a.rs", (line, line + 1), (line, 1), (line, 1), "");
        let mutants = [1, 1, 3, 3, 3, 5, 5].map(mutant);
        let mutants: Vec<&Mutant> = mutants.iter().collect();
        let rounds: Vec<Vec<usize>> = rounds(&mutants).into_iter().map(|(_, round)| round).collect();
        assert_eq!(rounds, [[0, 2, 5], [1, 3, 6]]);
    }
}
