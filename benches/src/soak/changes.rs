//! Steady changes of a fixed set of objects.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, DeleteParams, ObjectMeta, PostParams};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::Outcome;

pub(super) const NAMESPACE: &str = "default";
/// One in this many changes deletes an object and creates it again.
const DELETIONS: usize = 10;
/// Size of an object's text, in bytes.
const BYTES: usize = 800;

/// Creates and changes the objects.
#[derive(Debug)]
pub(super) struct Changes {
    api: Api<ConfigMap>,
    objects: usize,
    random: fastrand::Rng,
    made: u64,
}

impl Changes {
    /// Creates the objects.
    pub(super) async fn begin(client: Client, objects: usize, seed: u64) -> Outcome<Changes> {
        let mut changes = Changes {
            api: Api::namespaced(client, NAMESPACE),
            objects,
            random: fastrand::Rng::with_seed(seed),
            made: 0,
        };
        for number in 0..objects {
            changes.create(number).await?;
        }
        Ok(changes)
    }

    /// Changes objects at a rate per second until it is stopped. Deleted objects are created again before.
    pub(super) async fn make(mut self, rate: u32, stop: CancellationToken) -> Outcome<Changes> {
        let mut tick = interval(Duration::from_secs(1) / rate.max(1));
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        while !stop.is_cancelled() {
            tick.tick().await;
            let number = self.random.usize(..self.objects);
            if self.random.usize(..DELETIONS) == 0 {
                self.api.delete(&name(number), &DeleteParams::default()).await?;
                self.create(number).await?;
                self.made += 2;
            } else {
                let map = self.state(number);
                self.api
                    .replace(&name(number), &PostParams::default(), &map)
                    .await?;
                self.made += 1;
            }
        }
        Ok(self)
    }

    pub(super) fn made(&self) -> u64 {
        self.made
    }

    pub(super) fn api(&self) -> &Api<ConfigMap> {
        &self.api
    }

    async fn create(&mut self, number: usize) -> Outcome {
        let map = self.state(number);
        self.api.create(&PostParams::default(), &map).await?;
        Ok(())
    }

    fn state(&mut self, number: usize) -> ConfigMap {
        let text: String = (0..BYTES).map(|_| self.random.alphanumeric()).collect();
        ConfigMap {
            metadata: ObjectMeta {
                name: Some(name(number)),
                labels: Some(BTreeMap::from([(
                    "colour".to_owned(),
                    format!("c{}", number % 10),
                )])),
                ..ObjectMeta::default()
            },
            data: Some(BTreeMap::from([("text".to_owned(), text)])),
            ..ConfigMap::default()
        }
    }
}

fn name(number: usize) -> String {
    format!("map-{number}")
}
