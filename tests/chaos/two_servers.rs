//! Two API servers on one etcd, one of which lags: an informer that is forwarded to it must not go back in
//! time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use conformance::chaos::NetworkCondition;
use contract_checker::{Collection, Findings};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, PostParams, VersionMatch};
use kube_informer::{Backoff, Error, ResourceVersion, SharedInformer, client::watching_client};
use tokio::time::sleep;

use crate::ALONE;
use crate::cluster::{ChaosResult, Cluster, PATIENCE};
use crate::handlers::{CheckedHandler, Checks, entry_of};
use crate::sorts::NAMESPACES;

/// Number of times that the informer is forwarded there and back.
const TURNS: usize = 3;
/// Number of writes in each turn; most of them change existing objects.
const WRITES: usize = 10;
/// Number of broken connections while the informer is connected to the lagging server: enough to force a
/// relist.
const CUTS: u32 = 10;
/// Duration of each connection: enough for a response.
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
async fn informer_does_not_go_back_on_a_lagging_server() -> ChaosResult {
    let _alone = ALONE.lock().await;
    let cluster = Cluster::start().await?;
    for streaming in [true, false] {
        move_between(&cluster, streaming).await?;
    }
    Ok(())
}

async fn move_between(cluster: &Cluster, streaming: bool) -> ChaosResult {
    cluster.lead_to(false);
    let maps = cluster
        .clients
        .clone()
        .map(|client| Api::namespaced(client, NAMESPACES[0]));
    let [first, second]: &[Api<ConfigMap>; 2] = &maps;
    let checks = Checks::new();
    let errors = Arc::new(AtomicUsize::new(0));
    let informer = informer(cluster, streaming, &checks.findings, &errors).await?;
    let handler = CheckedHandler::new("the handler".into(), false, &checks);
    let (receiver, lister) = (Arc::clone(&handler), informer.lister());
    informer.add_handler(move |event| receiver.receive(&event, &lister))?;
    informer.start()?;

    for turn in 0..TURNS {
        cluster.etcd_proxy.set(NetworkCondition::Silent);
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
            "the second server has {still_behind}"
        );

        cluster.etcd_proxy.set(NetworkCondition::Normal);
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
        "two servers, streaming {streaming}: {} events, {} errors",
        checks.events(),
        errors.load(Ordering::Relaxed)
    );
    Ok(())
}

async fn informer(
    cluster: &Cluster,
    streaming: bool,
    findings: &Arc<Findings>,
    errors: &Arc<AtomicUsize>,
) -> ChaosResult<SharedInformer<ConfigMap>> {
    let config = cluster.server.guest_config(cluster.proxy.address()).await?;
    let (findings, errors) = (Arc::clone(findings), Arc::clone(errors));
    let complain = move |error: &Error| {
        errors.fetch_add(1, Ordering::Relaxed);
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

/// Writes some objects, deletes others, and returns the last one written.
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

/// Returns the version of an API server's watch cache.
async fn remembered(maps: &Api<ConfigMap>) -> ChaosResult<ResourceVersion> {
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
