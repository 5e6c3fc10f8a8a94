//! A copy of the working tree in which bugs are planted.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Outcome, process};

/// The copy, its build folder, and the original tree.
pub(crate) struct Tree {
    original: PathBuf,
    copy: PathBuf,
    target: PathBuf,
}

impl Tree {
    /// Updates the copy with this name. All copies in a folder share a build folder.
    pub(crate) fn update(original: &Path, folder: &Path, name: &str) -> Outcome<Tree> {
        let tree = Tree {
            original: original.to_path_buf(),
            copy: folder.join(name),
            target: folder.join("target"),
        };
        fs::create_dir_all(&tree.copy)?;
        tree.restore()?;
        Ok(tree)
    }

    /// Makes the copy equal to the files that Git tracks or would track. Equal files keep their modification
    /// time, so that cargo does not rebuild them.
    pub(crate) fn restore(&self) -> Outcome {
        let mut list = Command::new("git");
        list.current_dir(&self.original).args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]);
        let listed = process::read(&mut list)?;
        let mut wanted = BTreeSet::new();
        for name in listed.split('\0').filter(|name| !name.is_empty()) {
            let source = self.original.join(name);
            if source.is_file() {
                write_if_different(&self.copy.join(name), &fs::read(&source)?)?;
                wanted.insert(self.copy.join(name));
            }
        }
        remove_others(&self.copy, &wanted)
    }

    /// Overwrites one file of the copy.
    pub(crate) fn write(&self, name: &str, text: &str) -> Outcome {
        write_if_different(&self.copy.join(name), text.as_bytes())
    }

    pub(crate) fn read(&self, name: &str) -> Outcome<String> {
        let path = self.copy.join(name);
        fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()).into())
    }

    /// Applies a patch to the copy. Tolerates moved lines and changes two lines away.
    pub(crate) fn apply(&self, patch: &Path) -> Outcome {
        git_apply(&self.copy, patch, &[])
    }

    /// Checks that a patch applies.
    pub(crate) fn check(&self, patch: &Path) -> Outcome {
        git_apply(&self.copy, patch, &["--check"])
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.copy
    }

    /// Returns cargo for the copy, with settings that compile fast.
    pub(crate) fn cargo(&self) -> Command {
        let mut cargo = process::cargo(&self.copy);
        cargo
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_INCREMENTAL", "1")
            .args(["--config", "profile.dev.debug=false"])
            // Tests of compression are slow without optimisation.
            .args(["--config", "profile.dev.package.zstd-sys.opt-level=3"]);
        cargo
    }
}

/// Applies a patch to a folder.
pub(crate) fn git_apply(folder: &Path, patch: &Path, options: &[&str]) -> Outcome {
    let mut apply = Command::new("git");
    apply
        .current_dir(folder)
        // Inside another repository, Git would skip untracked files.
        .env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap_or(folder))
        .args(["apply", "-C1", "--ignore-whitespace"])
        .args(options)
        .arg(patch);
    process::read(&mut apply).map_err(|error| {
        format!(
            "the patch no longer applies; make it again from the current sources, or remove it if the code it breaks is gone\n{error}"
        )
    })?;
    Ok(())
}

fn write_if_different(path: &Path, bytes: &[u8]) -> Outcome {
    if fs::read(path).is_ok_and(|present| present == bytes) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, bytes).map_err(|error| format!("cannot write {}: {error}", path.display()).into())
}

fn remove_others(folder: &Path, wanted: &BTreeSet<PathBuf>) -> Outcome {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(&path, wanted)?;
        } else if !wanted.contains(&path) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}
