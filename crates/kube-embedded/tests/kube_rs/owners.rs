//! Garbage collection of objects whose owners are missing.

use std::pin::pin;

use futures::TryStreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use kube::api::{Api, ListParams, ObjectMeta, PostParams, WatchEvent, WatchParams};
use kube_embedded::Server;

use crate::clients::config_map;

fn owner(api_version: &str, kind: &str, name: &str, uid: &str) -> OwnerReference {
    OwnerReference {
        api_version: api_version.into(),
        kind: kind.into(),
        name: name.into(),
        uid: uid.into(),
        ..OwnerReference::default()
    }
}

/// Tasks are performed in the order of writes, so when the last object is deleted, the others have been processed.
#[tokio::test]
async fn objects_are_deleted_unless_an_owner_exists_or_has_an_unknown_kind() -> Result<(), kube::Error> {
    let server = Server::start().await.expect("a server");
    let client = server.direct_client();
    let home = Namespace {
        metadata: ObjectMeta {
            name: Some("elsewhere".into()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    };
    Api::<Namespace>::all(client.clone())
        .create(&PostParams::default(), &home)
        .await?;
    let there: Api<ConfigMap> = Api::namespaced(client.clone(), "elsewhere");
    let there = there
        .create(&PostParams::default(), &config_map("owner", ""))
        .await?;
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let here = api
        .create(&PostParams::default(), &config_map("owner", ""))
        .await?;
    let (here, there) = (here.uid().unwrap_or_default(), there.uid().unwrap_or_default());
    let from = api.list(&ListParams::default()).await?.metadata.resource_version;

    let owned = [
        ("of-one-here", owner("v1", "ConfigMap", "owner", &here)),
        (
            "of-an-unknown-kind",
            owner("foo.example.org/v1", "Foo", "foo", "1"),
        ),
        ("of-one-elsewhere", owner("v1", "ConfigMap", "owner", &there)),
        (
            "of-one-with-another-name",
            owner("v1", "ConfigMap", "other", &here),
        ),
        ("of-a-missing-owner", owner("v1", "ConfigMap", "missing", "2")),
    ];
    for (name, owner) in owned {
        let mut map = config_map(name, "");
        map.metadata.owner_references = Some(vec![owner]);
        api.create(&PostParams::default(), &map).await?;
    }
    let mut events = pin!(
        api.watch(&WatchParams::default(), &from.unwrap_or_default())
            .await?
    );
    while let Some(event) = events.try_next().await? {
        if let WatchEvent::Deleted(map) = event
            && map.name_any() == "of-a-missing-owner"
        {
            break;
        }
    }
    let left = api.list(&ListParams::default()).await?;
    let mut left: Vec<_> = left.iter().map(ResourceExt::name_any).collect();
    left.retain(|name| name.starts_with("of-"));
    assert_eq!(left, ["of-an-unknown-kind", "of-one-here"]);
    Ok(())
}
