//! `cargo xtask bench`: informers on a cluster with many pods, side by side.
//!
//! Every subject is a separate process. All use the same server, one after the other. A subject syncs; then
//! pods are updated as fast as the server accepts it, to measure the CPU time of an update; then at a
//! constant rate, to measure the time from a write to the handler; then the subject must relist although
//! nothing has changed.
//!
//! To force the relist, the server restarts without its history, like a server after a long outage: all
//! connections break, and the version that each subject watched from is gone (410). This affects all subjects
//! in the same way, without a proxy, and the measurement includes the time to reconnect. One pod that is
//! updated afterwards shows when a subject has caught up.

mod bounds;
mod child;
mod figures;
mod measuring;
mod plot;
mod readme;
mod subjects;
mod table;
mod targets;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use self::bounds::Bounds;
use self::figures::Measurements;
use self::measuring::{Cluster, Load};
use self::subjects::{ClusterSubject, SUBJECTS};
use super::programs::{Build, Programs};
use crate::Outcome;

const BOUNDS: &str = "benches/bounds.txt";
const PAGE: &str = "docs/benchmarks/cluster.md";
const README: &str = "README.md";
const PLOT: &str = "docs/benchmarks/cluster.svg";

#[derive(Args, Debug, Default)]
pub(super) struct ClusterOptions {
    /// Number of pods [default: 30000, quick: 2000]
    #[arg(long, value_name = "N")]
    pods: Option<usize>,
    /// Number of rounds; the medians are compared [default: 3], or the minima with --quick [default: 2]
    #[arg(long, value_name = "R")]
    rounds: Option<u32>,
    /// Write all measurements to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Only measure subjects whose name contains this; may be repeated
    #[arg(long, value_name = "SUBJECT")]
    only: Vec<String>,
    /// Use the embedded server with few pods; fail if a ratio exceeds its bound
    #[arg(long)]
    quick: bool,
    /// With --quick, write the ratios of this run as the new bounds
    #[arg(long, requires = "quick", conflicts_with = "only")]
    record: bool,
}

pub(super) fn run(root: &Path, options: &ClusterOptions) -> Outcome {
    let subjects = options.subjects()?;
    let rounds = options.rounds.unwrap_or(if options.quick { 2 } else { 3 });
    let load = options.load();
    let build = if options.quick {
        Build::Quick
    } else {
        Build::Thorough
    };
    let programs = Programs::build_cluster(root, build)?;
    let mut cluster = Cluster::start(&programs, load, options.quick)?;
    eprintln!("{}", cluster.pods());
    let mut figures = Measurements::default();
    for round in 1..=rounds {
        // In turns, so that other load on the machine affects all subjects alike.
        for subject in &subjects {
            eprintln!("round {round} of {rounds}: {}", subject.name);
            cluster.measure(subject, &mut figures)?;
            if round == 1 {
                cluster.measure_heap(subject, &mut figures)?;
            }
        }
    }
    let pods = cluster.pods();
    drop(cluster);
    let table = table::of(&subjects, &figures)?;
    let ratios = targets::compared(&figures)?;
    let reads = targets::reads(&figures)?;
    println!("{table}\n{ratios}\n{reads}");
    if let Some(file) = &options.json {
        let all = json!({"pods": pods, "rounds": rounds, "subjects": figures.json()});
        write(file, &format!("{all:#}\n"))?;
    }
    if options.quick {
        let bounds = root.join(BOUNDS);
        if options.record {
            return write(&bounds, &Bounds::of(&figures).text()?);
        }
        let text = fs::read_to_string(&bounds).map_err(|error| format!("{}: {error}", bounds.display()))?;
        let mut bounds = Bounds::parse(&text)?;
        if !options.only.is_empty() {
            bounds = bounds.among(&subjects);
        }
        return bounds.check(&figures);
    }
    if options.only.is_empty() {
        write(
            &root.join(PAGE),
            &table::page(&pods, rounds, &table, &ratios, &reads),
        )?;
        write(&root.join(PLOT), &plot::of(&subjects, &figures)?)?;
        let file = root.join(README);
        let readme = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let run = readme::RunSummary {
            pods: load.pods,
            rounds,
        };
        write(&file, &readme::with(&readme, &run, &figures)?)?;
    }
    Ok(())
}

impl ClusterOptions {
    pub(super) fn quick() -> ClusterOptions {
        ClusterOptions {
            quick: true,
            ..ClusterOptions::default()
        }
    }

    fn subjects(&self) -> Outcome<Vec<&'static ClusterSubject>> {
        let is_wanted = |subject: &&ClusterSubject| {
            (self.only.is_empty() && (!self.quick || subject.quick))
                || self.only.iter().any(|part| subject.name.contains(part.as_str()))
        };
        let subjects: Vec<_> = SUBJECTS.iter().filter(is_wanted).collect();
        if subjects.is_empty() {
            let known: Vec<_> = SUBJECTS.iter().map(|subject| subject.name).collect();
            return Err(format!(
                "unknown subject in --only: expected one of\n  {}",
                known.join("\n  ")
            )
            .into());
        }
        Ok(subjects)
    }

    fn load(&self) -> Load {
        let mut load = if self.quick { Load::QUICK } else { Load::WHOLE };
        if let Some(pods) = self.pods {
            load.pods = pods;
            load.burst = load.burst.min(pods);
            load.paced = load.paced.min(pods);
        }
        load
    }
}

fn write(file: &Path, text: &str) -> Outcome {
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    eprintln!("wrote {}", file.display());
    Ok(())
}
