//! Disturbances, in an order determined by a seed.

use std::time::Duration;

use conformance::chaos::NetworkCondition;
use conformance::real::guest;
use tokio::time::sleep;

use crate::cluster::{ChaosResult, Cluster, until};

/// Duration of a disturbance, in milliseconds.
const LASTS: std::ops::Range<u64> = 500..2_500;

/// Time between two broken connections during a long lag, which takes three minutes.
const LONG_LAG_CUT: Duration = Duration::from_secs(15);
const LONG_LAG_CUTS: u32 = 12;

/// A temporary fault of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disturbance {
    /// All connections of informers break.
    Cut,
    /// Connections of informers are slow.
    Slow,
    /// Connections of informers have little bandwidth.
    Narrow,
    /// Connections of informers stay open without traffic, then continue.
    Silence,
    /// Connections of informers stay open without traffic, then break.
    LostConnections,
    /// Connections of informers are refused.
    Closed,
    /// The informers' API server crashes and restarts.
    KillApiServer,
    /// etcd crashes and restarts.
    KillEtcd,
    /// The informers' API server is frozen.
    FreezeApiServer,
    /// etcd is frozen.
    FreezeEtcd,
    /// The history of etcd is compacted, and connections break.
    Compact,
    /// The history is removed from etcd and from the API servers.
    Forget,
    /// The API servers get a new certificate, and connections break.
    RotateCertificate,
    /// The informers' read permission is revoked and granted again.
    Revoke,
    /// Informers are forwarded to the other API server.
    Switch,
    /// Informers are forwarded to an API server that lags.
    Lag,
    /// Like `Lag`, but for minutes and with many broken connections. Only in long runs.
    LongLag,
}

impl Disturbance {
    const ALL: [Disturbance; 16] = [
        Disturbance::Cut,
        Disturbance::Slow,
        Disturbance::Narrow,
        Disturbance::Silence,
        Disturbance::LostConnections,
        Disturbance::Closed,
        Disturbance::KillApiServer,
        Disturbance::KillEtcd,
        Disturbance::FreezeApiServer,
        Disturbance::FreezeEtcd,
        Disturbance::Compact,
        Disturbance::Forget,
        Disturbance::RotateCertificate,
        Disturbance::Revoke,
        Disturbance::Switch,
        Disturbance::Lag,
    ];

    /// Returns all disturbances in random order.
    pub(crate) fn shuffled(random: &mut fastrand::Rng) -> [Disturbance; 16] {
        let mut all = Self::ALL;
        random.shuffle(&mut all);
        all
    }

    /// Applies the disturbance, and ends it.
    pub(crate) async fn apply(self, cluster: &Cluster, random: &mut fastrand::Rng) -> ChaosResult {
        let lasts = Duration::from_millis(random.u64(LASTS));
        let server = &cluster.server;
        match self {
            Disturbance::Cut => cluster.proxy.cut(),
            Disturbance::Slow => {
                let wait = Duration::from_millis(random.u64(20..300));
                weather(cluster, NetworkCondition::Slow(wait), lasts).await;
            }
            Disturbance::Narrow => {
                let bytes = random.u32(2_000..50_000);
                weather(cluster, NetworkCondition::Narrow(bytes), lasts).await;
            }
            Disturbance::Silence => weather(cluster, NetworkCondition::Silent, lasts).await,
            Disturbance::LostConnections => {
                weather(cluster, NetworkCondition::Silent, lasts).await;
                cluster.proxy.cut();
            }
            Disturbance::Closed => weather(cluster, NetworkCondition::Closed, lasts).await,
            Disturbance::KillApiServer => {
                cluster.current().kill().await;
                sleep(lasts).await;
                cluster.current().restart().await?;
            }
            Disturbance::KillEtcd => {
                server.etcd().kill().await;
                sleep(lasts).await;
                server.etcd().restart().await?;
            }
            Disturbance::FreezeApiServer => {
                cluster.current().freeze().await?;
                sleep(lasts).await;
                cluster.current().thaw().await?;
            }
            Disturbance::FreezeEtcd => {
                server.etcd().freeze().await?;
                sleep(lasts).await;
                server.etcd().thaw().await?;
            }
            Disturbance::Compact => {
                server.etcd().compact().await?;
                cluster.proxy.cut();
            }
            Disturbance::Forget => {
                cluster.proxy.set(NetworkCondition::Closed);
                sleep(lasts).await;
                server.etcd().compact().await?;
                cluster.current().restart().await?;
                cluster.proxy.set(NetworkCondition::Normal);
            }
            Disturbance::RotateCertificate => {
                server.rotate_certificate()?;
                for api_server in cluster.both() {
                    api_server.shows_new_certificate().await?;
                }
                cluster.proxy.cut();
            }
            Disturbance::Revoke => {
                // Either server may have restarted in the meantime.
                let [client, _] = &cluster.clients;
                until("the right is revoked", async || {
                    guest::revoke(client).await.is_ok()
                })
                .await;
                cluster.guest_may_read(false).await;
                cluster.proxy.cut();
                sleep(lasts).await;
                until("the right is granted", async || {
                    guest::grant(client).await.is_ok()
                })
                .await;
                cluster.guest_may_read(true).await;
            }
            Disturbance::Switch => cluster.switch(),
            Disturbance::Lag => lag(cluster, lasts, 1).await,
            Disturbance::LongLag => lag(cluster, LONG_LAG_CUT, LONG_LAG_CUTS).await,
        }
        Ok(())
    }
}

/// Forwards informers to a server that lags, and breaks their connections this many times.
async fn lag(cluster: &Cluster, between_cuts: Duration, cuts: u32) {
    cluster.lead_to(false);
    cluster.etcd_proxy.set(NetworkCondition::Silent);
    sleep(between_cuts).await;
    cluster.lead_to(true);
    for cut in 0..cuts {
        if cut > 0 {
            cluster.proxy.cut();
        }
        sleep(between_cuts).await;
    }
    cluster.etcd_proxy.set(NetworkCondition::Normal);
}

async fn weather(cluster: &Cluster, weather: NetworkCondition, lasts: Duration) {
    cluster.proxy.set(weather);
    sleep(lasts).await;
    cluster.proxy.set(NetworkCondition::Normal);
}
