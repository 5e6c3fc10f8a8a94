//! Hostile servers that send without end, whose responses are limited.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, BoxStream, Stream, StreamExt};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::client::Body;
use kube_informer::{
    Error, SharedInformer,
    source::{ApiListWatch, ListRequest, ListWatch, WatchRequest},
};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::requests::soon;

const JSON: &str = "application/json";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const MIB: usize = 1 << 20;
/// Size of a piece of a response.
const PIECE: usize = 1 << 14;

/// A body of pieces.
type Answer = StreamBody<BoxStream<'static, Result<Frame<Bytes>, Infallible>>>;

/// Counts the bytes and requests of a test.
#[derive(Clone, Default)]
struct Counters {
    bytes: Arc<AtomicUsize>,
    requests: Arc<AtomicUsize>,
}

impl Counters {
    fn bytes(&self) -> usize {
        self.bytes.load(Ordering::SeqCst)
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// Counts the pieces that are read.
    fn body(&self, pieces: impl Stream<Item = Bytes> + Send + 'static) -> Answer {
        let bytes = Arc::clone(&self.bytes);
        StreamBody::new(
            pieces
                .map(move |piece| {
                    bytes.fetch_add(piece.len(), Ordering::SeqCst);
                    Ok::<_, Infallible>(Frame::data(piece))
                })
                .boxed(),
        )
    }

    /// Returns a client whose requests get this response.
    fn client(
        &self,
        answer: impl Fn(usize, &Request<Body>) -> Response<Answer> + Send + Sync + 'static,
    ) -> Client {
        let (requests, answer) = (Arc::clone(&self.requests), Arc::new(answer));
        let service = tower::service_fn(move |request: Request<Body>| {
            let count = requests.fetch_add(1, Ordering::SeqCst);
            let answered = answer(count, &request);
            async move { Ok::<_, Infallible>(answered) }
        });
        Client::new(service, "default")
    }

    /// Returns a client that receives `begin`, and then `then` without end.
    fn endless(&self, code: u16, format: &'static str, begin: &'static [u8], then: &'static [u8]) -> Client {
        let counters = self.clone();
        self.client(move |_, _| {
            let piece = Bytes::from(then.repeat(PIECE.div_ceil(then.len())));
            let pieces = stream::iter([Bytes::from_static(begin)]).chain(stream::repeat(piece));
            answer(code, format, counters.body(pieces))
        })
    }
}

fn answer(code: u16, format: &str, body: Answer) -> Response<Answer> {
    let response = Response::builder().status(code).header("content-type", format);
    response.body(body).expect("an answer of known parts")
}

fn maps(client: Client) -> ApiListWatch<ConfigMap> {
    ApiListWatch::new(client, &(), Some("default")).max_object_bytes(MIB)
}

async fn first_error_of_watch(client: Client) -> Error {
    let request = WatchRequest {
        resource_version: Some("1".into()),
        timeout: Duration::from_secs(5 * 60),
        initial_events: false,
    };
    let mut events = maps(client).watch(request).await.expect("an answer");
    loop {
        match soon("an event", events.next()).await {
            Some(Ok(_)) => {}
            Some(Err(error)) => return error,
            None => panic!("the watch has no end"),
        }
    }
}

async fn first_error_of_list(source: ApiListWatch<ConfigMap>) -> Error {
    let mut parts = match soon("an answer", source.list(ListRequest::default())).await {
        Ok(parts) => parts,
        Err(error) => return error,
    };
    loop {
        match soon("an item", parts.next()).await {
            Some(Ok(_)) => {}
            Some(Err(error)) => return error,
            None => panic!("the list has no end"),
        }
    }
}

fn check_object_limit(error: &Error, counters: &Counters) {
    assert!(error.is_bad_data(), "{error:?}");
    let words = error.to_string();
    assert!(
        words.contains("exceeds the limit of 1 MiB") && words.contains("max_object_bytes()"),
        "{words}"
    );
    assert!(words.len() < 1_000);
    assert!(
        counters.bytes() <= MIB + 2 * PIECE,
        "{} bytes were read",
        counters.bytes()
    );
}

fn check_list_limit(error: &Error, mebibytes: usize) {
    let words = format!("exceeds the limit of {mebibytes} MiB: raise it with max_list_bytes()");
    assert!(error.to_string().contains(&words), "{error}");
}

#[tokio::test]
async fn an_endless_line_is_rejected() {
    for begin in [&b""[..], br#"{"type":"ADDED","object":{"metadata":{"name":""#] {
        let counters = Counters::default();
        let error = first_error_of_watch(counters.endless(200, JSON, begin, b"a")).await;
        check_object_limit(&error, &counters);
    }
}

#[tokio::test]
async fn a_frame_that_claims_four_gigabytes_is_rejected_at_once() {
    let counters = Counters::default();
    let client = counters.endless(
        200,
        "application/vnd.kubernetes.protobuf;stream=watch",
        &[0xff; 4],
        b"a",
    );
    let error = first_error_of_watch(client).await;
    check_object_limit(&error, &counters);
    assert!(
        counters.bytes() <= PIECE + 4,
        "{} bytes were read",
        counters.bytes()
    );
}

#[tokio::test]
async fn an_endless_object_of_a_list_is_rejected() {
    let json = br#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":[{"data":{"a":""#;
    let counters = Counters::default();
    let error = first_error_of_list(maps(counters.endless(200, JSON, json, b"a"))).await;
    check_object_limit(&error, &counters);
    // An envelope whose raw part claims to be a list with an item of four gigabytes.
    let protobuf =
        b"k8s\0\x0a\x13\x0a\x02v1\x12\x0dConfigMapList\x12\xff\xff\xff\xff\x0f\x12\xf0\xff\xff\xff\x0f";
    let counters = Counters::default();
    let error = first_error_of_list(maps(counters.endless(200, PROTOBUF, protobuf, b"a"))).await;
    check_object_limit(&error, &counters);
}

/// The fields around the items of a list are limited, too; unknown fields are not kept, but count for the
/// page.
#[tokio::test]
async fn endless_list_metadata_is_rejected() {
    for json in [
        &br#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"continue":""#[..],
        br#"{"kind":""#,
        br#"{"other":""#,
    ] {
        let counters = Counters::default();
        let source = maps(counters.endless(200, JSON, json, b"a")).max_list_bytes(4 * MIB as u64);
        let error = first_error_of_list(source).await;
        let words = error.to_string();
        assert!(
            error.is_bad_data() && words.contains("exceeds the limit of"),
            "{words}"
        );
        assert!(counters.bytes() <= 4 * MIB + 2 * PIECE);
    }
}

#[tokio::test]
async fn an_endless_page_is_rejected() {
    let begin = br#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":["#;
    let item = br#"{"metadata":{"name":"a","namespace":"default","resourceVersion":"1"}},"#;
    let counters = Counters::default();
    let source = maps(counters.endless(200, JSON, begin, item)).max_list_bytes(4 * MIB as u64);
    let error = first_error_of_list(source).await;
    check_list_limit(&error, 4);
    assert!(counters.bytes() <= 4 * MIB + 2 * PIECE);
}

#[tokio::test]
async fn an_endless_failure_is_reported() {
    let status = br#"{"kind":"Status","apiVersion":"v1","code":500,"reason":"InternalError","message":""#;
    for begin in [&b""[..], status] {
        let counters = Counters::default();
        let error = first_error_of_list(maps(counters.endless(500, JSON, begin, b"a"))).await;
        assert_eq!(
            error.server_status().map(|status| status.code),
            Some(500),
            "{error:?}"
        );
        assert!(error.to_string().len() < 10_000);
        assert!(counters.bytes() <= MIB + 2 * PIECE);
    }
}

#[tokio::test]
async fn overlong_names_and_messages_are_truncated_in_errors() {
    let long = "a".repeat(MIB / 2);
    for line in [
        format!(r#"{{"type":"{long}","object":{{}}}}"#),
        format!(r#"{{"type":"ADDED","object":{{"kind":"{long}","apiVersion":"v1","metadata":{{}}}}}}"#),
        format!(r#"{{"type":"ERROR","object":{{"kind":"Status","message":"{long}","reason":"{long}"}}}}"#),
        format!(
            r#"{{"type":"ADDED","object":{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{"name":"{long}"}}}}}}"#
        ),
        format!(r#"{{"type":"BOOKMARK","object":{{"metadata":{{"{long}":tru}}}}}}"#),
    ] {
        let counters = Counters::default();
        let inside = counters.clone();
        let client = counters.client(move |_, _| {
            let line = Bytes::from(format!("{line}\n"));
            answer(200, JSON, inside.body(stream::iter([line])))
        });
        let request = WatchRequest {
            resource_version: None,
            timeout: Duration::from_secs(5 * 60),
            initial_events: false,
        };
        let mut events = maps(client).watch(request).await.expect("an answer");
        let words = format!("{:?}", events.next().await.expect("an event or an error"));
        assert!(words.len() < 20_000, "{} bytes: {:.300}", words.len(), words);
    }
}

/// Starts an informer and returns its reported errors.
fn informer(client: Client, streaming: bool) -> (SharedInformer<ConfigMap>, mpsc::UnboundedReceiver<Error>) {
    let (tell, errors) = mpsc::unbounded_channel();
    let informer = SharedInformer::<ConfigMap>::builder(client)
        .streaming_list(streaming)
        .max_list_bytes(MIB as u64)
        .watch_error_handler(move |error| drop(tell.send(error.clone())))
        .seed(1)
        .build();
    informer.start().expect("a first start");
    (informer, errors)
}

fn object(count: usize, bytes: usize) -> String {
    let text = "a".repeat(bytes);
    format!(
        r#"{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{"name":"m{count}","namespace":"default","resourceVersion":"5"}},"data":{{"t":"{text}"}}}}"#
    )
}

fn page(count: usize, bytes: usize) -> Bytes {
    let item = object(count, bytes);
    Bytes::from(format!(
        r#"{{"kind":"ConfigMapList","apiVersion":"v1","metadata":{{"resourceVersion":"5","continue":"t{count}"}},"items":[{item}]}}"#
    ))
}

/// Pages of one object each, in which every object is new: limited in memory and in requests.
#[tokio::test(start_paused = true)]
async fn an_endless_list_of_small_pages_is_slowed_down_and_cancelled() {
    for bytes in [10, 10_000] {
        let counters = Counters::default();
        let inside = counters.clone();
        let client = counters
            .client(move |count, _| answer(200, JSON, inside.body(stream::iter([page(count, bytes)]))));
        let began = Instant::now();
        let (informer, mut errors) = informer(client, false);
        let error = errors.recv().await.expect("an error");
        check_list_limit(&error, 1);
        assert!(counters.bytes() <= 4 * MIB, "{}", counters.bytes());
        let seconds = usize::try_from(began.elapsed().as_secs()).expect("no years");
        assert!(
            counters.requests() <= seconds + 25,
            "{} in {seconds} s",
            counters.requests()
        );
        assert!(informer.snapshot().is_empty());
        informer.shutdown().await;
    }
}

/// Objects as a stream without the bookmark that ends them.
#[tokio::test(start_paused = true)]
async fn an_endless_streaming_list_is_rejected() {
    let counters = Counters::default();
    let inside = counters.clone();
    let client = counters.client(move |_, request| {
        if !request
            .uri()
            .query()
            .unwrap_or_default()
            .contains("sendInitialEvents")
        {
            return answer(503, JSON, inside.body(stream::empty()));
        }
        let events = stream::iter(0..).map(|count| {
            Bytes::from(format!(
                "{{\"type\":\"ADDED\",\"object\":{}}}\n",
                object(count, 10_000)
            ))
        });
        answer(200, JSON, inside.body(events))
    });
    let (informer, mut errors) = informer(client, true);
    let error = errors.recv().await.expect("an error");
    check_list_limit(&error, 1);
    assert!(counters.bytes() <= MIB + 64 * PIECE, "{}", counters.bytes());
    assert!(informer.snapshot().is_empty());
    informer.shutdown().await;
}

#[tokio::test]
async fn endless_headers_are_rejected() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut sent = stream.write(b"HTTP/1.1 200 OK\r\n").await.expect("a first line");
        let header = [b"x-a: ".as_slice(), &[b'a'; 8_000], b"\r\n"].concat();
        while let Ok(bytes) = stream.write(&header).await {
            sent += bytes;
        }
        sent
    });
    let config = kube::Config::new(format!("http://{address}").parse().expect("a URL"));
    let client = kube_informer::client::watching_client(config).expect("a client");
    let error = first_error_of_list(maps(client.clone())).await;
    assert!(error.is_connection(), "{error:?}");
    drop(client);
    let sent = soon("the end of the connection", server).await.expect("a count");
    // The socket buffers, and what is read before the limit is reached.
    assert!(sent < 16 * MIB, "{sent} bytes were counters");
}
