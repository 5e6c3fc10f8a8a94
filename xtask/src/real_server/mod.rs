//! `cargo xtask real-server`: provides a real kube-apiserver and etcd, in the layout of envtest's
//! `KUBEBUILDER_ASSETS`.

mod build;
mod program;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::{Outcome, cache, pins};
use program::ServerProgram;

/// The variable with the folder of the programs, the same as for envtest.
pub(crate) const ASSETS: &str = "KUBEBUILDER_ASSETS";

#[derive(Args, Debug)]
pub(crate) struct RealServerOptions {
    /// Print only a line to evaluate in a shell: eval "$(cargo xtask real-server --print)"
    #[arg(long)]
    print: bool,
    /// Only prepare this program; may be repeated
    #[arg(long, value_enum, value_name = "PROGRAM")]
    only: Vec<ServerProgram>,
}

pub(crate) fn run(options: &RealServerOptions) -> Outcome {
    let wanted = if options.only.is_empty() {
        ServerProgram::ALL
    } else {
        &options.only
    };
    let folder = match given() {
        Some(folder) => {
            let required = if options.only.is_empty() {
                ServerProgram::REQUIRED
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
        for program in ServerProgram::ALL.iter().filter(|program| program.is_in(&folder)) {
            println!("  {}", program.name());
        }
    }
    Ok(())
}

/// Returns the folder with the programs that the tests need. Builds them if necessary.
pub(crate) fn prepare() -> Outcome<PathBuf> {
    match given() {
        Some(folder) => accept(folder, ServerProgram::REQUIRED),
        None => built(ServerProgram::ALL),
    }
}

/// Returns kubectl. Builds it if necessary.
pub(crate) fn kubectl() -> Outcome<PathBuf> {
    let wanted = [ServerProgram::Kubectl];
    let folder = match given() {
        Some(folder) => accept(folder, &wanted)?,
        None => built(&wanted)?,
    };
    Ok(folder.join(ServerProgram::Kubectl.name()))
}

/// Returns the folder with the programs, if they exist already.
pub(crate) fn at_hand() -> Outcome<Option<PathBuf>> {
    match given() {
        Some(folder) => Ok(Some(folder)),
        None => Ok(Some(shelf()?.join(name())).filter(|folder| folder.is_dir())),
    }
}

/// Returns Kubernetes' end-to-end tests as a program. Builds it if necessary.
pub(crate) fn e2e_test() -> Outcome<PathBuf> {
    let program = e2e_test_path()?;
    if !program.is_file() {
        let shelf = cache::folder()?.join("e2e");
        let _taken = cache::take(&shelf)?;
        fs::create_dir_all(program.parent().unwrap_or(&shelf))?;
        build::e2e_test(&program, &shelf.join("building"))?;
    }
    Ok(program)
}

/// Returns Kubernetes' end-to-end tests as a program, if it exists already.
pub(crate) fn e2e_test_at_hand() -> Outcome<Option<PathBuf>> {
    Ok(Some(e2e_test_path()?).filter(|program| program.is_file()))
}

fn e2e_test_path() -> Outcome<PathBuf> {
    let shelf = cache::folder()?.join("e2e");
    Ok(shelf.join(pins::KUBERNETES).join("e2e.test"))
}

fn given() -> Option<PathBuf> {
    env::var_os(ASSETS)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// Accepts a folder that the user has set. It is not changed.
fn accept(folder: PathBuf, required: &[ServerProgram]) -> Outcome<PathBuf> {
    let missing: Vec<_> = required
        .iter()
        .filter(|program| !program.is_in(&folder))
        .map(|p| p.name())
        .collect();
    if missing.is_empty() {
        return Ok(folder);
    }
    Err(format!(
        "missing programs in {ASSETS}={}: {}: add them, or unset {ASSETS} to build all programs",
        folder.display(),
        missing.join(", ")
    )
    .into())
}

fn built(wanted: &[ServerProgram]) -> Outcome<PathBuf> {
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

/// Returns the path as one word of a shell.
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
    fn paths_are_quoted_for_a_shell() {
        for (path, wanted) in [
            ("/home/me/.cache/v1.36.3", "/home/me/.cache/v1.36.3"),
            ("/a b/$c", "'/a b/$c'"),
            ("/it's", r"'/it'\''s'"),
        ] {
            assert_eq!(quoted(Path::new(path)), wanted);
        }
    }

    #[test]
    fn a_folder_with_missing_programs_is_refused() {
        let refusal = accept("/nowhere".into(), ServerProgram::REQUIRED)
            .unwrap_err()
            .to_string();
        assert!(refusal.contains("kube-apiserver, etcd"), "{refusal}");
    }
}
