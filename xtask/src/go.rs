//! The Go toolchain, which builds the real server and downloads the description of Kubernetes' API.

use std::env;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::{Outcome, process};

/// Alternative without a suitable Go.
const ALTERNATIVE: &str = "or set KUBEBUILDER_ASSETS to a folder that has kube-apiserver and etcd.";

/// Returns whether Go is installed.
pub(crate) fn is_installed() -> bool {
    let mut version = Command::new("go");
    version.arg("version").stdout(Stdio::null()).stderr(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}

/// Returns the `go` command, isolated from any workspace or module in parent folders.
pub(crate) fn command(folder: &Path) -> Command {
    let mut go = Command::new("go");
    go.current_dir(folder)
        .env("GOWORK", "off")
        .env("GO111MODULE", "on");
    go
}

/// Checks a module of this tree: formatting, sums, and `go vet`.
pub(crate) fn check(folder: &Path) -> Outcome {
    let unformatted = process::read(Command::new("gofmt").args(["-l", "."]).current_dir(folder))?;
    if !unformatted.is_empty() {
        return Err(format!("gofmt would change files in {}:\n{unformatted}", folder.display()).into());
    }
    process::run(command(folder).args(["mod", "verify"]).stdout(Stdio::null()))?;
    process::run(command(folder).args(["vet", "./..."]))
}

/// A module in the module proxy.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) path: &'static str,
    pub(crate) version: &'static str,
    go_mod: Value,
}

impl Module {
    /// Downloads the module. If the installed Go cannot build it, the error contains a hint.
    pub(crate) fn download(path: &'static str, version: &'static str) -> Outcome<Self> {
        if !is_installed() {
            return Err(format!(
                "Go is not installed: there is no `go` on the PATH. Install Go, {ALTERNATIVE}"
            )
            .into());
        }
        Self::fetch(path, version).map_err(|error| {
            let error = error.to_string();
            let too_old = ["requires go", "invalid go version"].iter().any(|words| error.contains(words));
            if too_old {
                format!(
                    "{error}\nThis Go is too old. Install a newer one, let it fetch one itself (GOTOOLCHAIN=auto), {ALTERNATIVE}"
                )
                .into()
            } else {
                error.into()
            }
        })
    }

    fn fetch(path: &'static str, version: &'static str) -> Outcome<Self> {
        let here = env::temp_dir();
        let output = command(&here)
            .args(["mod", "download", "-json", &format!("{path}@{version}")])
            .stdin(Stdio::null())
            .output()?;
        // The error is in the response, or in the output if there is none.
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let (Some(file), None) = (answer["GoMod"].as_str(), answer["Error"].as_str()) else {
            let beside = String::from_utf8_lossy(&output.stderr);
            let why = answer["Error"].as_str().unwrap_or(beside.trim_end());
            return Err(format!("`go mod download` of {path} {version} failed: {why}").into());
        };
        let go_mod = process::read(command(&here).args(["mod", "edit", "-json", file]))?;
        Ok(Self {
            path,
            version,
            go_mod: serde_json::from_str(&go_mod)?,
        })
    }

    /// Returns the Go version that the module requires.
    fn wants(&self) -> &str {
        self.go_mod["Go"].as_str().unwrap_or("1.21")
    }

    fn requires(&self, path: &str) -> bool {
        let required = self.go_mod["Require"].as_array();
        required.into_iter().flatten().any(|other| other["Path"] == path)
    }

    /// Returns a go.mod of a module that builds this one's programs as if it were the main module.
    ///
    /// A module's `replace` lines apply only in the main module, so they are repeated here. Those that point
    /// into the module's own tree are invalid in a download: with `published` they are replaced by that
    /// version of the same module, otherwise the module's own requirements determine the version.
    pub(crate) fn go_mod_to_build(&self, published: Option<&str>) -> Outcome<String> {
        let mut text = format!(
            "module build\n\ngo {}\n\nrequire {} {}\n",
            self.wants(),
            self.path,
            self.version
        );
        for replace in self.go_mod["Replace"].as_array().into_iter().flatten() {
            let old = replace["Old"]["Path"]
                .as_str()
                .ok_or("a replace line without a module")?;
            let new = replace["New"]["Path"]
                .as_str()
                .ok_or("a replace line without a replacement")?;
            match (replace["New"]["Version"].as_str(), published) {
                (Some(version), _) => writeln!(text, "replace {old} => {new} {version}")?,
                (None, Some(version)) => {
                    if self.requires(old) {
                        writeln!(text, "require {old} {version}")?;
                    }
                    writeln!(text, "replace {old} => {old} {version}")?;
                }
                (None, None) => {}
            }
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaced_modules_of_the_own_tree_are_taken_as_published() {
        let module = Module {
            path: "example.org/main",
            version: "v1.36.3",
            go_mod: serde_json::json!({
                "Go": "1.26.0",
                "Require": [{"Path": "example.org/api", "Version": "v0.0.0"}],
                "Replace": [
                    {"Old": {"Path": "example.org/sample"}, "New": {"Path": "./staging/sample"}},
                    {"Old": {"Path": "example.org/api"}, "New": {"Path": "./staging/api"}},
                    {"Old": {"Path": "example.org/fork"}, "New": {"Path": "example.org/other", "Version": "v1.0.0"}},
                ],
            }),
        };
        let head = "module build\n\ngo 1.26.0\n\nrequire example.org/main v1.36.3\n";
        let fork = "replace example.org/fork => example.org/other v1.0.0\n";
        let sample = "replace example.org/sample => example.org/sample v0.36.3\n";
        let api = "require example.org/api v0.36.3\nreplace example.org/api => example.org/api v0.36.3\n";
        assert_eq!(
            module.go_mod_to_build(Some("v0.36.3")).unwrap(),
            [head, sample, api, fork].concat()
        );
        assert_eq!(module.go_mod_to_build(None).unwrap(), [head, fork].concat());
    }
}
