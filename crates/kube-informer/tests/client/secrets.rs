//! Planted secrets must not appear in the log at its finest level, in an error or its causes, or in the
//! `Debug` output of any public type.

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

/// The planted secret as text, and all of its base64 encodings.
const PLANTED: &str = "planted-hunter2-planted";
const ENCODED: [&str; 3] = [
    "cGxhbnRlZC1odW50ZXIyLXBsYW50ZW",
    "BsYW50ZWQtaHVudGVyMi1wbGFudGVk",
    "wbGFudGVkLWh1bnRlcjItcGxhbnRlZ",
];

/// The captured output.
#[derive(Clone, Default)]
struct Output(Arc<Mutex<String>>);

impl Output {
    fn print(&self, what: &impl std::fmt::Debug) {
        let _ = write!(self.0.lock(), "{what:?}\n{what:#?}\n");
    }

    /// Captures an error and all its causes, with `Display` and `Debug`.
    fn error(&self, error: &(dyn StdError + 'static)) {
        let mut next = Some(error);
        while let Some(error) = next {
            let _ = write!(self.0.lock(), "{error}\n{error:?}\n{error:#?}\n");
            next = error.source();
        }
    }

    fn clean(&self, least: usize, what: &str) {
        let output = self.0.lock();
        assert!(
            output.len() > least,
            "{what}: there is too little output to prove anything: {output}"
        );
        for planted in [PLANTED].iter().chain(&ENCODED) {
            if let Some(at) = output.find(planted) {
                let line = output[..at].rfind('\n').map_or(0, |at| at + 1);
                panic!("{what}: {planted} was disclosed: {:.400}", &output[line..]);
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

/// The log of this project's crates at every level. The logs of hyper, h2 and rustls are not tested.
impl Subscriber for Output {
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
        let mut output = self.0.lock();
        event.record(&mut Line(&mut output));
        output.push('\n');
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

/// Returns every kind of invalid response.
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
async fn informers_do_not_disclose_the_contents_of_secrets() {
    let output = Output::default();
    let _log = tracing::subscriber::set_default(output.clone());
    for form in [CacheFormat::Decoded, CacheFormat::Packed] {
        for wire in [WireFormat::Json, WireFormat::Protobuf] {
            for streaming in [true, false] {
                run_informer(&output, form, wire, streaming).await;
                output.clean(1_000, &format!("{form:?} {wire:?} {streaming}"));
            }
        }
    }
}

/// Exposes an informer to every fault and prints everything that can be printed.
async fn run_informer(output: &Output, form: CacheFormat, wire: WireFormat, streaming: bool) {
    let server = Server::builder().seed(1).start().await.expect("a server");
    let api: Api<Secret> = Api::namespaced(server.direct_client(), "default");
    for name in ["a", "b"] {
        api.create(&PostParams::default(), &secret(name))
            .await
            .expect("a secret");
    }
    let (errors, log) = (output.clone(), output.clone());
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
    output.print(&builder);
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
    output.print(&(
        &secrets,
        secrets.snapshot(),
        secrets.lister(),
        secrets.status(),
        &objects,
    ));
    output.print(&secrets.find_index::<String>("password").expect("an index"));
    output.print(&(
        secrets.registrations(),
        &events,
        &queue,
        secrets.check_consistency().await,
    ));
    let said_events = events.take(2).collect::<Vec<_>>().await;
    output.print(&said_events);
    secrets.shutdown().await;
    server.stop().await;
}

/// Returns a client that gets this response to every request.
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

/// Values in the wrong place, which serde's own errors quote.
#[tokio::test]
async fn misplaced_values_are_not_quoted_in_errors() {
    let output = Output::default();
    let _log = tracing::subscriber::set_default(output.clone());
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
            read(&output, source).await;
        }
    }
    output.clean(10_000, "JSON");
}

/// Reads a response as a list and as a watch, and prints the results.
async fn read(output: &Output, source: ApiListWatch<Secret>) {
    match source.list(ListRequest::default()).await {
        Err(error) => output.error(&error),
        Ok(parts) => {
            for part in parts.collect::<Vec<_>>().await {
                match part {
                    Ok(kube_informer::source::ListPart::Object(item)) => {
                        output.print(&item);
                        print_decoding(output, item);
                    }
                    Ok(part) => output.print(&part),
                    Err(error) => output.error(&error),
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
        Err(error) => output.error(&error),
        Ok(events) => {
            for event in events.collect::<Vec<_>>().await {
                match event {
                    Ok(kube_informer::source::WatchEvent::Added(item)) => print_decoding(output, item),
                    Ok(event) => output.print(&event),
                    Err(error) => output.error(&error),
                }
            }
        }
    }
}

fn print_decoding(output: &Output, item: kube_informer::source::RawObject<Secret>) {
    if let Err(error) = item.into_parts() {
        output.error(&error);
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

/// Valid and unusable credentials, with an unreachable server.
#[tokio::test]
async fn credentials_are_not_disclosed() {
    let output = Output::default();
    let _log = tracing::subscriber::set_default(output.clone());
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
            Err(error) => output.error(&error),
            Ok(client) => {
                let source = ApiListWatch::<Secret>::new(client.clone(), &(), None);
                output.print(&source);
                let listed = crate::requests::soon("a failure", source.list(ListRequest::default())).await;
                output.error(&listed.err().expect("no server is there"));
                let factory = SharedInformerFactory::builder(client);
                output.print(&factory);
                output.print(&factory.build());
            }
        }
    }
    output.clean(2_000, "credentials");
}

/// The error contains the server's message, which does not contain the credentials.
#[tokio::test]
async fn rejected_credentials_are_reported_without_their_values() {
    let output = Output::default();
    let server = crate::small_server::SmallServer::plain().await;
    let mut config = server.config();
    config.auth_info.token = Some(PLANTED.to_owned().into());
    let client = watching_client(config).expect("a client");
    crate::requests::answer(&client, "/short").await;
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
    output.error(&error);
    output.clean(20, "401");
    assert!(error.to_string().contains("check the credentials"), "{error}");
}
