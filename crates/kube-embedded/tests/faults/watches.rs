//! Faults of watches: cut, closed, silent, expired, duplicate events, no bookmarks.

use std::time::Duration;

use http::{Method, Request};
use http_body_util::BodyExt as _;
use kube::client::Body;
use kube_embedded::{Fault, On};
use serde_json::{Value, json};

use crate::wire::{
    Events, MAPS, Next, STREAMING_LIST, Transport, Wire, put, server_with_objects, watch_from,
};

#[tokio::test]
async fn a_watch_is_cut_in_the_middle_of_an_event() {
    let server = server_with_objects().await;
    for transport in Transport::ALL {
        for whole in 0..3 {
            let from = server.resource_version();
            let rule = server
                .faults()
                .add(On::watch("configmaps").once(), Fault::CutAfterEvents(whole));
            let mut wire = Wire::connect(&server, transport).await;
            let mut events = wire.watch(&watch_from(from)).await;
            for n in 0..=whole {
                put(&server, "a", &format!("{transport:?} {whole} {n}"));
            }
            for _ in 0..whole {
                assert_eq!(events.expect().await, "MODIFIED a", "{transport:?} {whole}");
            }
            match events.next().await {
                Next::Broken(half) => assert!(
                    half.starts_with(b"{\"type\":\"MODIFIED\",\"object\":{"),
                    "{half:?}"
                ),
                other => panic!("{transport:?} {whole}: {other:?}"),
            }
            assert_eq!(rule.hits(), 1);
        }
    }
}

#[tokio::test]
async fn a_watch_loses_one_change() {
    let server = server_with_objects().await;
    for transport in Transport::ALL {
        for before in 0..3 {
            let from = server.resource_version();
            server
                .faults()
                .add(On::watch("configmaps").once(), Fault::LoseEvent(before));
            let mut wire = Wire::connect(&server, transport).await;
            let mut events = wire.watch(&watch_from(from)).await;
            for n in 0..=before {
                put(
                    &server,
                    if n == before { "b" } else { "a" },
                    &format!("{transport:?} {before} {n}"),
                );
            }
            put(&server, "a", &format!("{transport:?} {before} last"));
            for _ in 0..=before {
                assert_eq!(events.expect().await, "MODIFIED a", "{transport:?} {before}");
            }
        }
    }
}

