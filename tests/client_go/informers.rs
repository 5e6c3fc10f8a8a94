//! client-go's informers have the server's state after any fault.

use conformance::client_go::{ClientGoProgram, ClientOptions, DEFAULT, JSON};
use conformance::{Raw, TestServer};
use kube_embedded::{Fault, On, Verb};
use serde_json::{Value, json};

/// The program's informers and the resource of each.
const INFORMERS: [(&str, &str); 6] = [
    ("typed deployments", DEPLOYMENTS),
    ("typed pods", PODS),
    ("typed configmaps", CONFIG_MAPS),
    ("dynamic deployments", DEPLOYMENTS),
    ("dynamic configmaps", CONFIG_MAPS),
    ("metadata pods", PODS),
];
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/{ns}/deployments";
const PODS: &str = "/api/v1/namespaces/{ns}/pods";
const CONFIG_MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";

/// Returns the server's state: versions by key, for each informer.
async fn listed(raw: &Raw) -> Value {
    let mut all = json!({});
    for (informer, path) in INFORMERS {
        all[informer] = json!({});
        let list = raw.get(path).await.body;
        for item in list["items"].as_array().expect("items") {
            let metadata = &item["metadata"];
            let key = format!("{}/{}", text(&metadata["namespace"]), text(&metadata["name"]));
            all[informer][key] = metadata["resourceVersion"].clone();
        }
    }
    all
}

fn text(value: &Value) -> &str {
    value.as_str().expect("text")
}

/// Waits for the informers, and compares their stores and their handlers' events with the server's state.
async fn assert_current(program: &mut ClientGoProgram, raw: &Raw) -> Value {
    let wanted = listed(raw).await;
    let found = program.ask("stores", &wanted).await;
    for (informer, _) in INFORMERS {
        assert_eq!(
            found[informer]["store"], wanted[informer],
            "the store of {informer}"
        );
        assert_eq!(
            found[informer]["received"], wanted[informer],
            "the events of the handler of {informer}"
        );
    }
    found
}

fn counts(found: &Value, informer: &str) -> [u64; 3] {
    ["adds", "updates", "deletes"].map(|count| found[informer][count].as_u64().expect("a count"))
}

/// Adds, updates and deletes reach every informer and its handler, each once.
async fn follow(options: ClientOptions) {
    let server = TestServer::start().await;
    let mut program = ClientGoProgram::on(&server, options).await;
    let raw = server.raw();
    program.ask("churn", &json!("before")).await;
    assert_eq!(program.run("informers").await, INFORMERS.len());
    let found = assert_current(&mut program, &raw).await;
    for (informer, _) in INFORMERS {
        assert_eq!(counts(&found, informer), [4, 0, 0], "{informer}");
    }

    program.ask("churn", &json!("after")).await;
    let found = assert_current(&mut program, &raw).await;
    for (informer, _) in INFORMERS {
        // A pod is marked as terminating before it is deleted, even without a grace period.
        let updates = if informer.ends_with("pods") { 4 } else { 3 };
        assert_eq!(counts(&found, informer), [9, updates, 1], "{informer}");
    }

    assert_eq!(program.run("queue").await, 8);
    let found = assert_current(&mut program, &raw).await;
    assert_eq!(counts(&found, "typed configmaps"), [9, 11, 1]);
    if let Some(embedded) = server.embedded() {
        let requests = embedded.requests();
        let watched = |resource: &str| {
            requests
                .iter()
                .filter(|r| r.verb == Some(Verb::Watch) && r.resource == resource)
                .count()
        };
        assert_eq!(
            (watched("deployments"), watched("pods"), watched("configmaps")),
            (2, 2, 2),
            "no watch was resumed"
        );
        let streamed = requests.iter().filter(|r| r.is_streaming_list()).count();
        assert_eq!(streamed, if options.streaming { INFORMERS.len() } else { 0 });
    }
}

#[tokio::test]
#[ignore = "needs Go: cargo xtask test"]
async fn json_with_streaming_lists() {
    follow(JSON).await;
}

#[tokio::test]
#[ignore = "needs Go: cargo xtask test"]
async fn json_with_lists() {
    follow(ClientOptions {
        streaming: false,
        ..JSON
    })
    .await;
}

#[tokio::test]
#[ignore = "needs Go: cargo xtask test"]
async fn protobuf_with_streaming_lists() {
    follow(DEFAULT).await;
}

#[tokio::test]
#[ignore = "needs Go: cargo xtask test"]
async fn protobuf_with_lists() {
    follow(ClientOptions {
        streaming: false,
        ..DEFAULT
    })
    .await;
}

/// Breaks every connection, and waits for a new one, because the program's own writes are not retried.
async fn cut(embedded: &kube_embedded::Server) {
    embedded.forget_requests();
    embedded.cut_connections();
    embedded
        .wait_for_request(|request| request.verb == Some(Verb::Watch))
        .await;
}

/// Watches expire, break in the middle of an event, lose their connection, and find their history compacted.
/// After each fault the informers have the server's state, and their handlers received every change.
async fn survive(options: ClientOptions) {
    let server = TestServer::alone().await;
    let mut program = ClientGoProgram::on(&server, options).await;
    let raw = server.raw();
    if let Some(embedded) = server.embedded() {
        // Two informers watch config maps. Each gets the first fault after its initial events, the second
        // after that.
        let faults = [
            Fault::ExpireAfterEvents(3),
            Fault::ExpireAfterEvents(3),
            Fault::CutAfterEvents(7),
            Fault::CutAfterEvents(7),
        ];
        let faults = embedded.faults().script(On::watch("configmaps"), faults);
        program.run("informers").await;
        for round in ["expired", "cut"] {
            program.ask("churn", &json!(round)).await;
            assert_current(&mut program, &raw).await;
        }
        assert_eq!(faults.hits(), 4);
        cut(embedded).await;
        program.ask("churn", &json!("reconnected")).await;
        assert_current(&mut program, &raw).await;
    } else {
        program.run("informers").await;
    }

    program.ask("churn", &json!("remembered")).await;
    assert_current(&mut program, &raw).await;
    server.forget_history().await;
    if let Some(embedded) = server.embedded() {
        cut(embedded).await;
    }
    program.ask("churn", &json!("forgotten")).await;
    let found = assert_current(&mut program, &raw).await;
    let [adds, _, deletes] = counts(&found, "typed pods");
    assert_eq!(adds - deletes, if server.embedded().is_some() { 20 } else { 8 });
    if let Some(embedded) = server.embedded() {
        let of_program = |r: &kube_embedded::Request| r.user_agent.starts_with("client-go-program");
        let begins = |r: &kube_embedded::Request| r.verb == Some(Verb::List) || r.is_streaming_list();
        let requests = embedded.requests();
        let begun = requests
            .iter()
            .filter(|r| r.resource == "pods" && of_program(r) && begins(r));
        assert_eq!(begun.count(), 2, "both informers of pods must relist");
    }
}

/// In parallel, because client-go waits most of the time before it retries.
#[tokio::test]
#[ignore = "needs Go: cargo xtask test"]
async fn informers_survive_failures() {
    let lists = ClientOptions {
        streaming: false,
        ..JSON
    };
    tokio::join!(survive(JSON), survive(lists), survive(DEFAULT));
}
