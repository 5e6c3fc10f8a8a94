//! `cargo xtask real-server`: a real kube-apiserver and etcd, in the layout of envtest's `KUBEBUILDER_ASSETS`.

mod build;
mod program;

use std::env;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::{Outcome, cache, pins};
use program::Program;

/// The variable that names the folder with the programs, for this project as for envtest.
pub(crate) const ASSETS: &str = "KUBEBUILDER_ASSETS";

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Print only the line that a shell evaluates: eval "$(cargo xtask real-server --print)"
    #[arg(long)]
    print: bool,
    /// Prepare only this program; may be repeated
    #[arg(long, value_enum, value_name = "PROGRAM")]
    only: Vec<Program>,
}

pub(crate) fn run(options: &Options) -> Outcome {
    let wanted = if options.only.is_empty() {
        Program::ALL
    } else {
        &options.only
    };
    let folder = match given() {
        Some(folder) => {
            let required = if options.only.is_empty() {
                Program::REQUIRED
            } else {
                &options.only
            };
            accept(folder, required)?
        }
        None => built(wanted)?,
    };
    if options.print {
        println!("export {ASSETS}={}", quoted(&folder));
    } else {
        println!("{}", folder.display());
        for program in Program::ALL.iter().filter(|program| program.is_in(&folder)) {
            println!("  {}", program.name());
        }
    }
    Ok(())
}

/// The folder with the programs that the tests need, made ready when it is not there.
pub(crate) fn prepare() -> Outcome<PathBuf> {
    match given() {
        Some(folder) => accept(folder, Program::REQUIRED),
        None => built(Program::ALL),
    }
}

/// The folder with the programs, if there is one without building anything.
pub(crate) fn at_hand() -> Outcome<Option<PathBuf>> {
    match given() {
        Some(folder) => Ok(Some(folder)),
        None => Ok(Some(shelf()?.join(name())).filter(|folder| folder.is_dir())),
    }
}

fn given() -> Option<PathBuf> {
    env::var_os(ASSETS)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// Somebody's own folder is taken as it is.
fn accept(folder: PathBuf, required: &[Program]) -> Outcome<PathBuf> {
    let missing: Vec<_> = required
        .iter()
        .filter(|program| !program.is_in(&folder))
        .map(|p| p.name())
        .collect();
    if missing.is_empty() {
        return Ok(folder);
    }
    Err(format!(
        "{ASSETS} is {}, which has no {}: put it there, or unset {ASSETS} to have everything built",
        folder.display(),
        missing.join(" and no ")
    )
    .into())
}

fn built(wanted: &[Program]) -> Outcome<PathBuf> {
    let shelf = shelf()?;
    let folder = shelf.join(name());
    if !wanted.iter().all(|program| program.is_in(&folder)) {
        let _taken = cache::take(&shelf)?;
        build::missing(wanted, &folder, &shelf.join("building"))?;
    }
    Ok(folder)
}

fn shelf() -> Outcome<PathBuf> {
    Ok(cache::folder()?.join("real-server"))
}

fn name() -> String {
    format!("{}-etcd-{}", pins::KUBERNETES, pins::ETCD)
}

/// The path as one word of a shell.
fn quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
    if path.chars().all(plain) {
        path.into_owned()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_path_back() {
        for (path, wanted) in [
            ("/home/me/.cache/v1.36.3", "/home/me/.cache/v1.36.3"),
            ("/a b/$c", "'/a b/$c'"),
            ("/it's", r"'/it'\''s'"),
        ] {
            assert_eq!(quoted(Path::new(path)), wanted);
        }
    }

    #[test]
    fn a_given_folder_is_refused_by_what_it_lacks() {
        let refusal = accept("/nowhere".into(), Program::REQUIRED)
            .unwrap_err()
            .to_string();
        assert!(refusal.contains("has no kube-apiserver and no etcd"), "{refusal}");
    }
}
