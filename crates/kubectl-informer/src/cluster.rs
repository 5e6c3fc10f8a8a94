//! The cluster, user and namespace of a command, selected by kubectl's flags.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use http::Uri;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use kube_informer::client::kubeconfig_error;

use crate::duration;
use crate::failure::{DEMO_HINT, Failure, Outcome, chain};

/// The flags that select the cluster, with the same meaning as in kubectl.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Cluster")]
#[group(skip)]
pub(crate) struct ClusterOptions {
    /// Path of the kubeconfig file, instead of $KUBECONFIG (which may list several files) or ~/.kube/config.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig to use.
    #[arg(long)]
    context: Option<String>,
    /// Cluster of the kubeconfig to use.
    #[arg(long)]
    cluster: Option<String>,
    /// User of the kubeconfig to use.
    #[arg(long)]
    user: Option<String>,
    /// Address of the API server.
    #[arg(long, short = 's', value_name = "URL")]
    server: Option<String>,
    /// Namespace, instead of the context's.
    #[arg(long, short)]
    namespace: Option<String>,
    /// Act as this user.
    #[arg(long = "as", value_name = "USER")]
    impersonate: Option<String>,
    /// Act as a member of this group; can be given several times.
    #[arg(long = "as-group", value_name = "GROUP", requires = "impersonate")]
    impersonate_groups: Vec<String>,
    /// Timeout for the connection and for discovery; 0 means no timeout.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    request_timeout: Option<Duration>,
    /// Do not check the server's certificate. This makes the connection insecure.
    #[arg(long)]
    insecure_skip_tls_verify: bool,
}

impl ClusterOptions {
    /// Returns a client for the cluster whose watches share one connection. Its default namespace is the
    /// selected one.
    pub(crate) async fn client(&self) -> Outcome<Client> {
        Ok(kube_informer::client::watching_client(self.config().await?)?)
    }

    /// Waits for a response within the request timeout.
    pub(crate) async fn in_time<T>(&self, answer: impl Future<Output = Outcome<T>>) -> Outcome<T> {
        match self.request_timeout.filter(|timeout| !timeout.is_zero()) {
            None => answer.await,
            Some(timeout) => tokio::time::timeout(timeout, answer).await.unwrap_or_else(|_| {
                Err(
                    Failure::new(format!("the server did not respond within {timeout:?}"))
                        .with_hint("increase --request-timeout, or check the server's health"),
                )
            }),
        }
    }

    async fn config(&self) -> Outcome<Config> {
        let mut config = self.base_config().await?;
        if let Some(server) = &self.server {
            config.cluster_url = address(server)?;
        }
        if let Some(namespace) = &self.namespace {
            config.default_namespace.clone_from(namespace);
        }
        if let Some(user) = &self.impersonate {
            config.auth_info.impersonate = Some(user.clone());
            config.auth_info.impersonate_groups = Some(self.impersonate_groups.clone());
        }
        if let Some(timeout) = self.request_timeout {
            config.connect_timeout = Some(timeout).filter(|timeout| !timeout.is_zero());
        }
        config.accept_invalid_certs |= self.insecure_skip_tls_verify;
        Ok(config)
    }

    /// Returns the configuration of the kubeconfig, or else of the pod that this runs in.
    async fn base_config(&self) -> Outcome<Config> {
        let kubeconfig = match &self.kubeconfig {
            Some(path) => Kubeconfig::read_from(path).map_err(unreadable)?,
            None => match Kubeconfig::read() {
                Ok(kubeconfig) => kubeconfig,
                Err(error) if self.selects_entry() => return Err(unreadable(error)),
                Err(error) => return self.without_kubeconfig(error),
            },
        };
        let options = KubeConfigOptions {
            context: self.context.clone(),
            cluster: self.cluster.clone(),
            user: self.user.clone(),
        };
        // kube continues without credentials if the user does not exist.
        if let Some(user) = &self.user
            && !kubeconfig.auth_infos.iter().any(|named| named.name == *user)
        {
            let users = listed(kubeconfig.auth_infos.iter().map(|named| &*named.name));
            return Err(Failure::new(format!(
                "unknown user {user:?} in the kubeconfig: expected one of {users}"
            )));
        }
        let known = kubeconfig.clone();
        match Config::from_custom_kubeconfig(kubeconfig, &options).await {
            Ok(config) => Ok(config),
            Err(KubeconfigError::CurrentContextNotSet) if self.server.is_some() => self.server_only(),
            Err(error) => Err(unusable(error, &known)),
        }
    }

