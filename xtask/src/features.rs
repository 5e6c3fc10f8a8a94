//! Checks that each published crate compiles with each feature alone, and without features.
//!
//! A build of the whole workspace enables every feature that any crate enables, so it does not find missing
//! ones.

use std::path::Path;

use crate::ci::StepResult;
use crate::packages::published;
use crate::{Outcome, process};

pub(crate) fn step(root: &Path) -> Outcome<StepResult> {
    for package in published(root)? {
        let alone = package.features.iter().map(|feature| Some(feature.as_str()));
        for feature in std::iter::once(None).chain(alone) {
            let mut clippy = process::cargo(root);
            clippy.args([
                "clippy",
                "--quiet",
                "--package",
                &package.name,
                "--no-default-features",
            ]);
            if let Some(feature) = feature {
                clippy.args(["--features", feature]);
            }
            clippy.args(["--", "-D", "warnings"]);
            println!("{} {}", package.name, feature.unwrap_or("without features"));
            process::run(&mut clippy)?;
        }
    }
    Ok(StepResult::Passed)
}
