//! Building the programs by name from the Go module proxy.

use std::fs;
use std::path::Path;

use super::program::{Program, Source};
use crate::go::{self, Module};
use crate::{Outcome, process};

/// Builds what is missing in `folder`. Each program comes there by a rename when it is whole, so that an interrupted
/// build leaves nothing half; `workshop` is on the same file system and nobody else's.
pub(super) fn missing(wanted: &[Program], folder: &Path, workshop: &Path) -> Outcome {
    fs::create_dir_all(folder)?;
    for source in Source::ALL {
        let programs: Vec<Program> = wanted
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

fn build(program: Program, workshop: &Path) -> Outcome {
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
