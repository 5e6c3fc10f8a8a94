//! `cargo xtask package`: checks whether the crates are ready to be published, and prints their content.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::ci::StepResult;
use crate::packages::{Package, published};
use crate::{Outcome, process, toolchain};

/// Maximum size of a file in a package. The largest ones are the tables of kinds and messages.
const LARGEST_FILE: u64 = 256 * 1024;

/// Maximum size of a package, a tenth of the registry's limit.
const LARGEST_PACKAGE: u64 = 1024 * 1024;

/// Files that a package must contain.
const NEEDED: [&str; 3] = ["Cargo.toml", "LICENSE", "README.md"];

#[derive(Args, Debug)]
pub(crate) struct PackageOptions {
    /// Do not build the crates from their packages, which takes minutes the first time
    #[arg(long)]
    no_verify: bool,
}

pub(crate) fn run(root: &Path, options: &PackageOptions) -> Outcome {
    let packages = published(root)?;
    for package in &packages {
        manifest_is_complete(package)?;
        if package.is_library {
            features_are_documented(package, &fs::read_to_string(package.folder.join("src/lib.rs"))?)?;
        }
    }
    forget_built(root, &packages)?;
    let mut cargo = process::cargo(root);
    // Uncommitted changes are included, because nothing is published.
    cargo.args(["package", "--quiet", "--allow-dirty"]);
    cargo.arg("--target-dir").arg(target(root));
    if options.no_verify {
        cargo.arg("--no-verify");
    }
    for package in &packages {
        cargo.args(["--package", &package.name]);
    }
    process::run(&mut cargo)?;
    for package in &packages {
        let files = files(root, package)?;
        contents_are_right(package, &files)?;
        let size = fs::metadata(archive(root, package))?.len();
        if size > LARGEST_PACKAGE {
            return Err(format!("{}: the package has {} KiB", package.name, size / 1024).into());
        }
        println!(
            "{:18} {:3} files, {:4} KiB packed",
            package.name,
            files.len(),
            size / 1024
        );
    }
    Ok(())
}

/// Runs this as a step of CI. It builds the packages, because only that finds a file that the code includes
/// and the package lacks. The dependencies are built once and kept.
pub(crate) fn step(root: &Path) -> Outcome<StepResult> {
    run(root, &PackageOptions { no_verify: false })?;
    Ok(StepResult::Passed)
}

/// Checks the metadata that the registry and docs.rs show, of which cargo only warns.
fn manifest_is_complete(package: &Package) -> Outcome {
    let name = &package.name;
    for field in ["description", "license", "repository", "readme", "rust_version"] {
        if package.field(field).as_str().is_none_or(str::is_empty) {
            return Err(format!("{name}: missing {field} in the manifest").into());
        }
    }
    for (field, most) in [("keywords", 5), ("categories", 5)] {
        let count = package.field(field).as_array().map_or(0, Vec::len);
        if !(1..=most).contains(&count) {
            return Err(format!("{name}: {count} {field}, but there must be 1 to {most}").into());
        }
    }
    if package.is_library && package.field("metadata")["docs"]["rs"].is_null() {
        return Err(format!("{name}: missing [package.metadata.docs.rs] in the manifest").into());
    }
    // The registry ignores paths.
    let dependencies = package.field("dependencies").as_array().into_iter().flatten();
    for dependency in dependencies.filter(|dependency| dependency["path"].is_string()) {
        if dependency["req"] == "*" {
            return Err(format!("{name}: missing version of the dependency {}", dependency["name"]).into());
        }
    }
    Ok(())
}

/// Checks that the crate's documentation contains each feature, because users read it on docs.rs.
fn features_are_documented(package: &Package, documentation: &str) -> Outcome {
    let told = |feature: &str| {
        let line = format!("//! - `{feature}`");
        documentation.lines().any(|told| told.starts_with(&line))
    };
    // Features that start with `__` are internal.
    let mut features = package
        .features
        .iter()
        .filter(|feature| !feature.starts_with("__"));
    match features.find(|feature| !told(feature)) {
        Some(feature) => Err(format!(
            "{}: missing feature `{feature}` under `# Features` in src/lib.rs",
            package.name
        )
        .into()),
        None => Ok(()),
    }
}

fn files(root: &Path, package: &Package) -> Outcome<Vec<String>> {
    let list = ["package", "--list", "--allow-dirty", "--package", &package.name];
    let told = process::read(process::cargo(root).args(list))?;
    Ok(told.lines().map(str::to_owned).collect())
}

fn contents_are_right(package: &Package, files: &[String]) -> Outcome {
    let name = &package.name;
    for needed in NEEDED {
        if !files.iter().any(|file| file == needed) {
            return Err(format!("{name}: missing {needed} in the package").into());
        }
    }
    for file in files {
        if let Some(why) = unwanted(file) {
            return Err(format!("{name}: {file} is in the package, but {why}").into());
        }
        // Files that cargo generates are not in the folder.
        let size = fs::metadata(package.folder.join(file)).map_or(0, |file| file.len());
        if size > LARGEST_FILE && file != "Cargo.lock" {
            return Err(format!("{name}: {file} is too large for the package: {} KiB", size / 1024).into());
        }
    }
    Ok(())
}

