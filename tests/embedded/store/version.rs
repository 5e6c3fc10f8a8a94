//! The version of the store.

use std::time::Duration;

use crate::config_maps::ConfigMaps;
use crate::informers::{started, stopped};

#[tokio::test(start_paused = true)]
async fn bookmarks_advance_the_version_past_unselected_writes() {
    let maps = ConfigMaps::paused(["a"]).await;
    let informer = maps.builder().fields("metadata.name=a").build();
    started(&informer).await;
    let other = maps.create("other", "1").await;
    assert!(
        informer
            .resource_version()
            .is_some_and(|now| now.is_before(&other))
    );
    // Only a bookmark advances the version, and there is one per minute.
    let reached = informer.wait_for_version(other, Duration::from_mins(2)).await;
    reached.expect("a bookmark");
    assert_eq!(informer.lister().len(), 1);
    stopped(&informer).await;
}
