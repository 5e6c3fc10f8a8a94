//! `cargo xtask bench`: informers on a cluster with many pods, side by side.
//!
//! Every subject is a process of its own, on the same server, in turns. It syncs; then pods are touched as fast as the
//! server goes, for the processors' time of an update; then at an even pace, for the time from a write to the handler; then
//! it has to list everything again, though nothing has changed.
//!
//! For that last step the server forgets its history and restarts, as a server does that was away for long: all connections
//! break, and the version that each subject watched from is gone (410). So all of them are forced in the same way, without
//! anything between them and the server, and what is measured has in it what a subject does to come back. One pod that is
//! touched afterwards tells each of them when it is there again.

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
use self::figures::Figures;
use self::measuring::{Cluster, Load};
use self::subjects::{SUBJECTS, Subject};
use super::programs::{Build, Programs};
use crate::Outcome;

const BOUNDS: &str = "benches/bounds.txt";
const PAGE: &str = "docs/benchmarks/cluster.md";
const README: &str = "README.md";
const PLOT: &str = "docs/benchmarks/cluster.svg";

#[derive(Args, Debug, Default)]
pub(super) struct Choice {
    /// How many pods the cluster has [default: 30000, quick: 2000]
    #[arg(long, value_name = "N")]
    pods: Option<usize>,
    /// How often everything is measured; the medians are compared [default: 3], or if quick the least [default: 2]
    #[arg(long, value_name = "R")]
    rounds: Option<u32>,
    /// Write all figures here
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Measure only subjects whose name has this in it; may be repeated
    #[arg(long, value_name = "SUBJECT")]
    only: Vec<String>,
    /// On the embedded server with few pods; fails if a ratio is worse than its bound
    #[arg(long)]
    quick: bool,
    /// With --quick, write the ratios of this run as the new bounds
    #[arg(long, requires = "quick", conflicts_with = "only")]
    record: bool,
}

pub(super) fn run(root: &Path, choice: &Choice) -> Outcome {
    let subjects = choice.subjects()?;
    let rounds = choice.rounds.unwrap_or(if choice.quick { 2 } else { 3 });
    let load = choice.load();
    let build = if choice.quick {
        Build::Quick
    } else {
        Build::Thorough
    };
    let programs = Programs::build_cluster(root, build)?;
    let mut cluster = Cluster::start(&programs, load, choice.quick)?;
    eprintln!("{}", cluster.pods());
    let mut figures = Figures::default();
    for round in 1..=rounds {
        // In turn, so that whatever else the machine does meets all of them alike.
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
    if let Some(file) = &choice.json {
        let all = json!({"pods": pods, "rounds": rounds, "subjects": figures.json()});
        write(file, &format!("{all:#}\n"))?;
    }
    if choice.quick {
        let bounds = root.join(BOUNDS);
        if choice.record {
            return write(&bounds, &Bounds::of(&figures).text()?);
        }
        let text = fs::read_to_string(&bounds).map_err(|error| format!("{}: {error}", bounds.display()))?;
        let mut bounds = Bounds::parse(&text)?;
        if !choice.only.is_empty() {
            bounds = bounds.among(&subjects);
        }
        return bounds.check(&figures);
    }
    if choice.only.is_empty() {
        write(
            &root.join(PAGE),
            &table::page(&pods, rounds, &table, &ratios, &reads),
        )?;
        write(&root.join(PLOT), &plot::of(&subjects, &figures)?)?;
        let file = root.join(README);
        let readme = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let run = readme::Run {
            pods: load.pods,
            rounds,
        };
        write(&file, &readme::with(&readme, &run, &figures)?)?;
    }
    Ok(())
}

impl Choice {
    pub(super) fn quick() -> Choice {
        Choice {
            quick: true,
            ..Choice::default()
        }
    }

    fn subjects(&self) -> Outcome<Vec<&'static Subject>> {
        let is_wanted = |subject: &&Subject| {
            (self.only.is_empty() && (!self.quick || subject.quick))
                || self.only.iter().any(|part| subject.name.contains(part.as_str()))
        };
        let subjects: Vec<_> = SUBJECTS.iter().filter(is_wanted).collect();
        if subjects.is_empty() {
            let known: Vec<_> = SUBJECTS.iter().map(|subject| subject.name).collect();
            return Err(format!("there is no such subject, but\n  {}", known.join("\n  ")).into());
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
