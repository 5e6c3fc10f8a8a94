//! `cargo xtask mutants`: plants bugs in a copy of the tree and checks that tests find them.
//!
//! A copied tree keeps its build folder, so each bug costs one incremental build. `sim/mutants` has bugs written by hand;
//! cargo-mutants generates the others.

#![expect(
    clippy::disallowed_types,
    reason = "processes run in real time, and there is no tokio here"
)]

mod changed;
mod detector;
mod document;
mod generated;
mod patches;
mod results;
mod stages;
mod tree;
mod viability;

use std::path::Path;
use std::time::{Duration, Instant};

use clap::Args;

use self::document::Figures;
use self::generated::Mutant;
use self::results::{Results, Status};
use self::stages::Stages;
use self::tree::Tree;
use crate::ci::Verdict;
use crate::{Outcome, cache};

/// At least so many of 1,000 viable mutants have to be caught.
const LEAST_CAUGHT: usize = 920;
/// The bounds of `--changed`: mutants, patches, and how long it begins with new ones.
const MOST_CHANGED: usize = 15;
const PATCHES: usize = 3;
const LONGEST: Duration = Duration::from_mins(3);
/// Seeds in which the simulator has to find a planted bug.
const SEEDS: u64 = 200;

#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Options {
    /// Only plant the bugs of sim/mutants
    #[arg(long)]
    patches: bool,
    /// Only plant this bug of sim/mutants; may be repeated
    #[arg(long, value_name = "NAME")]
    patch: Vec<String>,
    /// Only test generated mutants of files whose path contains this; may be repeated
    #[arg(long, value_name = "FILE")]
    only: Vec<String>,
    /// Keep results of earlier runs for functions that did not change
    #[arg(long)]
    resume: bool,
    /// Keep results of earlier runs, but test survivors again
    #[arg(long, conflicts_with = "resume")]
    missed: bool,
    /// Number of stages that mutants are put through
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=3), value_name = "N")]
    stages: u8,
    /// List how many mutants there are, and what is known about them
    #[arg(long)]
    list: bool,
    /// Write figures and survivors to docs/conformance/mutants.md
    #[arg(long)]
    write: bool,
    /// Only test a few mutants in functions that changed since a commit, and a few patches
    #[arg(long, value_name = "BASE", num_args = 0..=1, default_missing_value = "")]
    changed: Option<String>,
    /// Seeds in which the simulator has to find a planted bug
    #[arg(long, default_value_t = SEEDS, value_name = "N")]
    seeds: u64,
}

pub(crate) fn run(root: &Path, options: &Options) -> Outcome {
    let folder = cache::folder()?.join("mutants");
    let _lock = cache::take(&folder)?;
    let tree = Tree::update(root, &folder)?;
    if let Some(base) = &options.changed {
        return run_changed(root, &tree, base);
    }
    if options.patches || !options.patch.is_empty() {
        let mut chosen = patches::all(root)?;
        if !options.patch.is_empty() {
            chosen.retain(|patch| options.patch.contains(&patch.name));
            if chosen.len() < options.patch.len() {
                return Err(format!(
                    "unknown patch in --patch: expected names of files in {}",
                    patches::FOLDER
                )
                .into());
            }
        }
        return patches::run(&tree, &chosen, options.seeds);
    }
    let all = generated::list(root, &tree)?;
    let mut results = Results::read(&folder.join("results"))?;
    results.retain(&all);
    let is_chosen = |mutant: &&Mutant| {
        options.only.is_empty() || options.only.iter().any(|only| mutant.file.contains(only))
    };
    let chosen: Vec<Mutant> = all.iter().filter(is_chosen).cloned().collect();
    if chosen.is_empty() {
        return Err("no mutants in the files that --only names".into());
    }
    if !options.list && !options.write {
        if options.only.is_empty() && !options.resume && !options.missed {
            patches::run(&tree, &patches::all(root)?, options.seeds)?;
        }
        test_all(&tree, &chosen, &mut results, options)?;
    }
    print!("{}", document::figures(&chosen, &results));
    if options.write {
        document::write(root, &all, &results)?;
    }
    if options.list {
        return Ok(());
    }
    check(root, &chosen, &results)
}

/// The step of CI.
pub(crate) fn step(root: &Path) -> Outcome<Verdict> {
    let folder = cache::folder()?.join("mutants");
    let _lock = cache::take(&folder)?;
    let tree = Tree::update(root, &folder)?;
    run_changed(root, &tree, "")?;
    Ok(Verdict::Passed)
}

