//! Bodies that are too long, too deep, or invalid.

use bytes::Bytes;
use http::Method;
use serde_json::json;

use crate::wire::{Answer, MAPS, Transport, Wire, put, server_with_objects, watch_from};

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";

async fn post(wire: &mut Wire, media: &str, body: impl Into<Bytes>) -> Answer {
    let response = wire
        .send(Method::POST, MAPS, &[("content-type", media)], body)
        .await;
    Answer::read(response.expect("an answer")).await
}

#[tokio::test]
async fn bodies_are_limited() {
    let server = server_with_objects().await;
    let before = server.resource_version();
    let long = format!(
        r#"{{"metadata":{{"name":"long"}},"data":{{"k":"{}"}}}}"#,
        "x".repeat(3 * 1024 * 1024)
    );
    for transport in Transport::ALL {
        let mut wire = Wire::connect(&server, transport).await;
        let answer = post(&mut wire, JSON, long.clone()).await;
        assert_eq!(
            answer.failure(),
            (413, "RequestEntityTooLarge".into()),
            "{transport:?}"
        );
        assert_eq!(
            answer.json()["message"],
            "Request entity too large: limit is 3145728"
        );
    }
    assert_eq!(
        (server.count("configmaps"), server.resource_version()),
        (3, before)
    );
}

#[tokio::test]
async fn invalid_bodies_get_the_errors_of_the_real_server() {
    let server = server_with_objects().await;
    let before = server.resource_version();
    let unrecognized =
        |why: &str| format!("the object provided is unrecognized (must be of type ConfigMap): {why}");
    let json = |why: &str| unrecognized(&format!("couldn't get version/kind; json parse error: {why}"));
    let no_struct = "into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; \
                     Kind string \"json:\\\"kind,omitempty\\\"\" }";
    let all: Vec<u8> = (0..=255).collect();
    let hex = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d";
    let nested = format!(
        "{{\"metadata\":{}1{}}}",
        "{\"a\":".repeat(20_000),
        "}".repeat(20_000)
    );
    for (media, body, message) in [
        (JSON, Vec::new(), json("unexpected end of JSON input (<empty>)")),
        (
            JSON,
            all.clone(),
            json(&format!(
                "invalid character '\\x00' looking for beginning of value ({hex} ...)"
            )),
        ),
        (
            YAML,
            all,
            unrecognized(&format!("yaml: control characters are not allowed ({hex} ...)")),
        ),
        (
            JSON,
            b"[]".into(),
            json(&format!("json: cannot unmarshal array {no_struct} (5b5d)")),
        ),
        (
            JSON,
            b"1".into(),
            json(&format!("json: cannot unmarshal number {no_struct} (31)")),
        ),
        (
            JSON,
            b"{} {}".into(),
            json("invalid character '{' after top-level value ({} {})"),
        ),
        (
            JSON,
            nested.into(),
            json("invalid character '{' exceeded max depth ({\"metadata\":{\"a\":{\"a\":{\"a\":{\"a ...)"),
        ),
        (
            JSON,
            b"{\"metadata\":{\"name\":\"a\0b\"}}".into(),
            json("invalid character '\\x00' in string literal ({\"metadata\":{\"name\":\"a\0b\"}})"),
        ),
    ] {
        let answer = post(&mut Wire::connect(&server, Transport::Http1).await, media, body).await;
        assert_eq!(answer.failure(), (400, "BadRequest".into()));
        assert_eq!(answer.json()["message"], message);
    }
    let deep = post(
        &mut Wire::connect(&server, Transport::Http2).await,
        JSON,
        "[".repeat(1_000_000),
    )
    .await;
    assert_eq!(deep.code, 400);
    assert_eq!(server.resource_version(), before);
}

