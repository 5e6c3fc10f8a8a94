//! What is planted here must come up nowhere: not in the log at its finest, not in an error or its causes, not in the
//! `Debug` of anything that users hold.

use std::convert::Infallible;
use std::error::Error as StdError;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use http::{Request, Response};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::client::Body;
use kube::config::{AuthInfo, ExecConfig};
use kube::{Client, Config};
use kube_embedded::{Fault, On, Server};
use kube_informer::{
    CacheFormat, Error, Selector, SharedInformer, SharedInformerFactory,
    client::watching_client,
    enqueue_keys,
    source::{ApiListWatch, ListRequest, ListWatch, WatchRequest, WireFormat},
};
use kube_workqueue::WorkQueue;
use parking_lot::Mutex;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// What is looked for: as text, and as base64 writes it, wherever in a text it begins.
const PLANTED: &str = "planted-hunter2-planted";
const ENCODED: [&str; 3] = [
    "cGxhbnRlZC1odW50ZXIyLXBsYW50ZW",
    "BsYW50ZWQtaHVudGVyMi1wbGFudGVk",
    "wbGFudGVkLWh1bnRlcjItcGxhbnRlZ",
];

/// Everything that was said.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<String>>);

impl Said {
    fn print(&self, what: &impl std::fmt::Debug) {
        let _ = write!(self.0.lock(), "{what:?}\n{what:#?}\n");
    }

    /// An error and all its causes, in both ways to print.
    fn error(&self, error: &(dyn StdError + 'static)) {
        let mut next = Some(error);
        while let Some(error) = next {
            let _ = write!(self.0.lock(), "{error}\n{error:?}\n{error:#?}\n");
            next = error.source();
        }
    }

    fn clean(&self, least: usize, what: &str) {
        let said = self.0.lock();
        assert!(
            said.len() > least,
            "{what}: little was said, so nothing is proven: {said}"
        );
        for planted in [PLANTED].iter().chain(&ENCODED) {
            if let Some(at) = said.find(planted) {
                let line = said[..at].rfind('\n').map_or(0, |at| at + 1);
                panic!("{what}: {planted} was told: {:.400}", &said[line..]);
            }
        }
    }
}

struct Line<'a>(&'a mut String);

impl Visit for Line<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = write!(self.0, " {}={value:?}", field.name());
    }
}

/// The log of this project's crates, at every level. What hyper, h2 and rustls say is theirs.
impl Subscriber for Said {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        ["kube_informer", "kube_wire", "kube_workqueue"]
            .iter()
            .any(|own| metadata.target().starts_with(own))
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut Line(&mut self.0.lock()));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut Line(&mut self.0.lock()));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut said = self.0.lock();
        event.record(&mut Line(&mut said));
        said.push('\n');
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn secret(name: &str) -> Secret {
    Secret {
        metadata: ObjectMeta {
            name: Some(name.into()),
            annotations: Some([("note".to_owned(), PLANTED.to_owned())].into()),
            ..ObjectMeta::default()
        },
        data: Some([("password".to_owned(), ByteString(PLANTED.into()))].into()),
        ..Secret::default()
    }
}

/// Every way an answer can be wrong.
fn faults() -> [Fault; 9] {
    [
        Fault::None,
        Fault::BrokenJson(0),
        Fault::BrokenJson(1),
        Fault::CutAfterBytes(700),
        Fault::CutAfterEvents(1),
        Fault::WrongKind,
        Fault::NoMetadata,
        Fault::UnwantedTable,
        Fault::Oversized(1 << 20),
    ]
}

#[tokio::test(start_paused = true)]
async fn what_is_in_secrets_is_not_told_by_informers() {
    let said = Said::default();
    let _log = tracing::subscriber::set_default(said.clone());
    for form in [CacheFormat::Decoded, CacheFormat::Packed] {
        for wire in [WireFormat::Json, WireFormat::Protobuf] {
            for streaming in [true, false] {
                life_of_an_informer(&said, form, wire, streaming).await;
                said.clean(1_000, &format!("{form:?} {wire:?} {streaming}"));
            }
        }
    }
}

