//! Invalid paths, methods and queries.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::Method;
use serde_json::json;

use crate::wire::{Answer, MAPS, Transport, Wire, server_with_objects};

#[tokio::test]
async fn paths_cannot_escape_their_prefix() {
    let server = server_with_objects().await;
    let mut wire = Wire::connect(&server, Transport::Http1).await;
    let no_name = |name: &str, why: &str| Some(format!("Name parameter invalid: \"{name}\": {why}"));
    let nothing = || Some("the server could not find the requested resource".to_owned());
    for (path, code, message) in [
        ("/api/v1/namespaces/default/configmaps/../secrets", 404, nothing()),
        (
            "/api/v1/namespaces/default/configmaps/..",
            400,
            no_name("..", "may not be '..'"),
        ),
        (
            "/api/v1/namespaces/default/configmaps/%2e%2e",
            400,
            no_name("..", "may not be '..'"),
        ),
        (
            "/api/v1/namespaces/default/configmaps/.",
            400,
            no_name(".", "may not be '.'"),
        ),
        (
            "/api/v1/namespaces/default/configmaps/a%25b",
            400,
            no_name("a%b", "may not contain '%'"),
        ),
        (
            "/api/v1/namespaces/default/configmaps/..%2fsecrets",
            404,
            nothing(),
        ),
        ("/api/v1/namespaces/default/configmaps/a%2fb", 404, nothing()),
        ("/api/v1//namespaces/default/configmaps", 404, nothing()),
        ("/api/v1/namespaces//configmaps", 404, nothing()),
        ("/apis/apps//deployments", 404, nothing()),
        ("/apis/apps/v9/deployments", 404, nothing()),
        ("/api/v1/nothings", 404, nothing()),
        ("/apis//v1/pods", 404, None),
        ("//api/v1/namespaces", 404, None),
        ("/../../etc/passwd", 404, None),
        ("/apis/nothing.example.com/v1/things", 404, None),
        ("/api/v1/namespaces/default/configmaps/a%zz", 400, None),
        ("/api/v1/namespaces/default/configmaps/a%", 400, None),
    ] {
        let answer = wire.get(path).await;
        assert_eq!(answer.code, code, "{path}: {answer:?}");
        match message {
            Some(message) => assert_eq!(answer.json()["message"], message, "{path}"),
            None => assert_eq!(
                answer.headers["content-type"], "text/plain; charset=utf-8",
                "{path}"
            ),
        }
    }
}

#[tokio::test]
async fn escaped_names_are_decoded() {
    let server = server_with_objects().await;
    for transport in Transport::ALL {
        let mut wire = Wire::connect(&server, transport).await;
        assert_eq!(
            wire.get(&format!("{MAPS}/%61")).await.json()["metadata"]["name"],
            "a",
            "{transport:?}"
        );
        assert_eq!(
            wire.get("/api/v1/%6eamespaces/default/configmaps/").await.names(),
            ["a", "b", "c"],
            "{transport:?}"
        );
        for name in ["a%00b", "%C3%A4", "a%ff", &"a".repeat(5000)] {
            let answer = wire.get(&format!("{MAPS}/{name}")).await;
            assert_eq!(answer.failure(), (404, "NotFound".into()), "{transport:?} {name}");
        }
        assert_eq!(
            wire.get("/api/v1/namespaces/%00/configmaps").await.names(),
            [""; 0],
            "{transport:?}"
        );
    }
}

#[tokio::test]
async fn unsupported_methods_are_rejected() {
    let server = server_with_objects().await;
    let one = format!("{MAPS}/a");
    let before = server.resource_version();
    for transport in Transport::ALL {
        let mut wire = Wire::connect(&server, transport).await;
        let strange = Method::from_bytes(b"EXPLODE").expect("a method");
        for (method, path) in [
            (Method::OPTIONS, MAPS),
            (Method::OPTIONS, &one),
            (Method::TRACE, MAPS),
            (strange.clone(), MAPS),
            (strange.clone(), &one),
            (Method::POST, &one),
            (Method::PUT, MAPS),
            (Method::PATCH, MAPS),
            (Method::POST, "/api/v1/configmaps"),
            (Method::POST, "/version"),
            (Method::DELETE, "/api"),
            (Method::DELETE, "/api/v1"),
            (Method::POST, "/apis/apps/v1"),
        ] {
            let answer = wire.request_json(method.clone(), path, "{}").await;
            assert_eq!(
                answer.failure(),
                (405, "MethodNotAllowed".into()),
                "{transport:?} {method} {path}"
            );
            assert_eq!(answer.json()["details"], json!({}));
        }
        for path in ["/", "/healthz", "/apis", "/apis/apps", "/openapi/v2"] {
            assert_eq!(
                wire.request_json(Method::DELETE, path, "").await.code,
                200,
                "{transport:?} {path}"
            );
        }
    }
    assert_eq!(server.resource_version(), before);
}

