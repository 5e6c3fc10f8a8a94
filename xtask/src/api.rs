//! `cargo xtask api`: writes the public API of the published libraries to `docs/api`, so that a review sees
//! each change, and checks the types of other crates in it.
//!
//! The API is read from rustdoc's JSON. Stable rustdoc writes it only if `RUSTC_BOOTSTRAP` is set, and build
//! scripts that see this variable build differently. So cargo runs this program instead of rustdoc, which
//! sets the variable for rustdoc alone.

use std::collections::BTreeSet;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use serde_json::Value;

use crate::ci::StepResult;
use crate::packages::{Package, published};
use crate::{Outcome, process, toolchain};

const FOLDER: &str = "docs/api";
const ALLOWED: &str = "docs/api/foreign-types.txt";
/// The version of rustdoc's JSON that the crate `public-api` supports.
const FORMAT: u64 = 57;
/// Variable that makes this program run rustdoc.
const AS_RUSTDOC: &str = "XTASK_AS_RUSTDOC";

/// Writes the API of each library, or compares it with the files if `check` is set.
pub(crate) fn run(root: &Path, check: bool) -> Outcome {
    match each_library(root, check)? {
        StepResult::Passed => Ok(()),
        StepResult::NotRun(why) => Err(why.into()),
    }
}

/// Runs this as a step of CI.
pub(crate) fn step(root: &Path) -> Outcome<StepResult> {
    each_library(root, true)
}

fn each_library(root: &Path, check: bool) -> Outcome<StepResult> {
    let packages = published(root)?;
    let own: BTreeSet<String> = packages.iter().map(|package| crate_name(&package.name)).collect();
    let allowed = AllowedTypes::parse(&fs::read_to_string(root.join(ALLOWED))?);
    let mut foreign = BTreeSet::new();
    let mut stale = Vec::new();
    for package in packages.iter().filter(|package| package.is_library) {
        let json = rustdoc_json(root, package)?;
        let document: Value = serde_json::from_slice(&fs::read(&json)?)?;
        if document["format_version"] != FORMAT {
            return Ok(StepResult::NotRun(
                "the crate `public-api` does not support the format of this toolchain's rustdoc",
            ));
        }
        let api = listed(&json)?;
        for path in api.lines().flat_map(paths) {
            let krate = path.split("::").next().unwrap_or_default();
            if !own.contains(krate) && !["alloc", "core", "std"].contains(&krate) {
                foreign.insert((package.name.clone(), path.to_owned()));
            }
        }
        let file = format!("{FOLDER}/{}.txt", package.name);
        if !check {
            fs::write(root.join(file), api)?;
        } else if fs::read_to_string(root.join(&file)).ok() != Some(api) {
            stale.push(file);
        }
    }
    if !stale.is_empty() {
        let stale = stale.join(", ");
        return Err(format!("the public API changed: run `cargo xtask api` and review {stale}").into());
    }
    allowed.check(&foreign)?;
    Ok(StepResult::Passed)
}

/// Returns the items of a library, one per line, without derived and automatic implementations.
fn listed(json: &Path) -> Outcome<String> {
    let api = public_api::Builder::from_rustdoc_json(json)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .omit_blanket_impls(true)
        .build()?;
    let mut text = String::new();
    for item in api.items() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{item}");
    }
    Ok(text)
}

/// Writes rustdoc's JSON of a library, and returns its path.
fn rustdoc_json(root: &Path, package: &Package) -> Outcome<PathBuf> {
    let mut cargo = process::cargo(root);
    cargo
        .args([
            "rustdoc",
            "--quiet",
            "--lib",
            "--all-features",
            "--package",
            &package.name,
        ])
        .args(["--", "-Z", "unstable-options", "--output-format", "json"])
        .env("RUSTDOC", env::current_exe()?)
        .env(AS_RUSTDOC, "1");
    process::run(&mut cargo)?;
    Ok(toolchain::target(root).join(format!("doc/{}.json", crate_name(&package.name))))
}

fn crate_name(package: &str) -> String {
    package.replace('-', "_")
}

/// Runs rustdoc if cargo called this program instead of it.
pub(crate) fn as_rustdoc() -> Option<ExitCode> {
    env::var_os(AS_RUSTDOC)?;
    let status = Command::new("rustdoc")
        .args(env::args_os().skip(1))
        .env("RUSTC_BOOTSTRAP", "1")
        .status();
    Some(match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: cannot run rustdoc: {error}");
            ExitCode::FAILURE
        }
    })
}

/// Returns the full paths in a line, for example `kube_client::client::Client`.
fn paths(line: &str) -> impl Iterator<Item = &str> {
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    line.split(move |c| !is_path(c))
        .map(|word| word.trim_matches(':'))
        .filter(|word| word.contains("::") && word.starts_with(|c: char| c.is_lowercase()))
}

/// Types of other crates that are allowed in a library's public API.
struct AllowedTypes(BTreeSet<(String, String)>);

impl AllowedTypes {
    /// Parses lines of a package and a path. A path that ends with `::` allows everything below it.
    fn parse(text: &str) -> AllowedTypes {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let pairs = lines.filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?.to_owned(), words.next()?.to_owned()))
        });
        AllowedTypes(pairs.collect())
    }

    fn check(&self, foreign: &BTreeSet<(String, String)>) -> Outcome {
        let allows = |(package, allowed): &(String, String), (user, path): &(String, String)| {
            package == user && (path == allowed || allowed.ends_with("::") && path.starts_with(allowed))
        };
        let refused = foreign
            .iter()
            .filter(|used| !self.0.iter().any(|allowed| allows(allowed, used)));
        let unused = self
            .0
            .iter()
            .filter(|allowed| !foreign.iter().any(|used| allows(allowed, used)));
        let problems: Vec<String> = refused
            .map(|(package, path)| format!("{package}: {path} is in the public API, but not in {ALLOWED}"))
            .chain(unused.map(|(package, path)| {
                format!("{package}: {path} is in {ALLOWED}, but not in the public API")
            }))
            .collect();
        if problems.is_empty() {
            Ok(())
        } else {
            Err(problems.join("\n").into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> BTreeSet<(String, String)> {
        let owned = |&(package, path): &(&str, &str)| (package.to_owned(), path.to_owned());
        pairs.iter().map(owned).collect()
    }

    #[test]
    fn paths_are_found_in_a_signature() {
        let line = "pub fn a::B::new(client: kube_client::client::Client, n: u32) -> core::result::Result<Self, a::Error>";
        let found: Vec<&str> = paths(line).collect();
        assert_eq!(
            found,
            [
                "a::B::new",
                "kube_client::client::Client",
                "core::result::Result",
                "a::Error"
            ]
        );
    }

    #[test]
    fn types_are_allowed_by_package_one_by_one_or_by_module() {
        let allowed = AllowedTypes::parse("# why\none  http::Request  requests\none  k8s_openapi::  kinds\n");
        let used = pairs(&[
            ("one", "http::Request"),
            ("one", "k8s_openapi::api::core::v1::Pod"),
        ]);
        allowed.check(&used).unwrap();
        for other in [("two", "http::Request"), ("one", "http::Response")] {
            let mut used = used.clone();
            used.extend(pairs(&[other]));
            let error = allowed.check(&used).unwrap_err().to_string();
            assert!(
                error.contains(other.1) && error.contains("not in docs/api"),
                "{error}"
            );
        }
        let error = allowed
            .check(&pairs(&[("one", "http::Request")]))
            .unwrap_err()
            .to_string();
        assert!(error.contains("k8s_openapi:: is in docs/api"), "{error}");
    }
}
