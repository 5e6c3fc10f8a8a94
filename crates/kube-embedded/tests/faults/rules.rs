//! The requests that rules affect, and the record of requests.

use http::Method;
use kube_embedded::{Fault, On, Server, Verb};

use crate::wire::{MAPS, STREAMING_LIST, Transport, Wire, put, server_with_objects, watch_from};

const OTHER: &str = "/api/v1/namespaces/kube-system/configmaps";

/// Returns the status codes of requests to these paths.
async fn codes<const N: usize>(wire: &mut Wire, paths: [&str; N]) -> [u16; N] {
    let mut codes = [0; N];
    for (code, path) in codes.iter_mut().zip(paths) {
        *code = wire.get(path).await.code;
    }
    codes
}

async fn server_and_wire() -> (Server, Wire) {
    let server = server_with_objects().await;
    let wire = Wire::connect(&server, Transport::Http1).await;
    (server, wire)
}

#[tokio::test]
async fn once_and_times_count_affected_requests() {
    let (server, mut wire) = server_and_wire().await;
    let once = server
        .faults()
        .add(On::list("configmaps").once(), Fault::unavailable());
    assert_eq!(codes(&mut wire, [MAPS, MAPS, MAPS]).await, [503, 200, 200]);
    assert_eq!(once.hits(), 1);
    let twice = server
        .faults()
        .add(On::list("configmaps").times(2), Fault::unavailable());
    assert_eq!(codes(&mut wire, [MAPS, MAPS, MAPS]).await, [503, 503, 200]);
    assert_eq!(twice.hits(), 2);
    let never = server
        .faults()
        .add(On::list("configmaps").times(0), Fault::unavailable());
    assert_eq!(codes(&mut wire, [MAPS]).await, [200]);
    assert_eq!(never.hits(), 0);
}

#[tokio::test]
async fn after_skips_requests() {
    let (server, mut wire) = server_and_wire().await;
    let rule = server
        .faults()
        .add(On::list("configmaps").after(2).once(), Fault::unavailable());
    let lists = codes(&mut wire, [MAPS, "/api/v1/nodes", MAPS, MAPS, MAPS]).await;
    assert_eq!(lists, [200, 200, 200, 503, 200]);
    assert_eq!(rule.hits(), 1);
}

#[tokio::test]
async fn a_rule_is_limited_to_its_namespace() {
    let (server, mut wire) = server_and_wire().await;
    server.faults().add(
        On::list("configmaps").in_namespace("default"),
        Fault::unavailable(),
    );
    assert_eq!(
        codes(&mut wire, [MAPS, OTHER, "/api/v1/configmaps"]).await,
        [503, 200, 200]
    );
}

#[tokio::test]
async fn a_rule_is_limited_to_its_name() {
    let (server, mut wire) = server_and_wire().await;
    server
        .faults()
        .add(On::get("configmaps").named("a"), Fault::not_found());
    let [a, b] = ["a", "b"].map(|name| format!("{MAPS}/{name}"));
    assert_eq!(codes(&mut wire, [&a, &b, MAPS]).await, [404, 200, 200]);
}

#[tokio::test]
async fn a_rule_is_limited_by_a_predicate() {
    let (server, mut wire) = server_and_wire().await;
    let paged = On::list("configmaps").when(|request| request.param("limit") == Some("2"));
    server.faults().add(paged, Fault::unavailable());
    let (two, three) = (format!("{MAPS}?limit=2"), format!("{MAPS}?limit=3"));
    assert_eq!(codes(&mut wire, [&two, &three, MAPS]).await, [503, 200, 200]);
}

#[tokio::test]
async fn a_rule_is_limited_to_its_verbs() {
    let (server, mut wire) = server_and_wire().await;
    let one = format!("{MAPS}/a");
    let watch = watch_from(server.resource_version()).replace("600", "1");
    let lists = [
        (On::list("configmaps"), [503, 200, 200, 200]),
        (On::get("configmaps"), [200, 503, 200, 200]),
        (On::watch("configmaps"), [200, 200, 503, 200]),
        (On::list_or_watch("configmaps"), [503, 200, 503, 200]),
        (On::verb(Verb::Get, "configmaps"), [200, 503, 200, 200]),
        (On::resource("configmaps"), [503, 503, 503, 200]),
        (On::streaming_list("configmaps"), [200, 200, 200, 200]),
        (On::write("configmaps"), [200, 200, 200, 200]),
        (On::any(), [503, 503, 503, 503]),
    ];
    for (on, expected) in lists {
        let name = format!("{on:?}");
        // Only the head of the watch is read, because it has no end.
        let rule = server.faults().add(on, Fault::unavailable());
        let mut codes = Vec::new();
        for path in [MAPS, &one, &watch, "/version"] {
            let mut wire = Wire::connect(&server, Transport::Http2).await;
            codes.push(
                wire.send(Method::GET, path, &[], "")
                    .await
                    .expect("an answer")
                    .status()
                    .as_u16(),
            );
        }
        assert_eq!(codes, expected, "{name}");
        assert_eq!(
            rule.hits(),
            expected.iter().filter(|c| **c == 503).count(),
            "{name}"
        );
        rule.end();
    }
    let rule = server.faults().add(On::write("configmaps"), Fault::unavailable());
    for (method, path) in [
        (Method::POST, MAPS),
        (Method::PUT, &one),
        (Method::PATCH, &one),
        (Method::DELETE, &one),
        (Method::DELETE, MAPS),
    ] {
        assert_eq!(
            wire.request_json(method.clone(), path, "{}").await.code,
            503,
            "{method}"
        );
    }
    assert_eq!(rule.hits(), 5);
    rule.end();
    let rule = server
        .faults()
        .add(On::streaming_list("configmaps"), Fault::unavailable());
    assert_eq!(wire.get(STREAMING_LIST).await.code, 503);
    assert_eq!(rule.hits(), 1);
}

