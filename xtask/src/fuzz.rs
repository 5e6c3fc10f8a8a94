//! `cargo xtask fuzz`: libFuzzer on the targets of `fuzz/`.
//!
//! The instrumentation is part of LLVM and works with a stable compiler. Only AddressSanitizer needs a
//! nightly one.
//!
//! libFuzzer reads and writes one file for each input. The corpora in the repository are packed, so they are
//! unpacked before and packed afterwards, by an example of the package `fuzz`.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, ValueEnum};

use crate::toolchain::{self, nightly_cargo};
use crate::{Outcome, process};

/// Flags for the coverage that libFuzzer needs.
const COVERAGE: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// Maximum number of inputs in a corpus, so that replaying it stays short.
const MOST_INPUTS: usize = 250;

/// Maximum number of bytes in a corpus.
const MOST_BYTES: u64 = 120 << 10;

#[derive(Args, Debug)]
pub(crate) struct FuzzOptions {
    /// Targets to run; all by default
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// Time for each target, in seconds
    #[arg(long, default_value_t = 60, value_name = "N")]
    seconds: u32,
    /// Additional errors to detect; memory errors need a nightly compiler
    #[arg(long, value_enum, default_value_t = Sanitizer::None)]
    sanitizer: Sanitizer,
    /// Add new inputs to `fuzz/corpus` afterwards, as few as cover the same code
    #[arg(long)]
    keep: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Sanitizer {
    None,
    Address,
}

pub(crate) fn run(root: &Path, options: &FuzzOptions) -> Outcome {
    let targets = if options.targets.is_empty() {
        all_targets(root)?
    } else {
        options.targets.clone()
    };
    let folder = folder(root, options.sanitizer);
    let program = build(root, &folder, options.sanitizer)?;
    for target in &targets {
        eprintln!("==> {target}");
        let inputs = Inputs::of(root, &folder, target)?;
        inputs.fuzz(&program, options.seconds)?;
        if options.keep {
            inputs.keep(&program)?;
        }
    }
    Ok(())
}

/// Returns the targets: each has a folder of named inputs.
fn all_targets(root: &Path) -> Outcome<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root.join("fuzz/corpus"))? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Returns the folder for builds with special flags.
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

/// The folders and files with the inputs of a target.
struct Inputs {
    target: String,
    /// The repository.
    root: PathBuf,
    /// The unpacked corpus.
    corpus: PathBuf,
    /// New inputs of this and earlier runs.
    found: PathBuf,
    /// Prefix of the files with failing inputs.
    failed: OsString,
    /// The corpus and the new inputs that reach other code.
    merged: PathBuf,
    /// The inputs of `merged` that are added to the corpus.
    added: PathBuf,
    /// Tokens for generating inputs.
    words: PathBuf,
}

impl Inputs {
    /// Unpacks the corpus of a target.
    fn of(root: &Path, folder: &Path, target: &str) -> Outcome<Inputs> {
        if !root.join("fuzz/corpus").join(target).is_dir() {
            return Err(format!(
                "unknown target {target:?}: expected one of {}",
                all_targets(root)?.join(", ")
            )
            .into());
        }
        let inputs = Inputs {
            target: target.to_owned(),
            root: root.to_owned(),
            corpus: folder.join("corpus").join(target),
            found: folder.join("found").join(target),
            failed: folder.join(format!("{target}-")).into_os_string(),
            merged: folder.join("merged").join(target),
            added: folder.join("added").join(target),
            words: root.join("fuzz/words.dict"),
        };
        fs::create_dir_all(&inputs.found)?;
        empty(&inputs.corpus)?;
        inputs.convert("unpack", &inputs.corpus)?;
        Ok(inputs)
    }

    /// Unpacks the corpus to a folder, or packs the inputs of a folder into the corpus.
    fn convert(&self, command: &str, folder: &Path) -> Outcome {
        process::run(
            process::cargo(&self.root)
                .args(["run", "--quiet", "--package", "fuzz", "--example", "corpus", "--"])
                .args([command, &self.target])
                .arg(folder),
        )
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

    /// Adds as few of the new inputs to the corpus as cover the same code.
    fn keep(&self, program: &Path) -> Outcome {
        empty(&self.merged)?;
        empty(&self.added)?;
        let kept = files(&self.corpus)?;
        for (path, name, _) in &kept {
            fs::copy(path, self.merged.join(name))?;
        }
        process::run(
            self.command(program)
                .args(["-set_cover_merge=1", "-max_len=4096"])
                .args([&self.merged, &self.found]),
        )?;
        let mut bytes: u64 = kept.iter().map(|(.., len)| len).sum();
        let mut new = files(&self.merged)?;
        new.retain(|(_, name, _)| !self.corpus.join(name).exists());
        let room = MOST_INPUTS.saturating_sub(kept.len()).max(1);
        // If there are too many, take some of every length.
        for (path, name, len) in new.iter().step_by(new.len().div_ceil(room).max(1)) {
            if bytes + len < MOST_BYTES {
                fs::copy(path, self.added.join(name))?;
                bytes += len;
            }
        }
        self.convert("pack", &self.added)
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("FUZZ_TARGET", &self.target);
        command
    }
}

/// Creates an empty folder, and removes an earlier one.
fn empty(folder: &Path) -> Outcome {
    let _ = fs::remove_dir_all(folder);
    Ok(fs::create_dir_all(folder)?)
}

/// Returns the files of a folder with their names and lengths, the shortest first.
fn files(folder: &Path) -> Outcome<Vec<(PathBuf, OsString, u64)>> {
    let mut inputs = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        inputs.push((entry.path(), entry.file_name(), entry.metadata()?.len()));
    }
    inputs.sort_by(|(_, a_name, a), (_, b_name, b)| (a, a_name).cmp(&(b, b_name)));
    Ok(inputs)
}
