//! Waiting for all caches, and the error for those that do not sync.

use std::time::Duration;

use conformance::TestServer;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, Config};
use kube_embedded::{Fault, On};
use kube_informer::SharedInformerFactory;

use super::{SHORTLY, factory, started, stopped};
use crate::config_maps::ConfigMaps;
use crate::informers::{PATIENCE, SHORT_BACKOFF};
use crate::tap::{Tap, answer};

fn of(client: Client) -> SharedInformerFactory {
    SharedInformerFactory::builder(client)
        .backoff(SHORT_BACKOFF)
        .build()
}

#[tokio::test]
async fn sync_error_names_each_kind_and_its_last_error() {
    let maps = ConfigMaps::named(["a"]).await;
    let (client, tap) = Tap::on(maps.server.client.clone());
    let forbidden =
        r#"{"kind":"Status","status":"Failure","code":403,"reason":"Forbidden","message":"no maps for you"}"#;
    tap.proxy(move |_, _| Some(answer(403, "application/json", forbidden)));
    let factory = SharedInformerFactory::builder(client)
        .namespace(&maps.server.namespace)
        .backoff(kube_informer::Backoff::default())
        .build();
    let _maps = factory.informer::<ConfigMap>();
    let secrets = factory.informer::<Secret>();
    let widgets = GroupVersionKind::gvk("none.example.com", "v1", "Widget");
    let _widgets = factory.dynamic(ApiResource::from_gvk(&widgets));
    factory.start();
    secrets.wait_for_sync(PATIENCE).await.expect("a sync");
    let error = factory
        .wait_for_sync(SHORTLY)
        .await
        .expect_err("two that cannot sync");
    assert!(error.is_timeout());
    let words = format!("{error:#}");
    assert!(
        words.starts_with("2 of 3 caches did not sync: configmaps in namespace"),
        "{words}"
    );
    assert!(
        words.contains("within 2s") && words.contains("403 Forbidden: no maps for you"),
        "{words}"
    );
    assert!(
        words.contains("widgets.none.example.com") && words.contains("404"),
        "{words}"
    );
    assert!(!words.contains("secrets"), "{words}");
    let [one, other] = error.errors() else {
        panic!("{words}");
    };
    assert!(one.is_forbidden() && other.is_not_found());
    stopped(&factory).await;
}

#[tokio::test]
async fn sync_error_names_a_server_that_refuses_connections() {
    let config = Config::new("https://127.0.0.1:1/".parse().expect("an address"));
    let factory = of(Client::try_from(config).expect("a client"));
    let _maps = factory.informer::<ConfigMap>();
    factory.start();
    let error = factory.wait_for_sync(SHORTLY).await.expect_err("no server");
    let words = format!("{error:#}");
    assert!(error.is_connection(), "{words}");
    assert!(
        words.contains("configmaps") && words.contains("refused"),
        "{words}"
    );
    stopped(&factory).await;
}

#[tokio::test]
async fn sync_error_names_an_untrusted_certificate() {
    let server = TestServer::start().await;
    let mut config = server.config().await;
    config.default_retry = false;
    config.root_cert = None;
    let factory = of(Client::try_from(config).expect("a client"));
    let _maps = factory.informer::<ConfigMap>();
    factory.start();
    let error = factory
        .wait_for_sync(SHORTLY)
        .await
        .expect_err("an unknown authority");
    let words = format!("{error:#}");
    assert!(error.is_connection(), "{words}");
    assert!(
        words.contains("configmaps") && words.contains("certificate"),
        "{words}"
    );
    stopped(&factory).await;
}

#[tokio::test]
async fn sync_error_reports_rejected_credentials_without_revealing_them() {
    let server = TestServer::start().await;
    // The embedded server does not authenticate, so a fault replaces it.
    if let Some(server) = server.embedded() {
        server.faults().add(On::any(), Fault::unauthorized());
    }
    let mut config = server.config().await;
    config.default_retry = false;
    config.auth_info.token = Some("not-the-secret-token".to_owned().into());
    let factory = of(Client::try_from(config).expect("a client"));
    let _maps = factory.informer::<ConfigMap>();
    factory.start();
    let error = factory.wait_for_sync(SHORTLY).await.expect_err("a stranger");
    let words = format!("{error} {error:?}");
    assert!(error.is_unauthorized() && words.contains("configmaps"), "{words}");
    assert!(!words.contains("not-the-secret-token"), "{words}");
    stopped(&factory).await;
}

#[tokio::test]
async fn wait_for_sync_ends_on_shutdown_and_requires_start() {
    let maps = ConfigMaps::named(["a"]).await;
    let empty = factory(&maps).build();
    empty.wait_for_sync(PATIENCE).await.expect("nothing to wait for");
    let (client, tap) = Tap::on(maps.server.client.clone());
    tap.proxy(|_, _| Some(answer(503, "text/plain", "later")));
    let factory = of(client);
    let _maps = factory.informer::<ConfigMap>();
    let error = factory
        .wait_for_sync(PATIENCE)
        .await
        .expect_err("nothing was started");
    assert!(error.to_string().contains("start()"), "{error}");
    factory.start();
    let waiting = tokio::spawn({
        let factory = factory.clone();
        async move { factory.synced().await }
    });
    tap.wait_for(2, PATIENCE).await;
    stopped(&factory).await;
    let error = waiting.await.expect("an end").expect_err("a stop");
    assert!(
        error.is_stopped() && error.to_string().contains("configmaps"),
        "{error}"
    );
}

#[tokio::test]
async fn readiness_can_be_awaited_and_probed() {
    let maps = ConfigMaps::named(["a", "b"]).await;
    let factory = factory(&maps).build();
    let readiness = factory.readiness();
    let _maps = factory.informer::<ConfigMap>();
    let response = readiness.response();
    assert_eq!(response.status(), 503);
    assert!(
        response.body().contains("[-] configmaps in namespace"),
        "{}",
        response.body()
    );
    assert!(response.body().ends_with("not ready: 1 of 1 caches\n"));
    factory.start();
    tokio::time::timeout(Duration::from_mins(1), readiness.ready())
        .await
        .expect("in time")
        .expect("ready");
    let response = readiness.response();
    assert!(readiness.is_ready());
    assert_eq!(response.status(), 200);
    assert!(
        response.body().contains(": 2 objects\nready\n"),
        "{}",
        response.body()
    );

    let _secrets = factory.informer::<Secret>();
    assert!(
        !readiness.is_ready(),
        "an informer that was not started is not synced"
    );
    started(&factory).await;
    assert!(readiness.is_ready());
    stopped(&factory).await;
    assert!(!readiness.is_ready());
    assert!(readiness.response().body().contains("stopped"));
}
