//! Objects of another namespace than the requested one.

use k8s_openapi::api::core::v1::ConfigMap;
use kube_embedded::{Fault, On, Server};
use kube_informer::SharedInformer;
use serde_json::json;

use crate::recording::LONG;
use crate::scripted;

/// A proxy that confuses two namespaces does not make the cache inconsistent.
#[tokio::test(start_paused = true)]
async fn objects_of_another_namespace_are_not_compared() {
    let server = Server::builder().without_port().start().await.unwrap();
    let map = |name: &str, namespace: &str| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": name, "namespace": namespace },
        })
    };
    server
        .load([map("a", "default"), map("b", "kube-system")])
        .unwrap();
    let informer = SharedInformer::<ConfigMap>::builder(server.direct_client())
        .namespace("default")
        .build();
    informer.start().unwrap();
    informer.wait_for_sync(LONG).await.unwrap();

    let other = Fault::OtherNamespace("kube-system".into());
    let rule = server.faults().add(On::list("configmaps"), other);
    let error = informer.check_consistency().await.unwrap_err();
    assert!(error.is_not_checked(), "{error}");
    let text = format!("{error:#}");
    assert!(
        text.contains("unexpected object kube-system/b: expected namespace \"default\""),
        "{text}"
    );
    rule.end();
    let found = informer.check_consistency().await.unwrap();
    assert!(found.is_consistent(), "{found}");
    assert_eq!(informer.status().inconsistencies, 0);
    informer.shutdown().await;
}

/// A custom source is not limited to a namespace, so all of its objects are accepted.
#[tokio::test(start_paused = true)]
async fn a_custom_source_chooses_its_namespaces() {
    for namespaces in [&["a"][..], &["a", "b"]] {
        let server = scripted::Server::with(&["a/n", "b/n"]);
        let builder = server.builder().namespaces(namespaces.iter().copied());
        let informer = builder.build();
        informer.start().unwrap();
        informer.wait_for_sync(LONG).await.unwrap();
        assert_eq!(informer.lister().len(), 2);
        let found = informer.check_consistency().await.unwrap();
        assert!(found.is_consistent(), "{found}");
        informer.shutdown().await;
    }
}
