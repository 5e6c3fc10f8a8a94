//! What goes wrong, in an order that a seed decides.

use std::time::Duration;

use conformance::chaos::Weather;
use conformance::real::guest;
use tokio::time::sleep;

use crate::cluster::{Cluster, Outcome, until};

/// How long something stays wrong, in milliseconds.
const LASTS: std::ops::Range<u64> = 500..2_500;

/// A long lag takes three minutes, with this time between two broken connections.
const LONG_LAG_CUT: Duration = Duration::from_secs(15);
const LONG_LAG_CUTS: u32 = 12;

/// Something that happens to a cluster. All of it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disturbance {
    /// All connections of informers break.
    Cut,
    /// Connections of informers carry all of it late.
    Slow,
    /// Connections of informers carry few bytes at a time.
    Narrow,
    /// Connections of informers stay open and carry nothing, then go on.
    Silence,
    /// As silence, and then they break.
    LostConnections,
    /// Informers are refused.
    Closed,
    /// The informers' API server crashes and starts again.
    KillApiServer,
    /// etcd crashes and starts again.
    KillEtcd,
    /// The informers' API server stands still.
    FreezeApiServer,
    /// etcd stands still.
    FreezeEtcd,
    /// etcd forgets its history, and connections break.
    Compact,
    /// The history is forgotten everywhere.
    Forget,
    /// The API servers get another certificate, and connections break.
    RotateCertificate,
    /// Informers lose the right to read, and get it back.
    Revoke,
    /// Informers are led to the other API server.
    Switch,
    /// Informers are led to an API server that is behind.
    Lag,
    /// The same for minutes, while connections break again and again. Only long runs have it.
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

    /// All of them, each once.
    pub(crate) fn shuffled(random: &mut fastrand::Rng) -> [Disturbance; 16] {
        let mut all = Self::ALL;
        random.shuffle(&mut all);
        all
    }

    /// Does it, and undoes it.
    pub(crate) async fn strike(self, cluster: &Cluster, random: &mut fastrand::Rng) -> Outcome {
        let lasts = Duration::from_millis(random.u64(LASTS));
        let server = &cluster.server;
        match self {
            Disturbance::Cut => cluster.proxy.cut(),
            Disturbance::Slow => {
                let wait = Duration::from_millis(random.u64(20..300));
                weather(cluster, Weather::Slow(wait), lasts).await;
            }
            Disturbance::Narrow => {
                let bytes = random.u32(2_000..50_000);
                weather(cluster, Weather::Narrow(bytes), lasts).await;
            }
            Disturbance::Silence => weather(cluster, Weather::Silent, lasts).await,
            Disturbance::LostConnections => {
                weather(cluster, Weather::Silent, lasts).await;
                cluster.proxy.cut();
            }
            Disturbance::Closed => weather(cluster, Weather::Closed, lasts).await,
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
                cluster.proxy.set(Weather::Closed);
                sleep(lasts).await;
                server.etcd().compact().await?;
                cluster.current().restart().await?;
                cluster.proxy.set(Weather::Fair);
            }
            Disturbance::RotateCertificate => {
                server.rotate_certificate()?;
                for api_server in cluster.both() {
                    api_server.shows_new_certificate().await?;
                }
                cluster.proxy.cut();
            }
            Disturbance::Revoke => {
                // Either of them may not be what it was a moment ago.
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

/// Leads informers to a server that is behind, and breaks their connections this many times while they are there.
async fn lag(cluster: &Cluster, between_cuts: Duration, cuts: u32) {
    cluster.lead_to(false);
    cluster.etcd_proxy.set(Weather::Silent);
    sleep(between_cuts).await;
    cluster.lead_to(true);
    for cut in 0..cuts {
        if cut > 0 {
            cluster.proxy.cut();
        }
        sleep(between_cuts).await;
    }
    cluster.etcd_proxy.set(Weather::Fair);
}

async fn weather(cluster: &Cluster, weather: Weather, lasts: Duration) {
    cluster.proxy.set(weather);
    sleep(lasts).await;
    cluster.proxy.set(Weather::Fair);
}
