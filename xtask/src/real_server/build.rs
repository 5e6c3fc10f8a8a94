//! Builds programs from the Go module proxy.

use std::fs;
use std::path::{Path, PathBuf};

use super::program::{ServerProgram, Source};
use crate::go::{self, Module};
use crate::{Outcome, process};

/// Builds missing programs in `folder`. `workshop` is on the same file system and not shared.
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
        let workshop = Workshop::create(source, workshop)?;
        for program in programs {
            let into = folder.join(program.name());
            workshop.build(&["build"], &program.package(), &into)?;
        }
        workshop.remove()?;
    }
    Ok(())
}

/// Builds Kubernetes' end-to-end tests as `program`. `workshop` is on the same file system and not shared.
pub(super) fn e2e_test(program: &Path, workshop: &Path) -> Outcome {
    let source = Source::Kubernetes;
    let workshop = Workshop::create(source, workshop)?;
    let package = format!("{}/test/e2e", source.module());
    // Without `-vet=off`, Go analyses all packages, which takes longer than the build.
    workshop.build(&["test", "-c", "-vet=off"], &package, program)?;
    workshop.remove()
}

/// A folder with a Go module that builds packages of a module.
struct Workshop {
    folder: PathBuf,
    source: Source,
}

impl Workshop {
    fn create(source: Source, folder: &Path) -> Outcome<Self> {
        let module = Module::download(source.module(), source.version())?;
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder)?;
        let go_mod = module.go_mod_to_build(source.staging_version().as_deref())?;
        fs::write(folder.join("go.mod"), go_mod)?;
        Ok(Self {
            folder: folder.to_owned(),
            source,
        })
    }

    /// Builds a package with a command of Go. The complete program is renamed to its final path, so an
    /// interrupted build leaves no incomplete file.
    fn build(&self, command: &[&str], package: &str, program: &Path) -> Outcome {
        let name = program.file_name().ok_or("a program without a name")?;
        eprintln!(
            "building {} {} (minutes the first time)",
            name.display(),
            self.source.version()
        );
        let built = self.folder.join(name);
        let mut go = go::command(&self.folder);
        // `-mod=mod` lets Go complete the go.mod and go.sum that name only the one module.
        go.args(command)
            .args(["-mod=mod", "-trimpath", "-buildvcs=false", "-ldflags"])
            .arg(self.source.linker_flags())
            .arg("-o")
            .arg(&built)
            .arg(package)
            .env("CGO_ENABLED", "0");
        process::run(&mut go)?;
        Ok(fs::rename(built, program)?)
    }

    fn remove(self) -> Outcome {
        Ok(fs::remove_dir_all(self.folder)?)
    }
}
