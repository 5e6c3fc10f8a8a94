//! Builds programs from the Go module proxy.

use std::fs;
use std::path::Path;

use super::program::{ServerProgram, Source};
use crate::go::{self, Module};
use crate::{Outcome, process};

/// Builds missing programs in `folder`. Each complete program is renamed to its final path, so an interrupted
/// build leaves no incomplete file. `workshop` is on the same file system and not shared.
pub(super) fn missing(wanted: &[ServerProgram], folder: &Path, workshop: &Path) -> Outcome {
    fs::create_dir_all(folder)?;
    for source in Source::ALL {
        let programs: Vec<ServerProgram> = wanted
            .iter()
            .copied()
            .filter(|program| program.source() == source && !program.is_in(folder))
            .collect();
        if programs.is_empty() {
            continue;
        }
        let module = Module::download(source.module(), source.version())?;
        if workshop.exists() {
            fs::remove_dir_all(workshop)?;
        }
        fs::create_dir_all(workshop)?;
        let go_mod = module.go_mod_to_build(source.staging_version().as_deref())?;
        fs::write(workshop.join("go.mod"), go_mod)?;
        for program in programs {
            eprintln!(
                "building {} {} (minutes the first time)",
                program.name(),
                source.version()
            );
            build(program, workshop)?;
            fs::rename(workshop.join(program.name()), folder.join(program.name()))?;
        }
        fs::remove_dir_all(workshop)?;
    }
    Ok(())
}

fn build(program: ServerProgram, workshop: &Path) -> Outcome {
    let mut go = go::command(workshop);
    // `-mod=mod` lets Go complete the go.mod and go.sum that name only the one module.
    go.args(["build", "-mod=mod", "-trimpath", "-buildvcs=false", "-ldflags"])
        .arg(program.source().linker_flags())
        .arg("-o")
        .arg(workshop.join(program.name()))
        .arg(program.package())
        .env("CGO_ENABLED", "0");
    process::run(&mut go)
}