#[tokio::test]
async fn unknown_media_types_are_rejected() {
    let server = server_with_objects().await;
    let mut wire = Wire::connect(&server, Transport::Http1).await;
    let object = r#"{"metadata":{"name":"d"}}"#;
    for media in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/xml",
        "garbage",
    ] {
        let answer = post(&mut wire, media, object).await;
        assert_eq!(answer.failure(), (415, "UnsupportedMediaType".into()), "{media}");
    }
    let one = format!("{MAPS}/a");
    for (method, media) in [
        (Method::DELETE, "text/plain"),
        (Method::PATCH, JSON),
        (Method::PATCH, "garbage"),
    ] {
        let response = wire.send(method, &one, &[("content-type", media)], "{}").await;
        assert_eq!(
            Answer::read(response.expect("an answer")).await.code,
            415,
            "{media}"
        );
    }
    assert_eq!(server.count("configmaps"), 3);
}

#[tokio::test]
async fn yaml_bombs_are_rejected() {
    let server = server_with_objects().await;
    let mut bomb = "metadata:\n  name: bomb\na: &a [lol,lol,lol,lol,lol,lol,lol,lol,lol]\n".to_owned();
    for (before, now) in ('a'..='h').zip('b'..='i') {
        let aliases = vec![format!("*{before}"); 9].join(",");
        bomb.extend([&format!("{now}: &{now} ["), aliases.as_str(), "]\n"]);
    }
    let mut wire = Wire::connect(&server, Transport::Http1).await;
    let answer = post(&mut wire, YAML, bomb.clone()).await;
    let message = answer.json()["message"].as_str().unwrap_or_default().to_owned();
    assert_eq!(answer.code, 400);
    assert!(
        message.contains("): yaml: document contains excessive aliasing (6d657461"),
        "{message}"
    );
    let headers = [("content-type", "application/apply-patch+yaml")];
    let path = format!("{MAPS}/bomb?fieldManager=tester");
    for (body, why) in [
        (
            bomb,
            "error converting YAML to JSON: yaml: document contains excessive aliasing",
        ),
        (
            "hello".into(),
            "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal string into Go value of type \
             map[string]interface {}",
        ),
    ] {
        let answer = Answer::read(
            wire.send(Method::PATCH, &path, &headers, body)
                .await
                .expect("an answer"),
        )
        .await;
        assert_eq!(answer.json()["message"], format!("error decoding YAML: {why}"));
    }
    let nested = format!("a: {}", "[".repeat(100_000));
    assert_eq!(post(&mut wire, YAML, nested).await.code, 400);
    assert_eq!(server.count("configmaps"), 3);
}

#[tokio::test]
async fn invalid_utf8_in_strings_is_replaced() {
    let server = server_with_objects().await;
    let mut wire = Wire::connect(&server, Transport::Http1).await;
    let made = post(
        &mut wire,
        JSON,
        &b"{\"metadata\":{\"name\":\"d\"},\"data\":{\"k\":\"\xff\xfe\",\"n\":\"a\\u0000b\"}}"[..],
    )
    .await;
    assert_eq!(made.code, 201, "{made:?}");
    assert_eq!(
        made.json()["data"],
        json!({ "k": "\u{fffd}\u{fffd}", "n": "a\0b" })
    );
    assert_eq!(wire.get(&format!("{MAPS}/d")).await.json(), made.json());
}