#[tokio::test]
async fn head_gets_no_body() {
    let server = server_with_objects().await;
    for transport in Transport::ALL {
        for (path, code) in [
            (MAPS, 405),
            ("/version", 405),
            ("/healthz", 200),
            ("/apis", 200),
            ("/nowhere", 404),
        ] {
            let mut wire = Wire::connect(&server, transport).await;
            let answer = Answer::read(wire.send(Method::HEAD, path, &[], "").await.expect("an answer")).await;
            assert_eq!(
                (answer.code, answer.bytes.len(), answer.whole),
                (code, 0, true),
                "{transport:?} {path}"
            );
            let length: usize = answer.headers["content-length"]
                .to_str()
                .expect("text")
                .parse()
                .expect("a length");
            assert!(length > 0, "{transport:?} {path}");
            // The connection can still be used.
            assert_eq!(wire.get(MAPS).await.code, 200, "{transport:?}");
        }
    }
}

#[tokio::test]
async fn invalid_queries_are_rejected_or_ignored() {
    let server = server_with_objects().await;
    let mut wire = Wire::connect(&server, Transport::Http1).await;
    let token = |why: &str| format!("invalid continue token: continue key is not valid: {why}");
    for (query, message) in [
        (
            "limit=x",
            r#"strconv.ParseInt: parsing "x": invalid syntax"#.into(),
        ),
        (
            "limit=99999999999999999999",
            r#"strconv.ParseInt: parsing "99999999999999999999": value out of range"#.into(),
        ),
        (
            "continue=garbage",
            token("invalid character '\\u0081' looking for beginning of value"),
        ),
        ("continue=%21%21", token("illegal base64 data at input byte 0")),
        (
            "labelSelector=a%3D%3D%3Db",
            "unable to parse requirement: found '=', expected: identifier".into(),
        ),
        (
            "fieldSelector=x",
            "invalid selector: 'x'; can't understand 'x'".to_owned(),
        ),
    ] {
        let answer = wire.get(&format!("{MAPS}?{query}")).await;
        assert_eq!(answer.failure(), (400, "BadRequest".into()), "{query}");
        assert_eq!(answer.json()["message"], message, "{query}");
    }
    for query in [
        "limit=%zz",
        "limit=1;x=2",
        "%zz=1",
        "&&&=&==",
        "limit=-1",
        "unknown=%00",
        "limit",
    ] {
        assert_eq!(
            wire.get(&format!("{MAPS}?{query}")).await.names(),
            ["a", "b", "c"],
            "{query}"
        );
    }
}

#[tokio::test]
async fn a_continue_token_cannot_leave_its_namespace() {
    let server = server_with_objects().await;
    let map = |namespace: &str| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "secret", "namespace": namespace },
        })
    };
    server
        .load([map("kube-public"), map("default"), map("kube-system")])
        .expect("objects");
    let mut wire = Wire::connect(&server, Transport::Http1).await;
    for start in ["a", "default/b", "kube-public/secret", "kube-system/", "z"] {
        let token = json!({ "v": "meta.k8s.io/v1", "rv": -1, "start": start }).to_string();
        let token = URL_SAFE_NO_PAD.encode(token);
        let answer = wire
            .get(&format!(
                "/api/v1/namespaces/kube-public/configmaps?continue={token}"
            ))
            .await;
        assert_eq!(answer.code, 200, "{start}");
        for item in answer.json()["items"].as_array().expect("a list") {
            assert_eq!(item["metadata"]["namespace"], "kube-public", "{start}");
        }
    }
}
