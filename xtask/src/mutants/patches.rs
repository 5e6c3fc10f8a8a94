//! Bugs written by hand: the patches of `sim/mutants`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::detector::{Detection, Detector};
use super::tree::Tree;
use crate::Outcome;

/// Path of the patches.
pub(crate) const FOLDER: &str = "sim/mutants";

/// One planted bug.
#[derive(Debug)]
pub(crate) struct Patch {
    pub(crate) name: String,
    path: PathBuf,
    bug: String,
    breaks: String,
    detector: String,
}

impl Patch {
    fn read(path: &Path) -> Outcome<Patch> {
        let text = fs::read_to_string(path)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let header =
            |field: &str| header(&text, field).map_err(|error| format!("{}: {error}", path.display()));
        Ok(Patch {
            name: name.into_owned(),
            path: path.to_path_buf(),
            bug: header("bug")?,
            breaks: header("breaks")?,
            detector: header("detector")?,
        })
    }
}

/// Returns all patches, sorted by name.
pub(crate) fn all(root: &Path) -> Outcome<Vec<Patch>> {
    let mut patches = Vec::new();
    for entry in fs::read_dir(root.join(FOLDER))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "patch") {
            patches.push(Patch::read(&path)?);
        }
    }
    patches.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(patches)
}

/// Plants one bug after the other. Fails if one of them is not found.
pub(crate) fn run(tree: &Tree, patches: &[Patch], seeds: u64) -> Outcome {
    check_detectors(tree, patches, seeds)?;
    let mut failed = Vec::new();
    for patch in patches {
        let began = Instant::now();
        let outcome = plant(tree, patch, seeds);
        tree.restore()?;
        let took = began.elapsed().as_secs_f64();
        let word = match outcome {
            Ok(Detection::Found(how)) => format!("found by {how}"),
            Ok(Detection::NotFound) => format!(
                "NOT FOUND by `{}`: {} Breaks {}.",
                patch.detector, patch.bug, patch.breaks
            ),
            Ok(Detection::Unviable(message)) => format!("DOES NOT COMPILE\n{message}"),
            Err(error) => format!("FAILED: {error}"),
        };
        if !word.starts_with("found") {
            failed.push(patch.name.as_str());
        }
        println!("{}: {word} ({took:.1} s)", patch.name);
    }
    println!(
        "{} of {} planted bugs found",
        patches.len() - failed.len(),
        patches.len()
    );
    if failed.is_empty() {
        return Ok(());
    }
    Err(format!("planted bugs that were not found: {}", failed.join(", ")).into())
}

/// Checks that all patches apply.
pub(crate) fn check(tree: &Tree, patches: &[Patch]) -> Outcome {
    for patch in patches {
        tree.check(&patch.path)
            .map_err(|error| format!("{}: {error}", patch.name))?;
    }
    Ok(())
}

/// Checks that no detector fails without a bug.
fn check_detectors(tree: &Tree, patches: &[Patch], seeds: u64) -> Outcome {
    let mut passed = Vec::new();
    for patch in patches {
        if !passed.contains(&patch.detector) {
            eprintln!("without a bug: {}", patch.detector);
            Detector::parse(&patch.detector, seeds)?.baseline(tree)?;
            passed.push(patch.detector.clone());
        }
    }
    Ok(())
}

fn plant(tree: &Tree, patch: &Patch, seeds: u64) -> Outcome<Detection> {
    let detector = Detector::parse(&patch.detector, seeds)?;
    tree.apply(&patch.path)?;
    detector.detect(tree, Duration::from_secs(20))
}

/// Returns the value of a line `field: value` before the diff.
fn header(text: &str, field: &str) -> Result<String, String> {
    let head = text.lines().take_while(|line| !line.starts_with("diff "));
    head.filter_map(|line| line.strip_prefix(field)?.strip_prefix(": "))
        .map(str::to_owned)
        .next()
        .ok_or_else(|| format!("missing header `{field}: …` before the diff"))
}

#[cfg(test)]
mod tests {
    use super::super::tree::git_apply;
    use super::*;

    #[test]
    fn every_patch_has_its_header() -> Outcome {
        let patches = all(&crate::root())?;
        assert!(!patches.is_empty());
        for patch in patches {
            Detector::parse(&patch.detector, 1)?;
        }
        Ok(())
    }

    #[test]
    fn every_patch_applies() -> Outcome {
        let root = crate::root();
        let mut stale = Vec::new();
        for patch in all(&root)? {
            if git_apply(&root, &patch.path, &["--check"]).is_err() {
                stale.push(patch.name);
            }
        }
        assert!(
            stale.is_empty(),
            "make them again from the current sources: {stale:?}"
        );
        Ok(())
    }

    #[test]
    fn headers_end_where_the_diff_begins() {
        assert_eq!(header("bug: it\ndiff x\n", "bug").as_deref(), Ok("it"));
        assert!(header("diff x\nbug: it\n", "bug").is_err());
    }
}
