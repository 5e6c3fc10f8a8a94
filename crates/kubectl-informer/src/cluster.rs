//! Which cluster, as whom, and in which namespace: kubectl's own flags.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use http::Uri;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use kube_informer::client::kubeconfig_error;

use crate::duration;
use crate::failure::{DEMO_HINT, Failure, Outcome, chain};

/// The flags by which every command finds its cluster. They mean what they mean to kubectl.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Which cluster")]
#[group(skip)]
pub(crate) struct Options {
    /// Kubeconfig to read, instead of $KUBECONFIG (which may name several) or ~/.kube/config.
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
    /// Namespace to look at, instead of the context's.
    #[arg(long, short)]
    namespace: Option<String>,
    /// Act as this user.
    #[arg(long = "as", value_name = "USER")]
    impersonate: Option<String>,
    /// Act as a member of this group; may be given several times.
    #[arg(long = "as-group", value_name = "GROUP", requires = "impersonate")]
    impersonate_groups: Vec<String>,
    /// How long to wait for a connection and for the server to tell what it serves; 0 waits for ever.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    request_timeout: Option<Duration>,
    /// Do not check the server's certificate. This makes the connection insecure.
    #[arg(long)]
    insecure_skip_tls_verify: bool,
}

impl Options {
    /// A client for the cluster, whose watches share one connection. Its default namespace is the one to look at.
    pub(crate) async fn client(&self) -> Outcome<Client> {
        Ok(kube_informer::client::watching_client(self.config().await?)?)
    }

    /// Waits for an answer no longer than it was asked for.
    pub(crate) async fn in_time<T>(&self, answer: impl Future<Output = Outcome<T>>) -> Outcome<T> {
        match self.request_timeout.filter(|timeout| !timeout.is_zero()) {
            None => answer.await,
            Some(timeout) => tokio::time::timeout(timeout, answer).await.unwrap_or_else(|_| {
                Err(
                    Failure::new(format!("no answer of the server within {timeout:?}"))
                        .advise("Give it more time with --request-timeout, or see whether it is well."),
                )
            }),
        }
    }

    async fn config(&self) -> Outcome<Config> {
        let mut config = self.found().await?;
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

    /// What the kubeconfig says, or else the pod that this runs in.
    async fn found(&self) -> Outcome<Config> {
        let kubeconfig = match &self.kubeconfig {
            Some(path) => Kubeconfig::read_from(path).map_err(unreadable)?,
            None => match Kubeconfig::read() {
                Ok(kubeconfig) => kubeconfig,
                Err(error) if self.names_a_part() => return Err(unreadable(error)),
                Err(error) => return self.without_kubeconfig(error),
            },
        };
        let options = KubeConfigOptions {
            context: self.context.clone(),
            cluster: self.cluster.clone(),
            user: self.user.clone(),
        };
        // kube goes on without credentials where there is none of that name.
        if let Some(user) = &self.user
            && !kubeconfig.auth_infos.iter().any(|named| named.name == *user)
        {
            let users = listed(kubeconfig.auth_infos.iter().map(|named| &*named.name));
            return Err(Failure::new(format!(
                "the kubeconfig has no user {user:?}; it has: {users}"
            )));
        }
        let known = kubeconfig.clone();
        match Config::from_custom_kubeconfig(kubeconfig, &options).await {
            Ok(config) => Ok(config),
            Err(KubeconfigError::CurrentContextNotSet) if self.server.is_some() => self.bare(),
            Err(error) => Err(unusable(error, &known)),
        }
    }

    /// Whether something of a kubeconfig is asked for by its name.
    fn names_a_part(&self) -> bool {
        self.context.is_some() || self.cluster.is_some() || self.user.is_some()
    }

    fn without_kubeconfig(&self, error: KubeconfigError) -> Outcome<Config> {
        if self.server.is_some() {
            return self.bare();
        }
        Config::incluster().map_err(|_| unreadable(error))
    }

    /// Nothing but the address.
    fn bare(&self) -> Outcome<Config> {
        Ok(Config::new(address(self.server.as_deref().unwrap_or_default())?))
    }
}

fn address(server: &str) -> Outcome<Uri> {
    // kubectl takes a bare host for http.
    let written = if server.contains("://") {
        server.to_owned()
    } else {
        format!("http://{server}")
    };
    written
        .parse()
        .map_err(|error| Failure::usage(format!("--server {server:?} is no address: {error}")))
}

fn unreadable(error: KubeconfigError) -> Failure {
    let error = kubeconfig_error(error);
    Failure::new(format!("no cluster is configured: {}", chain(&error))).advise(format!(
        "Name a kubeconfig with --kubeconfig or KUBECONFIG, or a server with --server.{DEMO_HINT}"
    ))
}

fn unusable(error: KubeconfigError, kubeconfig: &Kubeconfig) -> Failure {
    let contexts = || listed(kubeconfig.contexts.iter().map(|named| &*named.name));
    match error {
        KubeconfigError::LoadContext(name) => Failure::new(format!(
            "the kubeconfig has no context {name:?}; it has: {}",
            contexts()
        ))
        .advise("Choose one with --context."),
        KubeconfigError::CurrentContextNotSet => Failure::new(format!(
            "the kubeconfig has no current context; it has: {}",
            contexts()
        ))
        .advise("Choose one with --context."),
        KubeconfigError::LoadClusterOfContext(name) => {
            let clusters = listed(kubeconfig.clusters.iter().map(|named| &*named.name));
            Failure::new(format!(
                "the kubeconfig has no cluster {name:?}; it has: {clusters}"
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

    use super::Options;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        cluster: Options,
    }

    fn options(words: &[&str]) -> Options {
        Line::try_parse_from([&["test"], words].concat())
            .expect("flags")
            .cluster
    }

    #[tokio::test]
    async fn flags_go_into_the_configuration() {
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
    async fn without_flags_it_is_what_the_kubeconfig_says() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/kubeconfig.yaml");
        let config = options(&["--kubeconfig", path]).config().await;
        let config = config.expect("a configuration");
        assert_eq!(config.cluster_url.to_string(), "https://127.0.0.1:6/");
        assert_eq!(config.default_namespace, "kitchen");
        assert_eq!(config.auth_info.impersonate, None);
        assert!(!config.accept_invalid_certs);
    }
}
