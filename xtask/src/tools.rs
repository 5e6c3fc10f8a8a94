//! External programs, installed by name and version outside of the tree.

use std::path::{Path, PathBuf};

use crate::{Outcome, cache, process};

/// Returns the path of a program. Installs it if it is missing.
pub(crate) fn installed(root: &Path, name: &str, version: &str) -> Outcome<PathBuf> {
    let folder = cache::folder()?.join("tools").join(format!("{name}-{version}"));
    let program = folder.join("bin").join(name);
    if !program.is_file() {
        eprintln!("installing {name} {version} (minutes the first time)");
        let mut install = process::cargo(root);
        install
            .args([
                "install",
                "--quiet",
                "--locked",
                name,
                "--version",
                version,
                "--root",
            ])
            .arg(&folder);
        process::run(&mut install)?;
    }
    Ok(program)
}
