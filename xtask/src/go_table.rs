//! Tables from the Go types that Kubernetes publishes.
//!
//! A Go program reads the types by reflection, so they must be compiled. It runs in a separate module outside
//! of the tree that requires them at the pinned version.

use std::fs;
use std::path::Path;

use crate::{Outcome, cache, go, process};

/// A table and the program that prints it.
pub(crate) struct GoTable {
    name: &'static str,
    /// Path of the table.
    pub(crate) path: &'static str,
    program: &'static str,
    legend: &'static str,
}

/// Messages and fields of Kubernetes' protobuf.
pub(crate) const MESSAGES: GoTable = GoTable {
    name: "goproto",
    path: "crates/kube-wire/src/table/messages.txt",
    program: include_str!("../goproto/main.go"),
    legend: "\
# kinds APIVERSION PACKAGE     `*` is any apiVersion
#  KIND                        its message has its name
# package PACKAGE
# message NAME [list|schema-or-bool|schema-or-schemas|schema-or-strings]
#  NUMBER JSON-NAME TYPE [pointer] [inline] [omitempty] [omitzero]
# TYPE: string bool int32 int64 double bytes time micro-time quantity int-or-string json @MESSAGE []TYPE {}TYPE
# A message that is a `list` is a list in JSON; `schema-or-…` is one of the two. Without a package a message is of its own.
",
};

/// How Go's JSON encoding treats the fields of every type.
pub(crate) const GO_FIELDS: GoTable = GoTable {
    name: "gofacts",
    path: "crates/kube-embedded/src/schema/go.txt",
    program: include_str!("../gofacts/main.go"),
    legend: "\
# type NAME: how Go's JSON treats its fields
#  field GOTYPE [omitempty] [omitzero] [via=EMBEDDED.STRUCTS]
",
};

const MODULES: [&str; 5] = [
    "k8s.io/api",
    "k8s.io/apiextensions-apiserver",
    "k8s.io/apimachinery",
    "k8s.io/client-go",
    "k8s.io/kube-aggregator",
];

impl GoTable {
    /// Returns the table for a version of Kubernetes (`v1.36.3`).
    pub(crate) fn print(&self, version: &str) -> Outcome<String> {
        let shelf = cache::folder()?.join(self.name);
        let _taken = cache::take(&shelf)?;
        write(&shelf, &go_mod(self.name, &published(version)?), self.program)?;
        let table = process::read(
            go::command(&shelf)
                .args(["run", "."])
                // The module is rewritten each time, so Go has to complete its requirements.
                .env("GOFLAGS", "-mod=mod"),
        )?;
        Ok(self.legend.to_owned() + &table)
    }
}

/// Returns the version of modules that are published with Kubernetes: `v0.36.3` for `v1.36.3`.
fn published(version: &str) -> Outcome<String> {
    let rest = version
        .strip_prefix("v1.")
        .ok_or_else(|| format!("{version} is not a version of Kubernetes 1"))?;
    Ok(format!("v0.{rest}"))
}

fn go_mod(name: &str, version: &str) -> String {
    let requirements = MODULES.map(|module| format!("require {module} {version}\n"));
    format!("module {name}\n\ngo 1.26.0\n\n{}", requirements.concat())
}

fn write(folder: &Path, go_mod: &str, program: &str) -> Outcome {
    fs::write(folder.join("go.mod"), go_mod)?;
    fs::write(folder.join("main.go"), program)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_modules_count_from_zero() {
        assert_eq!(published("v1.36.3").unwrap(), "v0.36.3");
        assert!(published("0.36.3").is_err());
    }
}
