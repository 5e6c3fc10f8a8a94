//! Errors without a server, or with the wrong one.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube_embedded::Server;
use kube_informer::{
    Error,
    client::watching_client,
    source::{ApiListWatch, ListRequest, ListWatch},
};
use tokio::net::TcpListener;

use crate::requests::soon;
use crate::small_server::{Identity, SmallServer};

/// Returns the error of a list with this configuration, and its text.
async fn failure(config: Config) -> (Error, String) {
    let client = watching_client(config).expect("a client");
    let maps = ApiListWatch::<ConfigMap>::new(client, &(), None);
    let listed = soon("a failure", maps.list(ListRequest::default())).await;
    let error = listed.err().expect("no list without a server");
    let words = format!("{error:?}");
    (error, words)
}

#[tokio::test]
async fn a_refused_connection_is_reported_with_the_address() {
    let server = Server::start().await.expect("a server");
    let config = server.client_config();
    let address = server.url();
    server.stop().await;
    let (error, words) = failure(config).await;
    assert!(error.is_connection());
    assert!(words.contains("cannot reach the server"), "{words}");
    assert!(words.contains(&format!("cannot connect to {address}")), "{words}");
    assert!(words.contains("refused"), "{words}");
    assert_eq!(words.matches(&address).count(), 1, "{words}");
}

#[tokio::test]
async fn an_unknown_host_name_is_reported() {
    let config = Config::new("https://no-such-server.invalid:6443".parse().expect("a URL"));
    let (error, words) = failure(config).await;
    assert!(error.is_connection());
    assert!(
        words.contains("cannot connect to https://no-such-server.invalid:6443"),
        "{words}"
    );
}

#[tokio::test]
async fn a_certificate_of_an_unknown_authority_is_reported() {
    let (server, other) = (Server::start().await, Server::start().await);
    let (server, other) = (server.expect("a server"), other.expect("another"));
    let mut config = server.client_config();
    config.root_cert = other.client_config().root_cert;
    // A certificate with the same name, as after a cluster was rebuilt, and one with another name.
    let elsewhere = SmallServer::tls(&Identity::loopback()).await.config();
    for authority in [config.root_cert.clone(), elsewhere.root_cert] {
        config.root_cert = authority;
        let (error, words) = failure(config.clone()).await;
        assert!(error.is_connection());
        assert!(
            words.contains("cannot reach the server: TLS handshake with"),
            "{words}"
        );
        assert!(
            words.contains("the certificate authority is not trusted"),
            "{words}"
        );
    }
    config.accept_invalid_certs = true;
    let client = watching_client(config).expect("a client");
    crate::requests::answer(&client, "/api/v1/pods").await;
}

/// Certificates are checked unless the kubeconfig explicitly disables that.
#[tokio::test]
async fn certificates_are_checked_unless_the_kubeconfig_disables_it() {
    let server = SmallServer::tls(&Identity::loopback()).await;
    let url = server.url();
    for (line, is_seen) in [
        ("", true),
        ("insecure-skip-tls-verify: false", true),
        ("insecure-skip-tls-verify: true", false),
    ] {
        let text = format!(
            "clusters: [{{name: c, cluster: {{server: \"{url}\", {line}}}}}]\n\
             users: [{{name: u, user: {{}}}}]\n\
             contexts: [{{name: x, context: {{cluster: c, user: u}}}}]\n\
             current-context: x\n"
        );
        let kubeconfig = Kubeconfig::from_yaml(&text).expect("a kubeconfig");
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        let config = config.expect("a configuration");
        if is_seen {
            let (error, words) = failure(config).await;
            assert!(error.is_connection());
            assert!(
                words.contains("the certificate authority is not trusted"),
                "{line}: {words}"
            );
        } else {
            let client = watching_client(config).expect("a client");
            crate::requests::answer(&client, "/short").await;
        }
    }
}

#[tokio::test]
async fn a_certificate_for_another_name_is_reported_and_the_name_can_be_configured() {
    let server = SmallServer::tls(&Identity::new(&["api.example"], false)).await;
    let (_, words) = failure(server.config()).await;
    assert!(words.contains("set tls-server-name"), "{words}");
    let mut config = server.config();
    config.tls_server_name = Some("api.example".to_owned());
    let client = watching_client(config).expect("a client");
    crate::requests::answer(&client, "/short").await;
}

#[tokio::test]
async fn an_expired_certificate_is_reported() {
    let server = SmallServer::tls(&Identity::new(&["127.0.0.1"], true)).await;
    let (_, words) = failure(server.config()).await;
    assert!(words.contains("has expired"), "{words}");
}

#[tokio::test]
async fn a_server_without_tls_is_reported() {
    let server = SmallServer::plain().await;
    let (_, words) = failure(server.config_over_tls()).await;
    assert!(words.contains("does not speak TLS"), "{words}");
}

#[tokio::test]
async fn a_handshake_without_a_response_times_out() {
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = silent.local_addr().expect("an address");
    let mut config = Config::new(format!("https://{address}").parse().expect("a URL"));
    config.connect_timeout = Some(Duration::from_millis(20));
    let (error, words) = failure(config).await;
    assert!(error.is_connection());
    assert!(words.contains("within 20ms"), "{words}");
}

#[tokio::test]
async fn all_requests_that_wait_for_a_connection_get_its_failure() {
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = silent.local_addr().expect("an address");
    let mut config = Config::new(format!("https://{address}").parse().expect("a URL"));
    config.connect_timeout = Some(Duration::from_millis(20));
    let client = watching_client(config).expect("a client");
    let requests = (0..40).map(|_| client.send(crate::requests::get("/api/v1/pods")));
    let failed = soon("failures", futures::future::join_all(requests)).await;
    assert!(failed.iter().all(Result::is_err));
    // One attempt for all of them.
    assert!(silent.accept().await.is_ok());
    assert!(futures::FutureExt::now_or_never(silent.accept()).is_none());
}

#[tokio::test]
async fn an_invalid_address_is_reported() {
    let error = watching_client(Config::new(
        "ftp://someone:secret@example/".parse().expect("a URL"),
    ));
    let error = error.err().expect("no client for this");
    assert!(error.is_no_client());
    let words = format!("{error:?}");
    assert!(words.contains("must begin with https:// or http://"), "{words}");
    assert!(!words.contains("secret"), "{words}");
}
