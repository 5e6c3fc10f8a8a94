//! Measures the capacity of the server.
//!
//! ```sh
//! cargo bench -p kube-embedded --bench load [-- --pods N --custom N --watchers N --rate N --seconds N]
//! ```
//!
//! Many watchers follow changes of one kind. Then pods of about 12 KB are loaded and listed over a loopback socket, and
//! after them custom resources with a schema of 54 properties. Prints time, CPU and memory. Client and server share a
//! process, so CPU is the sum of both.
//!
//! To count instructions, run the program under `valgrind --tool=callgrind` with few objects and `--seconds 0`.

#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::naive_bytecount,
    reason = "printed figures need not be exact"
)]

mod objects;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube_embedded::Server;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::Instant;

use self::objects::{definition, gadget, pod};

struct Options {
    pods: usize,
    custom: usize,
    watchers: usize,
    rate: u64,
    seconds: u64,
}

impl Options {
    fn from_args() -> Options {
        let args: Vec<String> = std::env::args().collect();
        let option = |name: &str, default: u64| {
            let at = args.iter().position(|a| a == name);
            at.and_then(|at| args.get(at + 1)?.parse().ok())
                .unwrap_or(default)
        };
        Options {
            pods: usize::try_from(option("--pods", 100_000)).unwrap_or(100_000),
            custom: usize::try_from(option("--custom", 10_000)).unwrap_or(10_000),
            watchers: usize::try_from(option("--watchers", 1000)).unwrap_or(1000),
            rate: option("--rate", 1000),
            seconds: option("--seconds", 10),
        }
    }
}

fn main() {
    // `cargo test --benches` passes `--test`; there is nothing to test.
    if std::env::args().any(|a| a == "--test") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(run(&Options::from_args()));
}

async fn run(options: &Options) {
    let server = Server::start().await.expect("a server");
    // Watches first, because freed memory of the pods would hide that of the watchers.
    watches(&server, options).await;
    load(&server, options.pods);
    lists(&server, &PODS).await;
    custom(&server, options.custom).await;
    server.stop().await;
}

fn load(server: &Server, pods: usize) {
    let size = pod(0).to_string().len();
    let before = memory();
    let (start, cpu) = (Instant::now(), cpu_seconds());
    server.load((0..pods).map(pod)).expect("pods are loaded");
    let elapsed = start.elapsed().as_secs_f64();
    let taken = memory().saturating_sub(before);
    println!(
        "load      {pods} pods of {size} bytes as sent, {} as stored",
        server.size("pods") / pods.max(1)
    );
    println!(
        "          {:.1} s, {:.0} objects/s, {:.0} µs CPU each",
        elapsed,
        pods as f64 / elapsed,
        (cpu_seconds() - cpu) * 1e6 / pods as f64
    );
    println!(
        "          {} bytes of memory per object (history of the last 10,000 changes included)",
        taken / pods.max(1)
    );
}

