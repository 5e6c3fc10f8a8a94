//! `cargo xtask fuzz`: libFuzzer on the targets of `fuzz/`.
//!
//! The instrumentation is LLVM's, which a stable compiler has; only AddressSanitizer needs a nightly one.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, ValueEnum};

use crate::toolchain::{self, nightly_cargo};
use crate::{Outcome, process};

/// What libFuzzer needs to know which ways an input takes.
const COVERAGE: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// A corpus has no more inputs than this, so that replaying it stays short.
const MOST_INPUTS: usize = 250;

/// And no more bytes.
const MOST_BYTES: u64 = 120 << 10;

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The targets; all of them if none is named
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// For how long each target is run
    #[arg(long, default_value_t = 60, value_name = "N")]
    seconds: u32,
    /// What else is looked for; memory errors need a nightly compiler
    #[arg(long, value_enum, default_value_t = Sanitizer::None)]
    sanitizer: Sanitizer,
    /// Afterwards keep what was found in `fuzz/corpus`, as few inputs as reach the same
    #[arg(long)]
    keep: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Sanitizer {
    None,
    Address,
}

pub(crate) fn run(root: &Path, options: &Options) -> Outcome {
    let targets = if options.targets.is_empty() {
        all_targets(root)?
    } else {
        options.targets.clone()
    };
    let folder = folder(root, options.sanitizer);
    let program = build(root, &folder, options.sanitizer)?;
    for target in &targets {
        eprintln!("==> {target}");
        let place = Place::of(root, &folder, target)?;
        place.fuzz(&program, options.seconds)?;
        if options.keep {
            place.keep(&program)?;
        }
    }
    Ok(())
}

/// Every folder of a corpus is a target.
fn all_targets(root: &Path) -> Outcome<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root.join("fuzz/corpus"))? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Where everything is built that has other flags than the rest.
fn folder(root: &Path, sanitizer: Sanitizer) -> PathBuf {
    toolchain::target(root).join(match sanitizer {
        Sanitizer::None => "fuzz",
        Sanitizer::Address => "fuzz-address",
    })
}

fn build(root: &Path, folder: &Path, sanitizer: Sanitizer) -> Outcome<PathBuf> {
    let host = toolchain::host(root)?;
    let (mut cargo, flags) = match sanitizer {
        Sanitizer::None => (process::cargo(root), COVERAGE.to_owned()),
        Sanitizer::Address => (
            nightly_cargo(root)
                .ok_or("AddressSanitizer needs a nightly compiler: `rustup toolchain install nightly`")?,
            format!("{COVERAGE} -Zsanitizer=address"),
        ),
    };
    cargo
        .args([
            "build",
            "--release",
            "--manifest-path",
            "fuzz/libfuzzer/Cargo.toml",
        ])
        .args(["--target", &host])
        .env("CARGO_TARGET_DIR", folder)
        .env("RUSTFLAGS", flags);
    process::run(&mut cargo)?;
    Ok(folder.join(host).join("release/libfuzzer"))
}

/// Where inputs of a target are.
struct Place {
    target: String,
    /// Those that are kept.
    corpus: PathBuf,
    /// Those that were found and are not kept.
    found: PathBuf,
    /// Those that fail begin with this.
    failed: OsString,
    /// Those that are to be kept.
    merged: PathBuf,
    /// Words that inputs are made of.
    words: PathBuf,
}

impl Place {
    fn of(root: &Path, folder: &Path, target: &str) -> Outcome<Place> {
        let corpus = root.join("fuzz/corpus").join(target);
        if !corpus.is_dir() {
            return Err(format!(
                "there is no target {target}; there are {}",
                all_targets(root)?.join(", ")
            )
            .into());
        }
        let found = folder.join("found").join(target);
        fs::create_dir_all(&found)?;
        Ok(Place {
            target: target.to_owned(),
            corpus,
            found,
            failed: folder.join(format!("{target}-")).into_os_string(),
            merged: folder.join("merged").join(target),
            words: root.join("fuzz/words.dict"),
        })
    }

    fn fuzz(&self, program: &Path, seconds: u32) -> Outcome {
        let flag = |name: &str, path: &OsStr| {
            let mut flag = OsString::from(name);
            flag.push(path);
            flag
        };
        process::run(
            self.command(program)
                .arg(format!("-max_total_time={seconds}"))
                .args(["-max_len=4096", "-timeout=20", "-rss_limit_mb=3000"])
                .arg("-print_final_stats=1")
                .arg(flag("-artifact_prefix=", &self.failed))
                .arg(flag("-dict=", self.words.as_os_str()))
                .args([&self.found, &self.corpus]),
        )
    }

    /// Adds to the corpus as few inputs as reach everything that all of them reach.
    fn keep(&self, program: &Path) -> Outcome {
        let _ = fs::remove_dir_all(&self.merged);
        fs::create_dir_all(&self.merged)?;
        let kept = inputs(&self.corpus)?;
        for (path, name, _) in &kept {
            fs::copy(path, self.merged.join(name))?;
        }
        process::run(
            self.command(program)
                .args(["-set_cover_merge=1", "-max_len=4096"])
                .args([&self.merged, &self.found]),
        )?;
        let mut bytes: u64 = kept.iter().map(|(.., len)| len).sum();
        let mut new = inputs(&self.merged)?;
        new.retain(|(_, name, _)| !self.corpus.join(name).exists());
        let room = MOST_INPUTS.saturating_sub(kept.len()).max(1);
        // Where there are too many, some of every length.
        for (path, name, len) in new.iter().step_by(new.len().div_ceil(room).max(1)) {
            if bytes + len < MOST_BYTES {
                fs::copy(path, self.corpus.join(name))?;
                bytes += len;
            }
        }
        Ok(())
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("FUZZ_TARGET", &self.target);
        command
    }
}

/// The files of a folder, their names and lengths, the shortest first.
fn inputs(folder: &Path) -> Outcome<Vec<(PathBuf, OsString, u64)>> {
    let mut inputs = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        inputs.push((entry.path(), entry.file_name(), entry.metadata()?.len()));
    }
    inputs.sort_by(|(_, a_name, a), (_, b_name, b)| (a, a_name).cmp(&(b, b_name)));
    Ok(inputs)
}
