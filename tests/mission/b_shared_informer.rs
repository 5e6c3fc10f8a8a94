//! B. The shared informer: handlers and their registrations, late join, resync, states, indexes, stop order.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube_informer::{Event, Selector, SharedInformer};
use mission::TestServer;

fn config_map(name: &str, value: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.into()),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("v".into(), value.into())])),
        ..ConfigMap::default()
    }
}

#[tokio::test]
async fn b1_a_handler_sees_add_update_delete() {
    let server = TestServer::start().await;
    let api: Api<ConfigMap> = Api::namespaced(server.client.clone(), &server.namespace);
    api.create(&PostParams::default(), &config_map("first", "1"))
        .await
        .unwrap();
    let informer = SharedInformer::<ConfigMap>::builder(server.client.clone())
        .namespace(&server.namespace)
        .build();
    let mut events = informer.events().unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(Duration::from_secs(30)).await.unwrap();
    api.create(&PostParams::default(), &config_map("second", "1"))
        .await
        .unwrap();
    let mut seen = Vec::new();
    while let Some(event) = events.next().await {
        let key = event.key().name().to_owned();
        match event {
            Event::Added { .. } => {
                seen.push(format!("+{key}"));
                if key == "second" {
                    api.patch(
                        "second",
                        &PatchParams::default(),
                        &Patch::Merge(config_map("second", "2")),
                    )
                    .await
                    .unwrap();
                }
            }
            Event::Updated { .. } => {
                seen.push(format!("~{key}"));
                api.delete("second", &DeleteParams::default()).await.unwrap();
            }
            Event::Deleted(_) => {
                seen.push(format!("-{key}"));
                break;
            }
            _ => {}
        }
    }
    println!("{seen:?} {:?}", informer.status());
    println!("{}", informer.lister().list(&Selector::everything()).len());
    informer.shutdown().await;
}