#[tokio::test]
async fn a_streaming_list_is_cut_in_the_middle_of_its_objects() {
    let server = server_with_objects().await;
    // The last change of this object is an update, so its event is joined from two parts.
    put(&server, "b", "2");
    for transport in Transport::ALL {
        server
            .faults()
            .add(On::streaming_list("configmaps").once(), Fault::CutAfterEvents(1));
        let mut wire = Wire::connect(&server, transport).await;
        let mut events = wire.watch(STREAMING_LIST).await;
        assert_eq!(events.expect().await, "ADDED a");
        match events.next().await {
            Next::Broken(half) => assert!(
                half.starts_with(b"{\"type\":\"ADDED\",\"object\":{\"kind\""),
                "{half:?}"
            ),
            other => panic!("{transport:?}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_watch_is_closed_after_some_events() {
    let server = server_with_objects().await;
    for transport in Transport::ALL {
        for count in 0..3 {
            server
                .faults()
                .add(On::watch("configmaps").once(), Fault::CloseAfterEvents(count));
            let mut wire = Wire::connect(&server, transport).await;
            let mut events = wire.watch(STREAMING_LIST).await;
            assert_eq!(
                events.rest().await,
                ["ADDED a", "ADDED b", "ADDED c"][..count],
                "{transport:?}"
            );
        }
        // Bookmarks are counted as events.
        server
            .faults()
            .add(On::watch("configmaps").once(), Fault::CloseAfterEvents(4));
        let mut wire = Wire::connect(&server, transport).await;
        let mut events = wire.watch(STREAMING_LIST).await;
        assert_eq!(
            events.rest().await,
            ["ADDED a", "ADDED b", "ADDED c", "BOOKMARK end"],
            "{transport:?}"
        );
    }
}

#[tokio::test]
async fn a_watch_sends_410_after_some_events() {
    let server = server_with_objects().await;
    for transport in Transport::ALL {
        for count in 0..3 {
            server
                .faults()
                .add(On::watch("configmaps").once(), Fault::ExpireAfterEvents(count));
            let mut wire = Wire::connect(&server, transport).await;
            let mut events = wire.watch(STREAMING_LIST).await;
            for name in &["a", "b", "c"][..count] {
                assert_eq!(events.expect().await, format!("ADDED {name}"));
            }
            assert_eq!(
                reason(&mut events).await,
                (json!(410), json!("Expired")),
                "{transport:?} {count}"
            );
            assert_eq!(events.next().await, Next::End);
        }
    }
}

#[tokio::test]
async fn a_watch_sends_500_after_some_events() {
    let server = server_with_objects().await;
    server
        .faults()
        .add(On::watch("configmaps").once(), Fault::ErrorAfterEvents(2));
    let mut wire = Wire::connect(&server, Transport::Http1).await;
    let mut events = wire.watch(STREAMING_LIST).await;
    assert_eq!(events.expect().await, "ADDED a");
    assert_eq!(events.expect().await, "ADDED b");
    assert_eq!(reason(&mut events).await, (json!(500), json!("InternalError")));
    assert_eq!(events.next().await, Next::End);
}

async fn reason(events: &mut Events) -> (Value, Value) {
    match events.next().await {
        Next::Event(event) if event["type"] == "ERROR" => {
            assert_eq!(event["object"]["kind"], "Status");
            (event["object"]["code"].clone(), event["object"]["reason"].clone())
        }
        other => panic!("no error but {other:?}"),
    }
}

#[tokio::test]
async fn a_watch_sends_broken_json_after_some_events() {
    let server = server_with_objects().await;
    for transport in Transport::ALL {
        for count in [0, 2] {
            let from = server.resource_version();
            server
                .faults()
                .add(On::watch("configmaps").once(), Fault::BrokenJson(count));
            let mut wire = Wire::connect(&server, transport).await;
            let mut events = wire.watch(&watch_from(from)).await;
            for n in 0..count {
                put(&server, "a", &format!("{transport:?} {n}"));
                assert_eq!(events.expect().await, "MODIFIED a");
            }
            let next = events.next().await;
            assert!(matches!(next, Next::Garbage(_)), "{next:?}");
        }
    }
}

#[tokio::test]
async fn a_streaming_list_without_bookmarks_does_not_end() {
    let server = server_with_objects().await;
    server
        .faults()
        .add(On::watch("configmaps").once(), Fault::NoBookmarks);
    let mut wire = Wire::connect(&server, Transport::Http1).await;
    let mut events = wire.watch(STREAMING_LIST).await;
    put(&server, "d", "1");
    let mut seen = Vec::new();
    while seen.last().map(String::as_str) != Some("ADDED d") {
        seen.push(events.expect().await);
    }
    assert_eq!(seen, ["ADDED a", "ADDED b", "ADDED c", "ADDED d"]);
}

#[tokio::test]
async fn a_streaming_list_is_rejected_if_disabled() {
    let server = server_with_objects().await;
    server
        .faults()
        .add(On::watch("configmaps"), Fault::NoStreamingList);
    let mut wire = Wire::connect(&server, Transport::Http1).await;
    let refused = wire.get(STREAMING_LIST).await;
    assert_eq!(refused.failure(), (422, "Invalid".into()));
    assert_eq!(
        refused.json()["details"]["causes"][0]["field"],
        "sendInitialEvents"
    );
    let mut events = wire.watch(&watch_from(server.resource_version())).await;
    put(&server, "d", "1");
    assert_eq!(events.expect().await, "ADDED d");
}

#[tokio::test]
async fn a_streaming_list_is_treated_as_a_watch() {
    let server = server_with_objects().await;
    server
        .faults()
        .add(On::watch("configmaps"), Fault::IgnoreStreamingList);
    let mut wire = Wire::connect(&server, Transport::Http1).await;
    let path = format!("{STREAMING_LIST}&resourceVersion={}", server.resource_version());
    let mut events = wire.watch(&path).await;
    put(&server, "d", "1");
    assert_eq!(events.expect().await, "ADDED d");
}

#[tokio::test]
async fn events_are_duplicated() {
    let server = server_with_objects().await;
    server
        .faults()
        .add(On::watch("configmaps").once(), Fault::DuplicateEvents);
    let mut wire = Wire::connect(&server, Transport::Http2).await;
    let mut events = wire.watch(&watch_from(server.resource_version())).await;
    put(&server, "d", "1");
    wire.request_json(Method::DELETE, &format!("{MAPS}/d"), "").await;
    let first = events.next().await;
    assert_eq!(events.next().await, first);
    let gone = events.next().await;
    assert!(matches!(&gone, Next::Event(event) if event["type"] == "DELETED"));
    assert_eq!(events.next().await, gone);
}

#[tokio::test]
async fn events_contain_invalid_objects() {
    let server = server_with_objects().await;
    for (fault, check) in [
        (Fault::WrongKind, (|o| o["kind"] == "Wrong") as fn(&Value) -> bool),
        (Fault::NoMetadata, |o| {
            o.get("metadata").is_none() && o["data"]["value"] == "1"
        }),
        (Fault::UnwantedTable, |o| o["kind"] == "Table"),
        (Fault::Oversized(5000), |o| o.to_string().len() > 5000),
    ] {
        let name = format!("{fault:?}");
        server.faults().add(On::watch("configmaps").once(), fault);
        let mut wire = Wire::connect(&server, Transport::Http1).await;
        let mut events = wire.watch(STREAMING_LIST).await;
        match events.next().await {
            Next::Event(event) => assert!(check(&event["object"]), "{name}: {event}"),
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn compaction_expires_watches_of_earlier_versions() {
    let server = server_with_objects().await;
    let from = server.resource_version() - 1;
    server
        .faults()
        .add(On::watch("configmaps").once(), Fault::Compact);
    let mut wire = Wire::connect(&server, Transport::Http1).await;
    let mut events = wire.watch(&watch_from(from)).await;
    assert_eq!(events.rest().await, ["ERROR 410"]);
}

#[tokio::test]
async fn a_failed_watch_gets_a_response_without_a_stream() {
    let server = server_with_objects().await;
    server
        .faults()
        .add(On::watch("configmaps").once(), Fault::expired());
    let mut wire = Wire::connect(&server, Transport::Http1).await;
    assert_eq!(wire.get(&watch_from(1)).await.failure(), (410, "Expired".into()));
}

#[tokio::test(start_paused = true)]
async fn a_silent_watch_stays_open() {
    let server = server_with_objects().await;
    server
        .faults()
        .add(On::watch("configmaps").once(), Fault::SilenceAfterEvents(3));
    let request = Request::get(STREAMING_LIST)
        .body(Body::empty())
        .expect("a request");
    let response = server.direct_client().send(request).await.expect("a watch");
    let mut body = response.into_body();
    let mut lines = 0;
    while lines < 3 {
        let bytes = body
            .frame()
            .await
            .expect("events")
            .expect("events")
            .into_data()
            .expect("data");
        lines += String::from_utf8_lossy(&bytes).lines().count();
    }
    assert_eq!(lines, 3);
    put(&server, "d", "1");
    let next = tokio::time::timeout(Duration::from_secs(24 * 60 * 60), body.frame()).await;
    assert!(next.is_err(), "{next:?}");
    server.cut_connections();
    assert!(body.frame().await.expect("an end").is_err());
}

#[tokio::test]
async fn a_silent_watch_sends_nothing() {
    let server = server_with_objects().await;
    for transport in Transport::ALL {
        server
            .faults()
            .add(On::watch("configmaps").once(), Fault::SilenceAfterEvents(1));
        let mut silent = Wire::connect(&server, transport)
            .await
            .watch(STREAMING_LIST)
            .await;
        let mut other = Wire::connect(&server, transport)
            .await
            .watch(STREAMING_LIST)
            .await;
        assert_eq!(silent.expect().await, "ADDED a");
        for expected in ["ADDED a", "ADDED b", "ADDED c", "BOOKMARK end"] {
            assert_eq!(other.expect().await, expected);
        }
        // The other watch has received everything, so this one would have, too.
        server.cut_connections();
        assert_eq!(silent.next().await, Next::Broken("".into()), "{transport:?}");
    }
}