/// An informer meets every fault, and everything that can be printed is printed.
async fn life_of_an_informer(said: &Said, form: CacheFormat, wire: WireFormat, streaming: bool) {
    let server = Server::builder().seed(1).start().await.expect("a server");
    let api: Api<Secret> = Api::namespaced(server.direct_client(), "default");
    for name in ["a", "b"] {
        api.create(&PostParams::default(), &secret(name))
            .await
            .expect("a secret");
    }
    let (errors, log) = (said.clone(), said.clone());
    let builder = SharedInformer::<Secret>::builder(server.direct_client())
        .namespace("default")
        .cache_format(form)
        .wire_format(wire)
        .streaming_list(streaming)
        .max_object_bytes(1 << 19)
        .check_consistency(Duration::from_secs(60 * 60))
        .index("password", |secret: &Secret| {
            let data = secret.data.clone().unwrap_or_default();
            data.into_values()
                .map(|bytes| String::from_utf8_lossy(&bytes.0).into_owned())
                .collect::<Vec<_>>()
        })
        .watch_error_handler(move |error| errors.error(error))
        .seed(1);
    said.print(&builder);
    let secrets = builder.build();
    let queue = WorkQueue::new("secrets");
    secrets
        .add_handler(move |event| log.print(&event))
        .expect("a new informer");
    secrets.add_handler(enqueue_keys(&queue)).expect("a new informer");
    let events = secrets.events().expect("a new informer");
    server.faults().script(On::watch("secrets"), faults());
    server.faults().script(On::list("secrets"), faults());
    secrets.start().expect("a first start");
    for (count, fault) in faults().into_iter().enumerate() {
        server.faults().add(On::watch("secrets").once(), fault.clone());
        server.faults().add(On::list("secrets").once(), fault);
        server.cut_connections();
        let patch = serde_json::json!({"metadata": {"labels": {"count": count.to_string()}}});
        let changed = api
            .patch("a", &PatchParams::default(), &Patch::Merge(patch))
            .await;
        let changed = changed.expect("a change");
        secrets
            .wait_for_write(&changed, Duration::from_secs(24 * 60 * 60))
            .await
            .expect("the faults end");
    }
    api.delete("b", &DeleteParams::default())
        .await
        .expect("an object");
    let objects = secrets.lister().list(&Selector::everything());
    said.print(&(
        &secrets,
        secrets.snapshot(),
        secrets.lister(),
        secrets.status(),
        &objects,
    ));
    said.print(&secrets.find_index::<String>("password").expect("an index"));
    said.print(&(
        secrets.registrations(),
        &events,
        &queue,
        secrets.check_consistency().await,
    ));
    let said_events = events.take(2).collect::<Vec<_>>().await;
    said.print(&said_events);
    secrets.shutdown().await;
    server.stop().await;
}

/// A client that answers everything with this.
fn answering(code: u16, body: String) -> Client {
    let service = tower::service_fn(move |_: Request<Body>| {
        let response = Response::builder()
            .status(code)
            .header("content-type", "application/json");
        let answer = response.body(Body::from(body.clone().into_bytes()));
        async move { Ok::<_, Infallible>(answer.expect("an answer of known parts")) }
    });
    Client::new(service, "default")
}

