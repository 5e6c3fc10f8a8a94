//! Credentials are sent to the server and not disclosed elsewhere.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use kube::Config;
use kube::config::ExecConfig;
use kube_informer::client::watching_client;

use crate::requests::{answer, get, soon};
use crate::small_server::SmallServer;

const SECRET: &str = "hush-hush-hush";

/// A temporary file.
struct TempFile(PathBuf);

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn program(script: &str) -> ExecConfig {
    ExecConfig {
        api_version: Some("client.authentication.k8s.io/v1".to_owned()),
        command: Some("sh".to_owned()),
        args: Some(vec!["-c".to_owned(), script.to_owned()]),
        env: Some(vec![HashMap::from([
            ("name".to_owned(), "SECRET_OF_THE_PROGRAM".to_owned()),
            ("value".to_owned(), SECRET.to_owned()),
        ])]),
        interactive_mode: Some(kube::config::ExecInteractiveMode::Never),
        ..ExecConfig::default()
    }
}

async fn sent(change: impl FnOnce(&mut Config)) -> Vec<String> {
    let server = SmallServer::plain().await;
    let mut config = server.config();
    change(&mut config);
    let client = watching_client(config).expect("a client");
    answer(&client, "/short").await;
    server.headers_of_last()
}

#[tokio::test]
async fn a_token_from_a_file_is_sent() {
    let path = std::env::temp_dir().join(format!("kube-informer-token-{}", std::process::id()));
    let file = TempFile(path);
    fs::write(&file.0, SECRET).expect("a file");
    let headers = sent(|config| {
        config.auth_info.token_file = file.0.to_str().map(str::to_owned);
    })
    .await;
    assert!(
        headers.contains(&format!("authorization: Bearer {SECRET}")),
        "{headers:?}"
    );
}

#[tokio::test]
async fn a_token_from_a_program_is_sent() {
    let answer = r#"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",
        "status":{"token":"$SECRET_OF_THE_PROGRAM"}}"#
        .replace('"', "\\\"");
    let headers = sent(|config| config.auth_info.exec = Some(program(&format!("echo \"{answer}\"")))).await;
    assert!(
        headers.contains(&format!("authorization: Bearer {SECRET}")),
        "{headers:?}"
    );
}

#[tokio::test]
async fn impersonation_and_headers_of_the_configuration_are_sent() {
    let headers = sent(|config| {
        config.auth_info.impersonate = Some("jane".to_owned());
        let name = http::HeaderName::from_static("x-team");
        config
            .headers
            .push((name, http::HeaderValue::from_static("blue")));
    })
    .await;
    assert!(
        headers.contains(&"impersonate-user: jane".to_owned()),
        "{headers:?}"
    );
    assert!(headers.contains(&"x-team: blue".to_owned()), "{headers:?}");
}

#[tokio::test]
async fn a_failing_credential_program_is_reported_without_its_secrets() {
    let server = SmallServer::plain().await;
    let mut config = server.config();
    let script = "echo $SECRET_OF_THE_PROGRAM; echo please log in again >&2; exit 3";
    config.auth_info.exec = Some(program(script));
    let error = watching_client(config)
        .err()
        .expect("no client without credentials");
    let words = format!("{error} {error:?}");
    assert!(words.contains("please log in again"), "{words}");
    assert!(words.contains(&server.url()), "{words}");
    assert!(!words.contains(SECRET), "{words}");
}

#[tokio::test]
async fn a_later_failure_of_a_credential_program_is_reported_without_its_secrets() {
    let server = SmallServer::plain().await;
    let path = std::env::temp_dir().join(format!("kube-informer-once-{}", std::process::id()));
    let once = TempFile(path);
    fs::write(&once.0, "").expect("a file");
    // The first token has expired, so each request asks for a new one.
    let token = r#"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",
        "status":{"token":"old","expirationTimestamp":"2020-01-01T00:00:00Z"}}"#
        .replace('"', "\\\"");
    let file = once.0.display();
    let script = format!(
        "if [ -e {file} ]; then echo \"{token}\"; else echo $SECRET_OF_THE_PROGRAM; echo log in >&2; exit 3; fi"
    );
    let mut config = server.config();
    config.auth_info.exec = Some(program(&script));
    let client = watching_client(config).expect("a client");
    drop(once);
    let error = soon("a failure", client.send(get("/short"))).await;
    let error = error.expect_err("no request without a token");
    let words = format!("{error} {error:?}");
    assert!(words.contains("log in"), "{words}");
    assert!(!words.contains(SECRET), "{words}");
}

#[tokio::test]
async fn an_unusable_proxy_is_reported_without_its_password() {
    let mut config = Config::new("https://example:6443".parse().expect("a URL"));
    config.proxy_url = Some(format!("ftp://me:{SECRET}@proxy:3128").parse().expect("a URL"));
    let error = watching_client(config).err().expect("no client with this proxy");
    let words = format!("{error} {error:?}");
    assert!(words.contains("unknown proxy protocol: "), "{words}");
    assert!(!words.contains(SECRET), "{words}");
}

/// For example a token that was read from a file with its final line break.
#[tokio::test]
async fn an_invalid_token_is_reported_without_a_panic() {
    let mut config = Config::new("https://example:6443".parse().expect("a URL"));
    config.auth_info.token = Some(format!("{SECRET}\n").into());
    let error = watching_client(config).err().expect("no client with this token");
    let words = format!("{error} {error:?}");
    assert!(words.contains("hint: does it contain a line break?"), "{words}");
    assert!(!words.contains(SECRET), "{words}");
}