#[tokio::test]
async fn invalid_patches_change_nothing() {
    let server = server_with_objects().await;
    let before = server.resource_version();
    let mut wire = Wire::connect(&server, Transport::Http1).await;
    for (kind, body, code) in [
        ("merge", "[]", 400),
        ("merge", "\0", 400),
        ("strategic-merge", "[]", 400),
        ("json", "{}", 400),
        ("json", r#"[{"op":"explode","path":"/x"}]"#, 422),
        ("json", r#"[{"op":"remove","path":"/data/nothing"}]"#, 422),
    ] {
        let media = format!("application/{kind}-patch+json");
        let headers = [("content-type", media.as_str())];
        let path = format!("{MAPS}/a");
        let answer = Answer::read(
            wire.send(Method::PATCH, &path, &headers, body)
                .await
                .expect("an answer"),
        )
        .await;
        assert_eq!(answer.failure().0, code, "{kind} {body}: {answer:?}");
        // The patch of a missing object is not decoded.
        let path = format!("{MAPS}/nothing");
        let answer = Answer::read(
            wire.send(Method::PATCH, &path, &headers, "\0")
                .await
                .expect("an answer"),
        )
        .await;
        assert_eq!(answer.failure().0, 404, "{kind}");
    }
    assert_eq!(server.resource_version(), before);
}

#[tokio::test]
async fn invalid_scales_are_rejected() {
    let server = server_with_objects().await;
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "d", "namespace": "default" },
        "spec": {
            "selector": { "matchLabels": { "app": "d" } },
            "template": {
                "metadata": { "labels": { "app": "d" } }, "spec": { "containers": [{ "name": "c", "image": "i" }] },
            },
        },
    });
    server.load([deployment]).expect("a deployment");
    let before = server.resource_version();
    let mut wire = Wire::connect(&server, Transport::Http1).await;
    let path = "/apis/apps/v1/namespaces/default/deployments/d/scale";
    for (method, media, body, code) in [
        (Method::PUT, JSON, r#"{"metadata":5}"#, 400),
        (Method::PUT, JSON, r#"{"metadata":{"name":"d"},"spec":[]}"#, 400),
        (
            Method::PATCH,
            "application/merge-patch+json",
            r#"{"metadata":5}"#,
            422,
        ),
        (
            Method::PATCH,
            "application/merge-patch+json",
            r#"{"spec":{"replicas":"x"}}"#,
            422,
        ),
        (
            Method::PATCH,
            "application/json-patch+json",
            r#"[{"op":"replace","path":"","value":5}]"#,
            422,
        ),
    ] {
        let response = wire.send(method, path, &[("content-type", media)], body).await;
        let answer = Answer::read(response.expect("an answer")).await;
        assert_eq!(answer.failure().0, code, "{body}: {answer:?}");
    }
    assert_eq!(server.resource_version(), before);
}

#[tokio::test]
async fn deletion_options_are_validated_before_the_deletion() {
    let server = server_with_objects().await;
    let mut wire = Wire::connect(&server, Transport::Http1).await;
    for (body, why) in [
        (
            "\0",
            "couldn't get version/kind; json parse error: invalid character '\\x00' looking for beginning of value",
        ),
        (
            r#"{"gracePeriodSeconds":"x"}"#,
            "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
        ),
    ] {
        for path in [MAPS, &format!("{MAPS}/a")] {
            let answer = wire.request_json(Method::DELETE, path, body).await;
            assert_eq!(answer.failure(), (400, "BadRequest".into()), "{path} {body}");
            assert_eq!(answer.json()["message"], why, "{path}");
        }
    }
    assert_eq!(server.count("configmaps"), 3);
}

#[tokio::test]
async fn ten_thousand_objects_are_deleted_at_once() {
    let server = kube_embedded::Server::builder()
        .history(30_000)
        .start()
        .await
        .expect("a server");
    for n in 0..10_000 {
        put(&server, &format!("object-{n:05}"), "1");
    }
    let mut wire = Wire::connect(&server, Transport::Http2).await;
    let mut events = wire.watch(&watch_from(server.resource_version())).await;
    let mut other = Wire::connect(&server, Transport::Http1).await;
    let deleted = other.request_json(Method::DELETE, MAPS, "").await;
    assert_eq!((deleted.code, deleted.names().len()), (200, 10_000));
    assert_eq!(server.count("configmaps"), 0);
    for n in 0..10_000 {
        assert_eq!(events.expect().await, format!("DELETED object-{n:05}"));
    }
    assert_eq!(other.get(MAPS).await.names(), [""; 0]);
}
