//! Whether each feature of each published crate stands on its own, and the crate without any.
//!
//! A build of the whole workspace has every feature that anybody in it asks for, so it cannot see what one alone lacks.

use std::path::Path;

use crate::ci::Verdict;
use crate::packages::published;
use crate::{Outcome, process};

pub(crate) fn step(root: &Path) -> Outcome<Verdict> {
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
    Ok(Verdict::Passed)
}