fn unwanted(file: &str) -> Option<&'static str> {
    let is_code = Path::new(file)
        .extension()
        .is_some_and(|extension| extension == "rs");
    let mut folders = file.split('/');
    match folders.clone().next() {
        Some("tests" | "benches") => Some("tests and benchmarks stay in the repository"),
        _ if !is_code && folders.any(|folder| ["testdata", "corpus"].contains(&folder)) => {
            Some("test data stays in the repository")
        }
        _ => None,
    }
}

fn archive(root: &Path, package: &Package) -> PathBuf {
    target(root)
        .join("package")
        .join(format!("{}.crate", package.full_name()))
}

/// Returns the target folder of packages.
fn target(root: &Path) -> PathBuf {
    toolchain::target(root).join("packaged")
}

/// Deletes the unpacked sources and builds of earlier packages. Cargo assumes that a package of a registry
/// does not change while its version stays the same.
fn forget_built(root: &Path, packages: &[Package]) -> Outcome {
    let built = entries(&target(root).join("debug/.fingerprint"))?;
    // Folders of registries without a host: those that cargo creates to build packages that depend on each
    // other.
    let made_up = entries(&toolchain::cargo_home().join("registry/src"))?;
    let made_up = made_up.into_iter().filter(|folder| name(folder).starts_with('-'));
    let unpacked: Vec<PathBuf> = made_up
        .map(|folder| entries(&folder))
        .collect::<Outcome<Vec<_>>>()?
        .concat();
    for package in packages {
        let is_built = |path: &&PathBuf| {
            name(path)
                .rsplit_once('-')
                .is_some_and(|(of, _)| of == package.name)
        };
        let is_unpacked = |path: &&PathBuf| name(path) == package.full_name();
        for stale in built
            .iter()
            .filter(is_built)
            .chain(unpacked.iter().filter(is_unpacked))
        {
            fs::remove_dir_all(stale)?;
        }
    }
    Ok(())
}

/// Returns the entries of a folder, or none if it does not exist.
fn entries(folder: &Path) -> Outcome<Vec<PathBuf>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    entries.collect()
}

fn name(path: &Path) -> &str {
    path.file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn judged(change: impl FnOnce(&mut Value)) -> String {
        let mut manifest = json!({
            "name": "example",
            "manifest_path": "/example/Cargo.toml",
            "description": "An example",
            "license": "Apache-2.0",
            "repository": "https://example.com",
            "readme": "README.md",
            "rust_version": "1.95",
            "keywords": ["example"],
            "categories": ["encoding"],
            "metadata": { "docs": { "rs": { "all-features": true } } },
            "targets": [{ "kind": ["lib"] }],
            "dependencies": [{ "name": "other", "path": "/other", "req": "^1.0" }],
        });
        change(&mut manifest);
        let package = Package::of(&manifest).expect("a package");
        match manifest_is_complete(&package) {
            Ok(()) => "complete".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn missing_metadata_is_reported() {
        assert_eq!(judged(|_| ()), "complete");
        assert_eq!(
            judged(|manifest| manifest["description"] = Value::Null),
            "example: missing description in the manifest"
        );
        assert_eq!(
            judged(|manifest| manifest["keywords"] = json!([])),
            "example: 0 keywords, but there must be 1 to 5"
        );
        assert_eq!(
            judged(|manifest| manifest["dependencies"][0]["req"] = json!("*")),
            "example: missing version of the dependency \"other\""
        );
        assert!(judged(|manifest| manifest["metadata"] = Value::Null).contains("docs.rs"));
    }

    #[test]
    fn an_undocumented_feature_is_reported() {
        let package = Package::of(&json!({
            "name": "example",
            "manifest_path": "/example/Cargo.toml",
            "features": { "default": [], "metrics": [], "__hidden": [] },
        }))
        .expect("a package");
        let told = "//! # Features\n//! - `metrics`: figures\n";
        assert!(features_are_documented(&package, told).is_ok());
        let error =
            features_are_documented(&package, "//! # Features\n").expect_err("an undocumented feature");
        assert!(error.to_string().contains("`metrics`"), "{error}");
    }

    #[test]
    fn tests_and_their_data_are_not_packed() {
        for file in [
            "tests/all.rs",
            "benches/one.rs",
            "src/crd/testdata/a.jsonl",
            "src/corpus/a.json",
        ] {
            assert!(unwanted(file).is_some(), "{file}");
        }
        for file in [
            "src/lib.rs",
            "src/store/tests.rs",
            "src/corpus/mod.rs",
            "examples/first.rs",
            "README.md",
        ] {
            assert_eq!(unwanted(file), None, "{file}");
        }
    }
}