/// Values where they do not belong: serde's own errors quote them.
#[tokio::test]
async fn what_stands_in_the_wrong_place_is_not_quoted() {
    let said = Said::default();
    let _log = tracing::subscriber::set_default(said.clone());
    let meta = r#""metadata":{"name":"a","namespace":"default","resourceVersion":"5"}"#;
    let head = r#""kind":"Secret","apiVersion":"v1""#;
    let long = "x".repeat(20);
    let objects = [
        format!(r#"{{{head},{meta},"data":"{PLANTED}"}}"#),
        format!(r#"{{{head},{meta},"data":["{PLANTED}"]}}"#),
        format!(r#"{{{head},{meta},"data":{{"password":{{"{PLANTED}":1}}}}}}"#),
        format!(r#"{{{head},{meta},"data":{{"password":"{PLANTED}!!"}}}}"#),
        format!(r#"{{{head},{meta},"immutable":"{PLANTED}"}}"#),
        format!(r#"{{{head},{meta},"stringData":"{PLANTED}, expected {long}"}}"#),
        format!(r#"{{{head},"metadata":"{PLANTED}"}}"#),
        format!(
            r#"{{{head},"metadata":{{"name":"a","resourceVersion":"5","creationTimestamp":"{PLANTED}"}}}}"#
        ),
        format!(r#"{{{head},"metadata":{{"name":"a","resourceVersion":"5","generation":"{PLANTED}"}}}}"#),
        format!(r#"{{{head},{meta},"data":{{"password":"{PLANTED}}}"#),
        format!(r#"{{{head},{meta},"data":{{"password":"{PLANTED}" oops}}}}"#),
        format!(r#"{{{head},{meta},"type":{PLANTED}}}"#),
        format!(r#"{{"metadata":{{}},"data":{{"password":"{PLANTED}"}}}}"#),
        format!(r#""{PLANTED}""#),
        PLANTED.to_owned(),
    ];
    for object in &objects {
        let list = format!(
            r#"{{"kind":"SecretList","apiVersion":"v1","metadata":{{"resourceVersion":"5"}},"items":[{object}]}}"#
        );
        let added = format!("{{\"type\":\"ADDED\",\"object\":{object}}}\n");
        let failure = format!("{{\"type\":\"ERROR\",\"object\":{object}}}\n");
        let bookmark = format!("{{\"type\":\"BOOKMARK\",\"object\":{object}}}\n");
        for body in [list, added, failure, bookmark] {
            let source = ApiListWatch::<Secret>::new(answering(200, body), &(), Some("default"));
            read(&said, source).await;
        }
    }
    said.clean(10_000, "JSON");
}

/// Reads an answer as a list and as a watch, and prints what comes.
async fn read(said: &Said, source: ApiListWatch<Secret>) {
    match source.list(ListRequest::default()).await {
        Err(error) => said.error(&error),
        Ok(parts) => {
            for part in parts.collect::<Vec<_>>().await {
                match part {
                    Ok(kube_informer::source::ListPart::Object(item)) => {
                        said.print(&item);
                        told_by_decoding(said, item);
                    }
                    Ok(part) => said.print(&part),
                    Err(error) => said.error(&error),
                }
            }
        }
    }
    let watch = WatchRequest {
        resource_version: None,
        timeout: Duration::from_secs(5 * 60),
        initial_events: false,
    };
    match source.watch(watch).await {
        Err(error) => said.error(&error),
        Ok(events) => {
            for event in events.collect::<Vec<_>>().await {
                match event {
                    Ok(kube_informer::source::WatchEvent::Added(item)) => told_by_decoding(said, item),
                    Ok(event) => said.print(&event),
                    Err(error) => said.error(&error),
                }
            }
        }
    }
}

fn told_by_decoding(said: &Said, item: kube_informer::source::RawObject<Secret>) {
    if let Err(error) = item.into_parts() {
        said.error(&error);
    }
}

fn exec(script: &str) -> ExecConfig {
    ExecConfig {
        api_version: Some("client.authentication.k8s.io/v1".to_owned()),
        command: Some("sh".to_owned()),
        args: Some(vec!["-c".to_owned(), script.to_owned()]),
        interactive_mode: Some(kube::config::ExecInteractiveMode::Never),
        ..ExecConfig::default()
    }
}

/// Credentials that are good, and credentials that nobody can use, with a server that is not there.
#[tokio::test]
async fn credentials_are_not_told() {
    let said = Said::default();
    let _log = tracing::subscriber::set_default(said.clone());
    let with = |change: &dyn Fn(&mut AuthInfo)| {
        let mut config = Config::new("https://127.0.0.1:1".parse().expect("a URL"));
        change(&mut config.auth_info);
        config
    };
    let credential = |status: &str| {
        format!(
            "echo '{{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{status}}}'"
        )
    };
    let key = format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
        ENCODED[0]
    );
    let mut configs = vec![
        with(&|auth| auth.token = Some(PLANTED.to_owned().into())),
        with(&|auth| auth.token = Some(format!("{PLANTED}\n").into())),
        with(&|auth| {
            auth.username = Some("me".to_owned());
            auth.password = Some(PLANTED.to_owned().into());
        }),
        with(&|auth| {
            auth.client_certificate_data = Some(ENCODED[0].to_owned());
            auth.client_key_data = Some(ENCODED[0].to_owned().into());
        }),
        with(&|auth| auth.client_key_data = Some(key.clone().into())),
        with(&|auth| auth.exec = Some(exec(&format!("echo {PLANTED}")))),
        with(&|auth| auth.exec = Some(exec(&format!("echo {PLANTED}; exit 1")))),
        with(&|auth| auth.exec = Some(exec(&credential(&format!("\"{PLANTED}\""))))),
        with(&|auth| auth.exec = Some(exec(&credential(&format!("{{\"token\":[\"{PLANTED}\"]}}"))))),
        with(&|auth| {
            let status = format!("{{\"token\":\"{PLANTED}\",\"expirationTimestamp\":\"{PLANTED}\"}}");
            auth.exec = Some(exec(&credential(&status)));
        }),
        with(&|auth| auth.exec = Some(exec(&credential(&format!("{{\"token\":\"{PLANTED}\"}}"))))),
        Config::new(
            format!("https://me:{PLANTED}@127.0.0.1:1")
                .parse()
                .expect("a URL"),
        ),
    ];
    let mut proxied = Config::new("https://127.0.0.1:1".parse().expect("a URL"));
    proxied.proxy_url = Some(format!("http://me:{PLANTED}@127.0.0.1:1").parse().expect("a URL"));
    configs.push(proxied);
    for config in configs {
        match watching_client(config) {
            Err(error) => said.error(&error),
            Ok(client) => {
                let source = ApiListWatch::<Secret>::new(client.clone(), &(), None);
                said.print(&source);
                let listed = crate::asking::soon("a failure", source.list(ListRequest::default())).await;
                said.error(&listed.err().expect("no server is there"));
                let factory = SharedInformerFactory::builder(client);
                said.print(&factory);
                said.print(&factory.build());
            }
        }
    }
    said.clean(2_000, "credentials");
}

/// A failure is told in the server's words, and credentials are not among those that this library knows.
#[tokio::test]
async fn an_answer_that_refuses_credentials_is_told_without_them() {
    let said = Said::default();
    let server = crate::small_server::SmallServer::plain().await;
    let mut config = server.config();
    config.auth_info.token = Some(PLANTED.to_owned().into());
    let client = watching_client(config).expect("a client");
    crate::asking::answer(&client, "/short").await;
    assert!(
        server
            .headers_of_last()
            .iter()
            .any(|header| header.contains(PLANTED))
    );
    let unauthorized =
        r#"{"kind":"Status","apiVersion":"v1","code":401,"reason":"Unauthorized","message":"Unauthorized"}"#;
    let source = ApiListWatch::<Secret>::new(answering(401, unauthorized.to_owned()), &(), None);
    let error: Error = source
        .list(ListRequest::default())
        .await
        .err()
        .expect("a failure");
    said.error(&error);
    said.clean(20, "401");
    assert!(error.to_string().contains("check the credentials"), "{error}");
}
