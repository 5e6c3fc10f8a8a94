//! The server that the specs run on, as a separate process.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::{Outcome, process, real_server};

/// A server that ends when this is dropped.
pub(super) struct Server {
    process: Child,
    output: BufReader<ChildStdout>,
    kubeconfig: PathBuf,
    real: bool,
}

impl Server {
    /// Builds and starts the server, and waits until it is ready.
    pub(super) fn start(root: &Path, folder: &Path, real: bool) -> Outcome<Self> {
        if real {
            Self::start_real(root)
        } else {
            Self::start_embedded(root, folder)
        }
    }

    fn start_embedded(root: &Path, folder: &Path) -> Outcome<Self> {
        let program = build(root, "kube-embedded", &["--features", "cli"], "kube-embedded")?;
        let kubeconfig = folder.join("kubeconfig");
        let mut command = Command::new(program);
        command.arg("--write-kubeconfig").arg(&kubeconfig);
        let mut server = Self::spawn(&mut command, false)?;
        while !server.line()?.starts_with("kubeconfig written") {}
        server.kubeconfig = kubeconfig;
        Ok(server)
    }

    fn start_real(root: &Path) -> Outcome<Self> {
        let assets = real_server::prepare()?;
        let program = build(root, "conformance", &[], "real-api-server")?;
        let mut command = Command::new(program);
        command.env(real_server::ASSETS, assets);
        let mut server = Self::spawn(&mut command, true)?;
        server.kubeconfig = server.line()?.into();
        Ok(server)
    }

    fn spawn(command: &mut Command, real: bool) -> Outcome<Self> {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let output = process.stdout.take().ok_or("no output of the server")?;
        Ok(Self {
            process,
            output: BufReader::new(output),
            kubeconfig: PathBuf::new(),
            real,
        })
    }

    fn line(&mut self) -> Outcome<String> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            return Err("the server ended before it was ready".into());
        }
        Ok(line.trim_end().to_owned())
    }

    pub(super) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The real server ends with standard input, which waiting closes, and then deletes its files.
        if !self.real {
            let _ = self.process.kill();
        }
        let _ = self.process.wait();
    }
}

fn build(root: &Path, package: &str, args: &[&str], name: &str) -> Outcome<PathBuf> {
    let mut cargo = process::cargo(root);
    cargo
        .args(["build", "--quiet", "--package", package, "--bin", name])
        .args(args);
    let program = process::built_programs(&mut cargo)?.remove(name);
    program.ok_or_else(|| format!("cargo did not build {name}").into())
}
