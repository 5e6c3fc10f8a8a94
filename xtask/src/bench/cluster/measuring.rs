//! A server with its pods, and the steps of a measurement.

use std::fmt;
use std::process::Command;

use serde_json::Value;

use super::child::ChildProcess;
use super::figures::{Measurements, Metric};
use super::subjects::{ClusterSubject, Language};
use crate::bench::programs::Programs;
use crate::{Outcome, process, real_server};

/// The amount of load.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) pods: usize,
    /// Updates as fast as the server accepts them.
    pub(super) burst: usize,
    /// Updates at a constant rate.
    pub(super) paced: usize,
    /// That rate, per second: slow enough for the server on any machine.
    rate: usize,
}

/// A server with its pods. Dropping it ends the server.
pub(super) struct Cluster<'a> {
    programs: &'a Programs,
    load: Load,
    server: ChildProcess,
    kubeconfig: String,
    loaded: Value,
}

/// Describes the pods of a cluster.
struct Pods<'a>(&'a Value);

impl Load {
    pub(super) const WHOLE: Load = Load {
        pods: 30_000,
        burst: 5_000,
        paced: 1_000,
        rate: 200,
    };
    pub(super) const QUICK: Load = Load {
        pods: 2_000,
        burst: 1_000,
        paced: 200,
        rate: 200,
    };
}

impl<'a> Cluster<'a> {
    /// Starts a server and loads the pods. The quick benchmark uses the embedded server.
    pub(super) fn start(programs: &'a Programs, load: Load, quick: bool) -> Outcome<Cluster<'a>> {
        let mut command = programs.rust("cluster_server")?;
        if quick {
            command.arg("embedded");
        } else {
            command
                .env(real_server::ASSETS, real_server::prepare()?)
                .arg("real");
        }
        let (server, started) = ChildProcess::start(&mut command)?;
        let kubeconfig = started["kubeconfig"]
            .as_str()
            .ok_or("the server has no kubeconfig")?
            .to_owned();
        let mut loader = programs.go("cluster")?;
        loader.env("KUBECONFIG", &kubeconfig);
        if quick {
            // The embedded server collects garbage, and the owners of the pods do not exist.
            loader.arg("-orphaned");
        }
        eprintln!("loading {} pods", load.pods);
        let loaded = process::read(loader.arg(format!("-pods={}", load.pods)).arg("load"))?;
        Ok(Cluster {
            programs,
            load,
            server,
            kubeconfig,
            loaded: serde_json::from_str(&loaded)?,
        })
    }

    /// Returns the number and size of the pods.
    pub(super) fn pods(&self) -> String {
        Pods(&self.loaded).to_string()
    }

    /// Runs all steps for a subject.
    pub(super) fn measure(&mut self, subject: &ClusterSubject, figures: &mut Measurements) -> Outcome {
        let command = match subject.program {
            Language::Go => self.programs.go("cluster")?,
            Language::Rust => self.programs.rust("cluster")?,
        };
        let (mut running, _) = self.started(command, subject)?;
        let synced = running.ask("sync", "sync")?;
        let mut add = |measure, value: &Value, per: f64| {
            if let Some(value) = value.as_f64() {
                figures.add(subject.name, measure, value / per);
            }
        };
        add(Metric::SyncWall, &synced["wall"], 1.0);
        add(Metric::SyncCpu, &synced["cpu"], 1.0);
        add(Metric::SettledCpu, &synced["settled"], 1.0);
        add(Metric::Peak, &synced["peak"], 1e6);
        if !subject.watches {
            return Ok(());
        }
        let objects = self.all_of(&synced)?;
        add(Metric::Steady, &synced["steady"], objects * 1e3);
        add(Metric::Heap, &synced["heap"], objects * 1e3);

        if subject.reads() {
            let read = running.ask("reads", "reads")?;
            add(Metric::GetObject, &read["object"], 1.0);
            add(Metric::GetLabel, &read["label"], 1.0);
        }

        let burst = self.touched(&mut running, "updates", self.load.burst, 0)?;
        add(Metric::UpdateCpu, &burst["cpu"], count(self.load.burst) / 1e6);
        let paced = self.touched(&mut running, "updates", self.load.paced, self.load.rate)?;
        add(Metric::DelayMedian, &paced["p50"], 1.0);
        add(Metric::DelayLate, &paced["p99"], 1.0);

        running.ask("relist", "watching")?;
        self.server.ask("forget", "forgot")?;
        self.touch(1, 0)?;
        let relisted = running.wait_for("relist")?;
        add(Metric::RelistCpu, &relisted["cpu"], 1.0);
        Ok(())
    }

    /// Measures the heap of a subject in Rust in a separate run. Go counts allocations always.
    pub(super) fn measure_heap(&mut self, subject: &ClusterSubject, figures: &mut Measurements) -> Outcome {
        if subject.program == Language::Go || !subject.watches {
            return Ok(());
        }
        let (mut running, _) = self.started(self.programs.rust("cluster_heap")?, subject)?;
        let synced = running.ask("sync", "sync")?;
        let bytes = synced["heap"].as_f64().ok_or("missing heap size")?;
        figures.add(subject.name, Metric::Heap, bytes / self.all_of(&synced)? / 1e3);
        Ok(())
    }

    fn started(&self, mut command: Command, subject: &ClusterSubject) -> Outcome<(ChildProcess, Value)> {
        command
            .args(subject.arguments())
            .env("KUBECONFIG", &self.kubeconfig);
        ChildProcess::start(&mut command)
    }

    /// Returns the number of synced objects. Fails unless these are all.
    fn all_of(&self, synced: &Value) -> Outcome<f64> {
        if synced["objects"] == self.load.pods {
            Ok(count(self.load.pods))
        } else {
            Err(format!("{} of {} pods were synced", synced["objects"], self.load.pods).into())
        }
    }

    fn touched(&self, running: &mut ChildProcess, step: &str, pods: usize, rate: usize) -> Outcome<Value> {
        running.ask(&format!("{step} {pods}"), "watching")?;
        self.touch(pods, rate)?;
        running.wait_for(step)
    }

    fn touch(&self, pods: usize, rate: usize) -> Outcome {
        let mut toucher = self.programs.go("cluster")?;
        toucher.env("KUBECONFIG", &self.kubeconfig).args([
            "-wire=json".to_owned(),
            format!("-pods={}", self.load.pods),
            format!("-count={pods}"),
            format!("-rate={rate}"),
            "touch".to_owned(),
        ]);
        process::run(&mut toucher)
    }
}

impl fmt::Display for Pods<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kilobytes = |field: &str| self.0[field].as_f64().unwrap_or_default() / 1e3;
        write!(
            f,
            "{} pods of {:.1} KB JSON, {:.1} KB protobuf, {:.1} KB protobuf without managedFields; loaded in {:.0} s",
            self.0["pods"],
            kilobytes("json"),
            kilobytes("protobuf"),
            kilobytes("pruned"),
            self.0["seconds"].as_f64().unwrap_or_default(),
        )
    }
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}
