//! The embedded API server as a program, for tests in any language.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser, ValueEnum};
use kube_embedded::{Authorization, KubeconfigFile, Server};

/// Kubernetes API server in one small process, for tests and demos. It keeps everything in memory and serves
/// until Ctrl-C or SIGTERM.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Options {
    /// Write a kubeconfig to this file when the server is ready, and delete it when the server stops. Files
    /// that this program did not write are not overwritten.
    #[arg(long, value_name = "FILE")]
    write_kubeconfig: Option<PathBuf>,
    // Other programs read a kubeconfig with this flag; earlier versions of this program wrote one.
    #[arg(long, hide = true)]
    kubeconfig: Option<PathBuf>,
    /// Loopback port for HTTP and HTTPS; 0 chooses a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Manifests to load before serving (YAML or JSON, several documents allowed)
    #[arg(long, value_name = "FILE", num_args = 1..)]
    load: Vec<PathBuf>,
    /// Number of changes that each resource keeps for watches
    #[arg(long, default_value_t = 10_000, value_name = "CHANGES")]
    history: usize,
    /// Allow all requests, or only those that roles allow. The kubeconfig is an administrator's.
    #[arg(long, default_value = "AlwaysAllow", value_name = "MODE")]
    authorization_mode: AuthorizationMode,
}

/// The names that kube-apiserver uses.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum AuthorizationMode {
    #[value(name = "AlwaysAllow")]
    AlwaysAllow,
    #[value(name = "RBAC")]
    Rbac,
}

impl From<AuthorizationMode> for Authorization {
    fn from(mode: AuthorizationMode) -> Authorization {
        match mode {
            AuthorizationMode::AlwaysAllow => Authorization::AlwaysAllow,
            AuthorizationMode::Rbac => Authorization::Rbac,
        }
    }
}

#[tokio::main(flavor = "multi_thread")]
async fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .with_writer(std::io::stderr)
        .init();
    let options = Options::parse();
    if options.kubeconfig.is_some() {
        let text = "--kubeconfig is not supported: this program reads no kubeconfig\n\
                    hint: use --write-kubeconfig FILE to write one";
        Options::command().error(ErrorKind::UnknownArgument, text).exit();
    }
    match run(options).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&*error);
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options) -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::builder()
        .port(options.port)
        .history(options.history)
        .authorization(options.authorization_mode.into())
        .start()
        .await?;
    for file in &options.load {
        let loaded = server.load_file(file)?;
        println!("loaded {loaded} objects from {}", file.display());
    }
    println!(
        "serving Kubernetes {} on {} and {}",
        kube_embedded::KUBERNETES_VERSION,
        server.url(),
        server.http_url()
    );
    // Installed before the kubeconfig is announced, so that a signal never leaves the file behind.
    let stop = stop_signal()?;
    let kubeconfig = match &options.write_kubeconfig {
        Some(path) => Some(server.write_kubeconfig(path)?),
        None => None,
    };
    if let Some(file) = &kubeconfig {
        println!(
            "kubeconfig written: KUBECONFIG={} kubectl get namespaces",
            file.path().display()
        );
    }
    let stopped = stop.await;
    // A changed file is kept. The program reports that, but still succeeds.
    if let Some(Err(error)) = kubeconfig.map(KubeconfigFile::remove) {
        report(&error);
    }
    server.stop().await;
    Ok(stopped?)
}

/// Waits for Ctrl-C or SIGTERM. The handlers are installed by the call, not by the first poll.
fn stop_signal() -> std::io::Result<impl Future<Output = std::io::Result<()>>> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        Ok(async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            Ok(())
        })
    }
    #[cfg(not(unix))]
    Ok(tokio::signal::ctrl_c())
}

/// Prints an error and its hint.
fn report(error: &(dyn std::error::Error + 'static)) {
    eprintln!("kube-embedded: {}", chain(error));
    let known = error.downcast_ref::<kube_embedded::Error>();
    if let Some(hint) = known.and_then(kube_embedded::Error::hint) {
        eprintln!("hint: {hint}");
    }
}

/// Joins an error and its causes on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