#[tokio::test]
async fn a_group_distinguishes_resources_of_one_name() {
    let (server, mut wire) = server_and_wire().await;
    server
        .faults()
        .add(On::list("events.events.k8s.io"), Fault::unavailable());
    let paths = ["/api/v1/events", "/apis/events.k8s.io/v1/events"];
    assert_eq!(codes(&mut wire, paths).await, [200, 503]);
    server.faults().clear();
    server.faults().add(On::list("events"), Fault::unavailable());
    assert_eq!(codes(&mut wire, paths).await, [503, 503]);
}

#[tokio::test]
async fn a_script_has_one_fault_per_request() {
    let (server, mut wire) = server_and_wire().await;
    let script = server.faults().script(
        On::list("configmaps"),
        [
            Fault::unavailable(),
            Fault::None,
            Fault::too_many_requests(1),
            Fault::expired(),
        ],
    );
    assert_eq!(
        codes(&mut wire, [MAPS, MAPS, MAPS, OTHER, MAPS]).await,
        [503, 200, 429, 410, 200]
    );
    assert_eq!(script.hits(), 3);
    let short = server.faults().script(
        On::list("configmaps").after(1).times(2),
        [Fault::unavailable(), Fault::expired(), Fault::internal_error()],
    );
    assert_eq!(
        codes(&mut wire, [MAPS, MAPS, MAPS, MAPS]).await,
        [200, 503, 410, 200]
    );
    assert_eq!(short.hits(), 2);
}

#[tokio::test]
async fn rules_can_be_ended_and_cleared() {
    let (server, mut wire) = server_and_wire().await;
    let rule = server.faults().add(On::list("configmaps"), Fault::unavailable());
    let other = server.faults().add(On::list("nodes"), Fault::unavailable());
    assert_eq!(codes(&mut wire, [MAPS, "/api/v1/nodes"]).await, [503, 503]);
    rule.end();
    assert_eq!(codes(&mut wire, [MAPS, "/api/v1/nodes"]).await, [200, 503]);
    server.faults().clear();
    assert_eq!(codes(&mut wire, [MAPS, "/api/v1/nodes"]).await, [200, 200]);
    assert_eq!((rule.hits(), other.hits()), (1, 2));
}

#[tokio::test]
async fn requests_are_recorded_in_order() {
    let server = server_with_objects().await;
    for (nth, transport) in (1..).zip(Transport::ALL) {
        server.forget_requests();
        let mut wire = Wire::connect(&server, transport).await;
        let path = format!("{MAPS}/a?pretty=true&x=%20y");
        let headers = [("user-agent", "tester/1"), ("accept", "application/yaml")];
        wire.send(Method::GET, &path, &headers, "")
            .await
            .expect("an answer");
        wire.get("/version").await;
        let [one, version] = server.requests().try_into().expect("two requests");
        assert_eq!(one.verb, Some(Verb::Get));
        assert_eq!((one.resource.as_str(), one.group.as_str()), ("configmaps", ""));
        assert_eq!(
            (one.namespace.as_deref(), one.name.as_deref()),
            (Some("default"), Some("a"))
        );
        assert_eq!(
            (one.method.as_str(), one.path.as_str()),
            ("GET", "/api/v1/namespaces/default/configmaps/a")
        );
        assert_eq!(
            (one.param("pretty"), one.param("x"), one.param("z")),
            (Some("true"), Some(" y"), None)
        );
        assert_eq!(
            (one.user_agent.as_str(), one.accept.as_str()),
            ("tester/1", "application/yaml")
        );
        assert_eq!(
            (one.connection, one.http_version.as_str()),
            (nth, transport.version())
        );
        assert_eq!(
            (one.status, one.subresource.as_deref(), one.faults.len()),
            (Some(200), None, 0)
        );
        assert_eq!(version.number, one.number + 1);
        assert_eq!(
            (version.verb, version.resource.as_str(), version.path.as_str()),
            (None, "", "/version")
        );
    }
    assert_eq!(server.connections(), 4);
}

#[tokio::test]
async fn wait_for_request_returns_recorded_and_new_requests() {
    let server = server_with_objects().await;
    let mut wire = Wire::connect(&server, Transport::Https2).await;
    let wanted = server.wait_for_request(|r| r.verb == Some(Verb::Watch) && r.status.is_some());
    let from = server.resource_version();
    let (seen, mut events) = tokio::join!(wanted, async { wire.watch(&watch_from(from)).await });
    assert_eq!(seen.param("resourceVersion"), Some(from.to_string().as_str()));
    put(&server, "d", "1");
    assert_eq!(events.expect().await, "ADDED d");
    let known = server.wait_for_request(|r| r.resource == "configmaps").await;
    assert_eq!(known.number, seen.number);
}