fn test_all(tree: &Tree, mutants: &[Mutant], results: &mut Results, options: &Options) -> Outcome {
    let mut stages = Stages::default();
    for (file, status) in results.iter() {
        stages.record(file, status);
    }
    let until = usize::from(options.stages);
    let mut left = Vec::new();
    for mutant in mutants {
        let done = match results.get(mutant) {
            Some(Status::Missed { stages }) if options.resume => *stages,
            Some(Status::Missed { .. }) if options.missed => 0,
            Some(_) if options.resume || options.missed => continue,
            None | Some(_) => 0,
        };
        if done < until {
            left.push((mutant, done));
        }
    }
    let new: Vec<&Mutant> = left
        .iter()
        .map(|(mutant, _)| *mutant)
        .filter(|mutant| results.get(mutant).is_none())
        .collect();
    for at in viability::unviable(tree, &new)? {
        results.set(new[at], Status::Unviable)?;
    }
    left.retain(|(mutant, _)| results.get(mutant) != Some(&Status::Unviable));
    for (at, (mutant, done)) in left.iter().enumerate() {
        let (status, took) = stages.test(tree, mutant, *done, until)?;
        report(&format!("{}/{}", at + 1, left.len()), mutant, &status, took);
        results.set(mutant, status)?;
    }
    Ok(())
}

fn report(number: &str, mutant: &Mutant, status: &Status, took: Duration) {
    let word = match status {
        Status::Unviable => "does not compile".to_owned(),
        Status::Caught { stage, how } => format!("caught by {stage}: {how}"),
        Status::Missed { stages } => format!("MISSED in {stages} stages"),
    };
    println!(
        "{number} {}:{}: {}: {word} ({:.1} s)",
        mutant.file,
        mutant.line(),
        mutant.mutation,
        took.as_secs_f64()
    );
}

fn check(root: &Path, mutants: &[Mutant], results: &Results) -> Outcome {
    let differences = document::compare(&document::reasons(root)?, mutants, results);
    for survivor in &differences.unlisted {
        println!("survivor without a reason in {}: {survivor}", document::PATH);
    }
    for entry in &differences.stale {
        println!("stale entry in {}: {entry}", document::PATH);
    }
    let figures = Figures::count(mutants, results);
    if figures.tested < figures.mutants {
        return Err(format!(
            "{} of {} mutants were not tested: go on with --resume",
            figures.mutants - figures.tested,
            figures.mutants
        )
        .into());
    }
    if figures.per_mille() < LEAST_CAUGHT {
        return Err(format!(
            "{} of {} viable mutants were caught, which is less than {} %",
            figures.caught(),
            figures.viable(),
            LEAST_CAUGHT / 10
        )
        .into());
    }
    match (differences.unlisted.len(), differences.stale.len()) {
        (0, 0) => Ok(()),
        (unlisted, stale) => Err(format!(
            "{unlisted} survivors have no reason, {stale} entries are stale: add tests, or correct {}",
            document::PATH
        )
        .into()),
    }
}

/// A few mutants in functions that changed, and a few patches that change with each commit.
fn run_changed(root: &Path, tree: &Tree, base: &str) -> Outcome {
    let began = Instant::now();
    let commit = changed::commit(root)?;
    let base = if base.is_empty() {
        changed::default_base(root)?
    } else {
        base.to_owned()
    };
    let mut planted = patches::all(root)?;
    patches::check(tree, &planted)?;
    take_some(&mut planted, PATCHES, &commit, |patch| patch.name.clone());
    patches::run(tree, &planted, SEEDS)?;

    let mut mutants = changed::since(root, &base, generated::list(root, tree)?)?;
    let found = mutants.len();
    take_some(&mut mutants, MOST_CHANGED, &commit, |mutant| {
        mutant.fingerprint.clone()
    });
    println!(
        "{found} mutants in functions that changed since {base}; testing {}",
        mutants.len()
    );
    let reasons = document::reasons(root)?;
    let mut stages = Stages::default();
    let mut failed = 0;
    for (at, mutant) in mutants.iter().enumerate() {
        if began.elapsed() > LONGEST {
            println!("{} mutants left out: the time is over", mutants.len() - at);
            break;
        }
        if reasons.contains_key(&(mutant.file.clone(), mutant.mutation.clone())) {
            continue;
        }
        let (status, took) = stages.test(tree, mutant, 0, stages::NAMES.len())?;
        report(&format!("{}/{}", at + 1, mutants.len()), mutant, &status, took);
        failed += usize::from(matches!(status, Status::Missed { .. }));
    }
    if failed > 0 {
        return Err(format!(
            "{failed} mutants survived: add tests that catch them, or a reason to {}",
            document::PATH
        )
        .into());
    }
    Ok(())
}

/// Keeps `count` of the items: always the same for one commit, others for the next.
fn take_some<T>(items: &mut Vec<T>, count: usize, commit: &str, name: impl Fn(&T) -> String) {
    items.sort_by_cached_key(|item| scatter(generated::hash(&format!("{commit} {}", name(item)))));
    items.truncate(count);
}

/// Spreads hashes of similar names, which are close to each other, as MurmurHash3 does.
fn scatter(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_depends_on_the_commit_alone() {
        let chosen = |commit: &str| {
            let mut numbers: Vec<u32> = (0..100).collect();
            take_some(&mut numbers, 3, commit, ToString::to_string);
            numbers
        };
        assert_eq!(chosen("a").len(), 3);
        assert_eq!(chosen("a"), chosen("a"));
        assert_ne!(chosen("a"), chosen("b"));
    }
}