/// Name, path and format of a list.
type Round = (&'static str, &'static str, &'static str);

const PODS: [Round; 6] = [
    ("JSON", "/api/v1/pods", "application/json"),
    ("JSON", "/api/v1/pods", "application/json"),
    (
        "JSON, metadata only",
        "/api/v1/pods",
        "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    ),
    ("JSON, pages of 500", "/api/v1/pods?limit=500", "application/json"),
    (
        "protobuf, first time",
        "/api/v1/pods",
        "application/vnd.kubernetes.protobuf",
    ),
    (
        "protobuf, again",
        "/api/v1/pods",
        "application/vnd.kubernetes.protobuf",
    ),
];

const GADGETS: [Round; 2] = [
    (
        "JSON, custom",
        "/apis/bench.example/v1/gadgets",
        "application/json",
    ),
    (
        "table, custom",
        "/apis/bench.example/v1/gadgets",
        "application/json;as=Table;v=v1;g=meta.k8s.io",
    ),
];

/// Loads, gets and lists custom resources.
async fn custom(server: &Server, objects: usize) {
    server.load([definition()]).expect("a definition");
    let cpu = cpu_seconds();
    server.load((0..objects).map(gadget)).expect("gadgets are loaded");
    println!(
        "custom    {objects} objects of {} bytes as stored: load {:.0} µs CPU each",
        server.size("gadgets.bench.example") / objects.max(1),
        (cpu_seconds() - cpu) * 1e6 / objects as f64
    );
    let mut connection = connect(server).await;
    let cpu = cpu_seconds();
    for n in 0..objects {
        let path = format!("/apis/bench.example/v1/namespaces/default/gadgets/g{n}");
        drain(get(&mut connection, &path, "application/json").await).await;
    }
    println!(
        "          get {:.0} µs CPU each",
        (cpu_seconds() - cpu) * 1e6 / objects as f64
    );
    lists(server, &GADGETS).await;
}

async fn lists(server: &Server, rounds: &[Round]) {
    let mut connection = connect(server).await;
    for (name, path, accept) in rounds {
        let (start, cpu) = (Instant::now(), cpu_seconds());
        let mut bytes = 0;
        let mut next = (*path).to_owned();
        loop {
            let page = get(&mut connection, &next, accept).await;
            let (length, token) = if path.contains("limit") {
                read_page(page).await
            } else {
                (drain(page).await, None)
            };
            bytes += length;
            match token {
                Some(token) => next = format!("{path}&continue={token}"),
                None => break,
            }
        }
        let elapsed = start.elapsed().as_secs_f64();
        println!(
            "list      {:<22} {:>7.0} MB in {:.2} s: {:.0} MB/s, {:.2} s CPU",
            name,
            bytes as f64 / 1e6,
            elapsed,
            bytes as f64 / 1e6 / elapsed,
            cpu_seconds() - cpu
        );
    }
}

async fn watches(server: &Server, options: &Options) {
    let object = |n: u64, sent: Duration| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": format!("c{}", n % 100), "namespace": "default" },
            "data": { "n": n.to_string(), "sent": sent.as_nanos().to_string(), "padding": "x".repeat(200) },
        })
    };
    let began = Instant::now();
    server
        .load((0..100).map(|n| object(n, Duration::ZERO)))
        .expect("loaded");
    let version = server.resource_version();
    let before = memory();
    let events = Arc::new(AtomicU64::new(0));
    let bytes = Arc::new(AtomicU64::new(0));
    let delays = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let mut connections = Vec::new();
    let mut tasks = Vec::new();
    for n in 0..options.watchers {
        if n % 100 == 0 {
            connections.push(connect(server).await);
        }
        let connection = connections.last_mut().expect("a connection");
        let path = format!("/api/v1/namespaces/default/configmaps?watch=1&resourceVersion={version}");
        let body = get(connection, &path, "application/json").await;
        let (events, bytes, delays) = (events.clone(), bytes.clone(), delays.clone());
        // Only every hundredth watcher measures delays; all of them count events.
        tasks.push(tokio::spawn(watch(
            body,
            events,
            bytes,
            (n % 100 == 7).then_some((delays, began)),
        )));
    }
    let per_watcher = memory().saturating_sub(before) / options.watchers.max(1);
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let changes = options.rate * options.seconds;
    let mut tick = tokio::time::interval(Duration::from_millis(10));
    let mut sent = 0;
    while sent < changes {
        tick.tick().await;
        let due = (start.elapsed().as_secs_f64() * options.rate as f64) as u64;
        let batch = due.min(changes).saturating_sub(sent);
        server
            .load((sent..sent + batch).map(|n| object(n, began.elapsed())))
            .expect("changed");
        sent += batch;
    }
    let sending = start.elapsed().as_secs_f64();
    let expected = changes * options.watchers as u64;
    while events.load(Ordering::Relaxed) < expected {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let elapsed = start.elapsed().as_secs_f64();
    let mut delays = std::mem::take(&mut *delays.lock());
    delays.sort_unstable();
    let at = |share: f64| {
        delays
            .get((delays.len() as f64 * share) as usize)
            .copied()
            .unwrap_or_default()
    };
    println!(
        "watch     {} watchers on {} HTTP/2 connections, {changes} changes at {:.0}/s",
        options.watchers,
        connections.len(),
        changes as f64 / sending
    );
    println!(
        "          {:.2} million events/s, {:.0} MB/s, all delivered {:.2} s after the last change",
        events.load(Ordering::Relaxed) as f64 / elapsed / 1e6,
        bytes.load(Ordering::Relaxed) as f64 / elapsed / 1e6,
        elapsed - sending
    );
    println!(
        "          delay p50 {:?}, p99 {:?}; {:.0}% CPU of one core",
        at(0.5),
        at(0.99),
        (cpu_seconds() - cpu) / elapsed * 100.0
    );
    println!("          {per_watcher} bytes of memory per watcher, client side included");
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
}

type Delays = (Arc<parking_lot::Mutex<Vec<Duration>>>, Instant);

async fn watch(mut body: Incoming, events: Arc<AtomicU64>, bytes: Arc<AtomicU64>, delays: Option<Delays>) {
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(data) = frame.into_data() else { continue };
        let lines = data.iter().filter(|b| **b == b'\n').count();
        events.fetch_add(lines as u64, Ordering::Relaxed);
        bytes.fetch_add(data.len() as u64, Ordering::Relaxed);
        if let Some((delays, began)) = &delays {
            let now = began.elapsed();
            let sent = data.split(|b| *b == b'\n').filter_map(|line| {
                let event: Value = serde_json::from_slice(line).ok()?;
                event["object"]["data"]["sent"].as_str()?.parse().ok()
            });
            delays
                .lock()
                .extend(sent.map(|nanos| now.saturating_sub(Duration::from_nanos(nanos))));
        }
    }
}

type Connection = hyper::client::conn::http2::SendRequest<Empty<Bytes>>;

async fn connect(server: &Server) -> Connection {
    let stream = TcpStream::connect(server.address()).await.expect("a connection");
    stream.set_nodelay(true).expect("no delay");
    let mut builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    builder
        .initial_stream_window_size(1 << 20)
        .initial_connection_window_size(16 << 20);
    let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.expect("HTTP/2");
    tokio::spawn(connection);
    sender
}

async fn get(connection: &mut Connection, path: &str, accept: &str) -> Incoming {
    connection.ready().await.expect("ready");
    let request = Request::get(format!("http://localhost{path}"))
        .header("accept", accept)
        .body(Empty::new());
    let response = connection
        .send_request(request.expect("a request"))
        .await
        .expect("an answer");
    assert!(response.status().is_success(), "{path}: {}", response.status());
    response.into_body()
}

async fn drain(mut body: Incoming) -> usize {
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        length += frame.expect("data").data_ref().map_or(0, Bytes::len);
    }
    length
}

async fn read_page(body: Incoming) -> (usize, Option<String>) {
    let bytes = body.collect().await.expect("a page").to_bytes();
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(2000)]);
    let token = head
        .split_once("\"continue\":\"")
        .and_then(|(_, rest)| Some(rest.split_once('"')?.0.to_owned()));
    (bytes.len(), token)
}

/// Returns the resident memory of this process in bytes.
fn memory() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: usize = statm.split(' ').nth(1).and_then(|p| p.parse().ok()).unwrap_or(0);
    pages * 4096
}

/// Returns the CPU time of this process, user and system, in seconds.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: u64 = after
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|t| t.parse::<u64>().ok())
        .sum();
    ticks as f64 / 100.0
}
