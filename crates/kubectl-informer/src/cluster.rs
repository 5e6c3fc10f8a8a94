//! Which cluster, and in which namespace: kubectl's own flags.

use std::path::PathBuf;

use clap::Args;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// The flags by which every command finds its cluster. They mean what they mean to kubectl.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Which cluster")]
#[group(skip)]
pub(crate) struct Options {
    /// Kubeconfig to read, instead of $KUBECONFIG or ~/.kube/config.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig to use.
    #[arg(long)]
    context: Option<String>,
    /// Namespace to look at, instead of the context's.
    #[arg(long, short)]
    namespace: Option<String>,
}

impl Options {
    /// A client for the cluster, whose watches share one connection. Its default namespace is the one to look at.
    pub(crate) async fn client(&self) -> Result<Client, Box<dyn std::error::Error>> {
        let kubeconfig = match &self.kubeconfig {
            Some(path) => Kubeconfig::read_from(path)?,
            None => Kubeconfig::read()?,
        };
        let options = KubeConfigOptions {
            context: self.context.clone(),
            ..KubeConfigOptions::default()
        };
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
        if let Some(namespace) = &self.namespace {
            config.default_namespace.clone_from(namespace);
        }
        Ok(kube_informer::watching_client(config)?)
    }
}