    /// Returns whether a flag selects an entry of the kubeconfig by name.
    fn selects_entry(&self) -> bool {
        self.context.is_some() || self.cluster.is_some() || self.user.is_some()
    }

    fn without_kubeconfig(&self, error: KubeconfigError) -> Outcome<Config> {
        if self.server.is_some() {
            return self.server_only();
        }
        Config::incluster().map_err(|_| unreadable(error))
    }

    /// Returns a configuration with only the server's address.
    fn server_only(&self) -> Outcome<Config> {
        Ok(Config::new(address(self.server.as_deref().unwrap_or_default())?))
    }
}

fn address(server: &str) -> Outcome<Uri> {
    // Like kubectl, use http for a host without a scheme.
    let written = if server.contains("://") {
        server.to_owned()
    } else {
        format!("http://{server}")
    };
    written
        .parse()
        .map_err(|error| Failure::usage(format!("invalid --server {server:?}: {error}")))
}

fn unreadable(error: KubeconfigError) -> Failure {
    let error = kubeconfig_error(error);
    Failure::new(format!("no cluster is configured: {}", chain(&error))).with_hint(format!(
        "set a kubeconfig with --kubeconfig or KUBECONFIG, or a server with --server{DEMO_HINT}"
    ))
}

fn unusable(error: KubeconfigError, kubeconfig: &Kubeconfig) -> Failure {
    let contexts = || listed(kubeconfig.contexts.iter().map(|named| &*named.name));
    match error {
        KubeconfigError::LoadContext(name) => Failure::new(format!(
            "unknown context {name:?} in the kubeconfig: expected one of {}",
            contexts()
        ))
        .with_hint("choose one with --context"),
        KubeconfigError::CurrentContextNotSet => Failure::new(format!(
            "the kubeconfig has no current context: expected one of {}",
            contexts()
        ))
        .with_hint("choose one with --context"),
        KubeconfigError::LoadClusterOfContext(name) => {
            let clusters = listed(kubeconfig.clusters.iter().map(|named| &*named.name));
            Failure::new(format!(
                "unknown cluster {name:?} in the kubeconfig: expected one of {clusters}"
            ))
        }
        error => kubeconfig_error(error).into(),
    }
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.as_slice() {
        [] => "none".to_owned(),
        names => names.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::Parser;

    use super::ClusterOptions;

    #[derive(Parser)]
    struct TestCommand {
        #[command(flatten)]
        cluster: ClusterOptions,
    }

    fn options(words: &[&str]) -> ClusterOptions {
        TestCommand::try_parse_from([&["test"], words].concat())
            .expect("flags")
            .cluster
    }

    #[tokio::test]
    async fn flags_change_the_configuration() {
        let words = [
            "--kubeconfig",
            concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/kubeconfig.yaml"),
            "--context=other",
            "--server=https://127.0.0.1:7",
            "-nshop",
            "--as=jane",
            "--as-group=team",
            "--as-group=guests",
            "--request-timeout=7s",
            "--insecure-skip-tls-verify",
        ];
        let config = options(&words).config().await.expect("a configuration");
        assert_eq!(config.cluster_url.to_string(), "https://127.0.0.1:7/");
        assert_eq!(config.default_namespace, "shop");
        assert_eq!(config.auth_info.username.as_deref(), Some("guest"));
        assert_eq!(config.auth_info.impersonate.as_deref(), Some("jane"));
        let groups = config.auth_info.impersonate_groups;
        assert_eq!(groups, Some(vec!["team".to_owned(), "guests".to_owned()]));
        assert_eq!(config.connect_timeout, Some(Duration::from_secs(7)));
        assert!(config.accept_invalid_certs);
    }

    #[tokio::test]
    async fn without_flags_the_kubeconfig_applies() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/kubeconfig.yaml");
        let config = options(&["--kubeconfig", path]).config().await;
        let config = config.expect("a configuration");
        assert_eq!(config.cluster_url.to_string(), "https://127.0.0.1:6/");
        assert_eq!(config.default_namespace, "kitchen");
        assert_eq!(config.auth_info.impersonate, None);
        assert!(!config.accept_invalid_certs);
    }
}
