//! Servers that never end: what they send is read up to a limit, and not further.

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

use crate::asking::soon;

const JSON: &str = "application/json";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const MIB: usize = 1 << 20;
/// What is read at once.
const PIECE: usize = 1 << 14;

/// A body of pieces.
type Answer = StreamBody<BoxStream<'static, Result<Frame<Bytes>, Infallible>>>;

/// What was taken from a server.
#[derive(Clone, Default)]
struct Taken {
    bytes: Arc<AtomicUsize>,
    requests: Arc<AtomicUsize>,
}

impl Taken {
    fn bytes(&self) -> usize {
        self.bytes.load(Ordering::SeqCst)
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// Counts the pieces that are asked for.
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

    /// A client whose requests are answered by this.
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

    /// A client that gets a beginning, and then the same for ever.
    fn endless(&self, code: u16, format: &'static str, begin: &'static [u8], then: &'static [u8]) -> Client {
        let taken = self.clone();
        self.client(move |_, _| {
            let piece = Bytes::from(then.repeat(PIECE.div_ceil(then.len())));
            let pieces = stream::iter([Bytes::from_static(begin)]).chain(stream::repeat(piece));
            answer(code, format, taken.body(pieces))
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

fn says_what_to_do(error: &Error, taken: &Taken) {
    assert!(error.is_bad_data(), "{error:?}");
    let words = error.to_string();
    assert!(
        words.contains("1 MiB, which is the limit; max_object_bytes()"),
        "{words}"
    );
    assert!(words.len() < 1_000);
    assert!(
        taken.bytes() <= MIB + 2 * PIECE,
        "{} bytes were read",
        taken.bytes()
    );
}

fn says_that_list_is_too_large(error: &Error, mebibytes: usize) {
    let words = format!("{mebibytes} MiB, which is the limit; max_list_bytes()");
    assert!(error.to_string().contains(&words), "{error}");
}

#[tokio::test]
async fn a_line_without_an_end_is_given_up() {
    for begin in [&b""[..], br#"{"type":"ADDED","object":{"metadata":{"name":""#] {
        let taken = Taken::default();
        let error = first_error_of_watch(taken.endless(200, JSON, begin, b"a")).await;
        says_what_to_do(&error, &taken);
    }
}

#[tokio::test]
async fn a_frame_that_says_it_has_four_gigabytes_is_not_waited_for() {
    let taken = Taken::default();
    let client = taken.endless(
        200,
        "application/vnd.kubernetes.protobuf;stream=watch",
        &[0xff; 4],
        b"a",
    );
    let error = first_error_of_watch(client).await;
    says_what_to_do(&error, &taken);
    assert!(taken.bytes() <= PIECE + 4, "{} bytes were read", taken.bytes());
}

#[tokio::test]
async fn an_object_of_a_list_without_an_end_is_given_up() {
    let json = br#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":[{"data":{"a":""#;
    let taken = Taken::default();
    let error = first_error_of_list(maps(taken.endless(200, JSON, json, b"a"))).await;
    says_what_to_do(&error, &taken);
    // An envelope whose raw part claims to be a list with an item of four gigabytes.
    let protobuf =
        b"k8s\0\x0a\x13\x0a\x02v1\x12\x0dConfigMapList\x12\xff\xff\xff\xff\x0f\x12\xf0\xff\xff\xff\x0f";
    let taken = Taken::default();
    let error = first_error_of_list(maps(taken.endless(200, PROTOBUF, protobuf, b"a"))).await;
    says_what_to_do(&error, &taken);
}

/// What stands around the items of a list has a limit, too; what nobody reads is not kept, and ends with the page.
#[tokio::test]
async fn the_metadata_of_a_list_without_an_end_is_given_up() {
    for json in [
        &br#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"continue":""#[..],
        br#"{"kind":""#,
        br#"{"other":""#,
    ] {
        let taken = Taken::default();
        let source = maps(taken.endless(200, JSON, json, b"a")).max_list_bytes(4 * MIB as u64);
        let error = first_error_of_list(source).await;
        let words = error.to_string();
        assert!(
            error.is_bad_data() && words.contains("MiB, which is the limit; max_"),
            "{words}"
        );
        assert!(taken.bytes() <= 4 * MIB + 2 * PIECE);
    }
}

#[tokio::test]
async fn a_page_without_an_end_is_given_up() {
    let begin = br#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":["#;
    let item = br#"{"metadata":{"name":"a","namespace":"default","resourceVersion":"1"}},"#;
    let taken = Taken::default();
    let source = maps(taken.endless(200, JSON, begin, item)).max_list_bytes(4 * MIB as u64);
    let error = first_error_of_list(source).await;
    says_that_list_is_too_large(&error, 4);
    assert!(taken.bytes() <= 4 * MIB + 2 * PIECE);
}

#[tokio::test]
async fn a_failure_without_an_end_is_a_failure() {
    let status = br#"{"kind":"Status","apiVersion":"v1","code":500,"reason":"InternalError","message":""#;
    for begin in [&b""[..], status] {
        let taken = Taken::default();
        let error = first_error_of_list(maps(taken.endless(500, JSON, begin, b"a"))).await;
        assert_eq!(
            error.server_status().map(|status| status.code),
            Some(500),
            "{error:?}"
        );
        assert!(error.to_string().len() < 10_000);
        assert!(taken.bytes() <= MIB + 2 * PIECE);
    }
}

#[tokio::test]
async fn names_and_messages_without_measure_are_not_repeated() {
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
        let taken = Taken::default();
        let inside = taken.clone();
        let client = taken.client(move |_, _| {
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

/// An informer that is told of its errors.
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

/// Pages of one object each, and always another: neither memory nor the server's patience is used up.
#[tokio::test(start_paused = true)]
async fn a_list_of_small_pages_without_an_end_is_slow_and_given_up() {
    for bytes in [10, 10_000] {
        let taken = Taken::default();
        let inside = taken.clone();
        let client =
            taken.client(move |count, _| answer(200, JSON, inside.body(stream::iter([page(count, bytes)]))));
        let began = Instant::now();
        let (informer, mut errors) = informer(client, false);
        let error = errors.recv().await.expect("an error");
        says_that_list_is_too_large(&error, 1);
        assert!(taken.bytes() <= 4 * MIB, "{}", taken.bytes());
        let seconds = usize::try_from(began.elapsed().as_secs()).expect("no years");
        assert!(
            taken.requests() <= seconds + 25,
            "{} in {seconds} s",
            taken.requests()
        );
        assert!(informer.snapshot().is_empty());
        informer.shutdown().await;
    }
}

/// Objects as a stream, and never the bookmark that ends them.
#[tokio::test(start_paused = true)]
async fn a_streaming_list_without_an_end_is_given_up() {
    let taken = Taken::default();
    let inside = taken.clone();
    let client = taken.client(move |_, request| {
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
    says_that_list_is_too_large(&error, 1);
    assert!(taken.bytes() <= MIB + 64 * PIECE, "{}", taken.bytes());
    assert!(informer.snapshot().is_empty());
    informer.shutdown().await;
}

#[tokio::test]
async fn headers_without_an_end_are_given_up() {
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
    // What the sockets hold back, and what is read before it is too much.
    assert!(sent < 16 * MIB, "{sent} bytes were taken");
}
