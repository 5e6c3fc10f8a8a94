//! Handlers and cache, checked against the whole contract with the checkers of the simulator.

use std::sync::Arc;
use std::time::Duration;

use contract_checker::{
    CacheChecker, CacheContents, CachedObject, Findings, HandlerChecker, HandlerRules, ObjectState,
    ObservedEvent,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{Event, HandlerOptions, SharedInformer};

use crate::config_maps::ConfigMaps;
use crate::informers::{caught_up, started, stopped};

/// Adds a handler whose events are checked.
fn checked_handler(
    informer: &SharedInformer<ConfigMap>,
    findings: &Arc<Findings>,
    round: usize,
    rules: HandlerRules,
) -> Arc<HandlerChecker> {
    let mut options = HandlerOptions::new();
    if rules.is_ordered {
        options = options.every_event();
    }
    if rules.resyncs {
        options = options.resync(Duration::from_secs(1));
    }
    let checker = HandlerChecker::new(format!("handler {round}"), findings, rules);
    let (checks, lister, status) = (Arc::clone(&checker), informer.lister(), informer.clone());
    let handler = move |event: Event<ConfigMap>| {
        let mut cached = CachedObject::of(&lister.snapshot(), event.key(), ObjectState::of);
        cached.relists = Some(status.status().relists.total());
        checks.check(&ObservedEvent::of(&event, ObjectState::of), &cached);
    };
    informer.add_handler_with(handler, options).expect("a handler");
    checker
}

#[tokio::test]
async fn contract_7_handlers_that_join_during_writes_receive_a_whole_history() {
    let maps = ConfigMaps::named(["a", "b", "c"]).await;
    let informer = maps.informer();
    started(&informer).await;
    let findings = Arc::new(Findings::default());
    let mut cache = CacheChecker::new("cache", &findings, None, Vec::new());
    let mut handlers = Vec::new();
    let mut last = None;
    for round in 0..20 {
        let rules = HandlerRules {
            is_ordered: round % 2 == 0,
            resyncs: round % 3 == 0,
            initial: Some(["a", "b", "c"].map(|name| maps.key(name)).into()),
            ..HandlerRules::default()
        };
        handlers.push(checked_handler(&informer, &findings, round, rules));
        maps.change("a", &round.to_string()).await;
        maps.delete("c").await;
        last = Some(maps.create("c", &round.to_string()).await);
        cache.check(&CacheContents::of(&informer.snapshot(), ObjectState::of), 0);
    }
    caught_up(&informer, last.expect("a write")).await;
    // Queued events are delivered before this ends.
    stopped(&informer).await;
    let contents = CacheContents::of(&informer.snapshot(), ObjectState::of);
    cache.check(&contents, informer.status().went_back);
    assert_eq!(contents.objects.len(), 3);
    for handler in &handlers {
        handler.check_synced(&contents);
        handler.check_settled(&contents.objects);
        handler.end("after its informer stopped");
    }
    findings.assert_none();
}
