//! What becomes of objects whose owners are not there.

use std::pin::pin;

use futures::TryStreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use kube::api::{Api, ListParams, ObjectMeta, PostParams, WatchEvent, WatchParams};
use kube_embedded::Server;

use crate::ways::config_map;

fn owner(api_version: &str, kind: &str, name: &str, uid: &str) -> OwnerReference {
    OwnerReference {
        api_version: api_version.into(),
        kind: kind.into(),
        name: name.into(),
        uid: uid.into(),
        ..OwnerReference::default()
    }
}

/// Chores are done in the order of the writes, so when the last is gone, the others have been looked at.
#[tokio::test]
async fn an_object_goes_unless_its_owner_is_there_or_of_a_kind_that_nobody_knows() -> Result<(), kube::Error>
{
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
        ("of-nobody", owner("v1", "ConfigMap", "nobody", "2")),
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
            && map.name_any() == "of-nobody"
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
