//! Two API servers on one etcd, one of them behind: an informer that is led to it does not go back in time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use conformance::chaos::Weather;
use contract_checker::{Collection, Findings};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, PostParams, VersionMatch};
use kube_informer::{Backoff, Error, ResourceVersion, SharedInformer, client::watching_client};
use tokio::time::sleep;

use crate::ALONE;
use crate::cluster::{Cluster, Outcome, PATIENCE};
use crate::handlers::{CheckedHandler, Checks, entry_of};
use crate::sorts::NAMESPACES;

/// How often the informer goes there and back.
const TURNS: usize = 3;
/// How many objects are written each time; most are there already.
const WRITES: usize = 10;
/// How often its connection breaks while it is with the server that is behind: often enough that it begins anew.
const CUTS: u32 = 10;
/// How long each connection lasts: enough for an answer.
const LASTS: Duration = Duration::from_millis(300);

/// Retries after 50 ms, so that the informer sends many requests to the lagging server.
const SHORT_BACKOFF: Backoff = Backoff {
    initial: Duration::from_millis(50),
    factor: 1.0,
    cap: Duration::from_millis(50),
    jitter: 0.0,
    reset: Duration::from_mins(2),
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a real server: cargo xtask chaos"]
async fn informer_does_not_go_back_on_a_lagging_server() -> Outcome {
    let _alone = ALONE.lock().await;
    let cluster = Cluster::start().await?;
    for streaming in [true, false] {
        move_between(&cluster, streaming).await?;
    }
    Ok(())
}

async fn move_between(cluster: &Cluster, streaming: bool) -> Outcome {
    cluster.lead_to(false);
    let maps = cluster
        .clients
        .clone()
        .map(|client| Api::namespaced(client, NAMESPACES[0]));
    let [first, second]: &[Api<ConfigMap>; 2] = &maps;
    let checks = Checks::new();
    let complaints = Arc::new(AtomicUsize::new(0));
    let informer = informer(cluster, streaming, &checks.findings, &complaints).await?;
    let handler = CheckedHandler::new("the handler".into(), false, &checks);
    let (receiver, lister) = (Arc::clone(&handler), informer.lister());
    informer.add_handler(move |event| receiver.receive(&event, &lister))?;
    informer.start()?;

    for turn in 0..TURNS {
        cluster.etcd_proxy.set(Weather::Silent);
        let written = write(first, turn).await?;
        informer.wait_for_write(&written, PATIENCE).await?;
        let seen = informer.resource_version().ok_or("a version after a write")?;
        let behind = remembered(second).await?;
        assert!(
            behind.is_before(&seen),
            "the second server is at {behind}, the informer at {seen}"
        );

        cluster.lead_to(true);
        for _ in 0..CUTS {
            sleep(LASTS).await;
            let now = informer.resource_version().ok_or("a version after a write")?;
            assert!(
                !now.is_before(&seen),
                "the informer went back from {seen} to {now}"
            );
            cluster.proxy.cut();
        }
        let still_behind = remembered(second).await?;
        assert!(
            still_behind.is_before(&seen),
            "the second server heard of {still_behind}"
        );

        cluster.etcd_proxy.set(Weather::Fair);
        let written = write(second, turn).await?;
        informer.wait_for_write(&written, PATIENCE).await?;
        cluster.lead_to(false);
    }

    let last = write(first, TURNS).await?;
    informer.wait_for_write(&last, PATIENCE).await?;
    let wanted = listed(first).await?;
    handler.agrees(&wanted, PATIENCE).await;
    informer.shutdown().await;
    checks.findings.assert_none();
    println!(
        "two servers, streaming {streaming}: {} events, {} complaints",
        checks.events(),
        complaints.load(Ordering::Relaxed)
    );
    Ok(())
}

async fn informer(
    cluster: &Cluster,
    streaming: bool,
    findings: &Arc<Findings>,
    complaints: &Arc<AtomicUsize>,
) -> Outcome<SharedInformer<ConfigMap>> {
    let config = cluster.server.guest_config(cluster.proxy.address()).await?;
    let (findings, complaints) = (Arc::clone(findings), Arc::clone(complaints));
    let complain = move |error: &Error| {
        complaints.fetch_add(1, Ordering::Relaxed);
        if error.is_going_back() {
            findings.add(2, "the informer", error);
        }
    };
    Ok(SharedInformer::builder(watching_client(config)?)
        .namespace(NAMESPACES[0])
        .streaming_list(streaming)
        .backoff(SHORT_BACKOFF)
        .watch_error_handler(complain)
        .build())
}

/// Writes some objects, deletes others, and gives the last that was written.
async fn write(maps: &Api<ConfigMap>, turn: usize) -> Result<ConfigMap, kube::Error> {
    let named = |name: String| ConfigMap {
        metadata: ObjectMeta {
            name: Some(name),
            annotations: Some([("turn".into(), fastrand::u64(..).to_string())].into()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    };
    for number in 0..WRITES {
        let name = format!("object-{number}");
        if number % TURNS == turn % TURNS {
            ignore_absent(maps.delete(&name, &DeleteParams::default()).await)?;
        } else {
            let map = named(name.clone());
            match maps.replace(&name, &PostParams::default(), &map).await {
                Err(kube::Error::Api(status)) if status.code == 404 => {
                    maps.create(&PostParams::default(), &map).await?;
                }
                other => drop(other?),
            }
        }
    }
    maps.create(
        &PostParams::default(),
        &named(format!("last-{}", fastrand::u64(..))),
    )
    .await
}

fn ignore_absent<T>(deleted: Result<T, kube::Error>) -> Result<(), kube::Error> {
    match deleted {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        other => other.map(drop),
    }
}

/// The version that an API server has in its memory.
async fn remembered(maps: &Api<ConfigMap>) -> Outcome<ResourceVersion> {
    let any = ListParams::default().at("0").matching(VersionMatch::NotOlderThan);
    let list = maps.list_metadata(&any).await?;
    Ok(list
        .metadata
        .resource_version
        .ok_or("a list without a version")?
        .into())
}

async fn listed(maps: &Api<ConfigMap>) -> Result<Collection, kube::Error> {
    let list = maps.list_metadata(&ListParams::default()).await?;
    Ok(list
        .items
        .into_iter()
        .map(|item| entry_of(item.metadata))
        .collect())
}
