//! The published packages of the workspace.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{Outcome, process};

/// A published package.
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    pub(crate) features: Vec<String>,
    /// Whether other packages can depend on it; the others are programs only.
    pub(crate) is_library: bool,
    metadata: Value,
}

impl Package {
    /// Parses a package of `cargo metadata`.
    pub(crate) fn of(metadata: &Value) -> Outcome<Package> {
        let text = |name: &str| {
            metadata[name]
                .as_str()
                .ok_or(format!("missing {name} in the output of cargo"))
        };
        let manifest = PathBuf::from(text("manifest_path")?);
        let features = metadata["features"].as_object().into_iter().flatten();
        let targets = metadata["targets"].as_array().into_iter().flatten();
        let mut kinds = targets.flat_map(|target| target["kind"].as_array().into_iter().flatten());
        Ok(Package {
            name: text("name")?.to_owned(),
            folder: manifest.parent().unwrap_or(&manifest).to_path_buf(),
            features: features
                .map(|(name, _)| name.clone())
                .filter(|name| name != "default")
                .collect(),
            is_library: kinds.any(|kind| kind == "lib"),
            metadata: metadata.clone(),
        })
    }

    /// Returns its name with its version.
    pub(crate) fn full_name(&self) -> String {
        format!(
            "{}-{}",
            self.name,
            self.field("version").as_str().unwrap_or_default()
        )
    }

    /// Returns a field of the manifest as in `cargo metadata`, or null.
    pub(crate) fn field(&self, name: &str) -> &Value {
        &self.metadata[name]
    }

    /// Includes the dependencies of tests, which must be in the registry, too.
    fn depends_on(&self, name: &str) -> bool {
        let mut dependencies = self.metadata["dependencies"].as_array().into_iter().flatten();
        dependencies.any(|dependency| dependency["name"] == name)
    }
}

/// Returns the published packages, each after its dependencies, in the order of publication.
pub(crate) fn published(root: &Path) -> Outcome<Vec<Package>> {
    let metadata = process::read(process::cargo(root).args(["metadata", "--format-version=1", "--no-deps"]))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"]
        .as_array()
        .ok_or("missing packages in the output of cargo")?;
    // `publish = false` is an empty list of registries.
    let is_published = |package: &&Value| package["publish"].as_array().is_none_or(|to| !to.is_empty());
    let packages: Outcome<Vec<Package>> = packages.iter().filter(is_published).map(Package::of).collect();
    Ok(in_order(packages?))
}

fn in_order(mut waiting: Vec<Package>) -> Vec<Package> {
    let mut ordered: Vec<Package> = Vec::new();
    while !waiting.is_empty() {
        let ready = waiting.iter().position(|package| {
            let mut others = waiting.iter().filter(|other| other.name != package.name);
            !others.any(|other| package.depends_on(&other.name))
        });
        // With a cyclic dependency no package is ready. Cargo reports the cycle.
        ordered.push(waiting.remove(ready.unwrap_or(0)));
    }
    ordered
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_package_comes_after_those_it_depends_on() {
        let package = |name: &str, needs: &[&str]| {
            let needs: Vec<Value> = needs.iter().map(|name| json!({ "name": name })).collect();
            let manifest = format!("/{name}/Cargo.toml");
            let metadata = json!({ "name": name, "manifest_path": manifest, "dependencies": needs });
            Package::of(&metadata).expect("a package")
        };
        let ordered = in_order(vec![
            package("program", &["library", "kit"]),
            package("library", &["wire", "serde"]),
            package("kit", &["wire"]),
            package("wire", &[]),
        ]);
        let names: Vec<&str> = ordered.iter().map(|package| package.name.as_str()).collect();
        assert_eq!(names, ["wire", "library", "kit", "program"]);
    }
}
