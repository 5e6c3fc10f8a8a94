//! A connection with HTTP/2, which all requests share.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use hyper::client::conn::http2::{Builder, SendRequest};
use hyper::rt::{Executor, Read, Write};
use hyper_util::rt::TokioTimer;
use kube::client::Body;
use tokio::sync::Notify;

/// What a server may send on one stream before anyone reads it: enough for a list over a long way.
const STREAM_WINDOW: u32 = 2 << 20;
/// What it may send on all of them. It is wide open: a body that nobody reads fills its own stream's window and then
/// waits, and this one still has room for the others.
const CONNECTION_WINDOW: u32 = 1 << 30;
/// As many streams fit into the connection's window even if none of them is read.
const MOST_STREAMS: usize = (CONNECTION_WINDOW / STREAM_WINDOW) as usize;

/// After so much silence the server is asked whether it is there, as client-go does.
const PING_AFTER: Duration = Duration::from_secs(30);
/// And after so much more the connection counts as dead.
const PING_PATIENCE: Duration = Duration::from_secs(15);

/// A connection and how many streams are in use on it.
pub(super) struct Connection {
    sender: SendRequest<Body>,
    streams: AtomicUsize,
    /// How many the server allows.
    allowed: Arc<AtomicUsize>,
}

/// A place among a connection's streams, kept until it is dropped.
pub(super) struct Stream(Arc<Connection>);

impl Connection {
    /// Says hello, and waits for the server's: it says how many streams there may be at a time. One too many would wait
    /// until another ends, and watches do not end.
    pub(super) async fn begin<S>(io: S) -> Result<Arc<Connection>, io::Error>
    where
        S: Read + Write + Unpin + Send + 'static,
    {
        let tasks = Tasks::default();
        let (sender, connection) = Builder::new(tasks.clone())
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            // None until the server has said how many.
            .initial_max_send_streams(0)
            .keep_alive_interval(PING_AFTER)
            .keep_alive_timeout(PING_PATIENCE)
            .keep_alive_while_idle(true)
            .handshake(io)
            .await
            .map_err(io::Error::other)?;
        let mut connection = Box::pin(connection);
        while connection.current_max_send_streams() == 0 {
            tokio::select! {
                ended = &mut connection => {
                    let eof = || io::Error::from(io::ErrorKind::UnexpectedEof);
                    return Err(ended.map_or_else(io::Error::other, |()| eof()));
                }
                () = tasks.0.progress.notified() => {}
            }
        }
        tasks.0.heard.store(true, Ordering::Relaxed);
        let allowed = Arc::new(AtomicUsize::new(connection.current_max_send_streams()));
        let told = Arc::clone(&allowed);
        tokio::spawn(async move {
            let ended = std::future::poll_fn(|cx| {
                let polled = connection.as_mut().poll(cx);
                told.store(connection.current_max_send_streams(), Ordering::Relaxed);
                polled
            })
            .await;
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection with HTTP/2 ended");
            }
        });
        Ok(Arc::new(Connection {
            sender,
            streams: AtomicUsize::new(0),
            allowed,
        }))
    }

    pub(super) fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    /// How many streams may be in use. A tenth of what the server allows stays free, because a stream that ended here is
    /// for a moment still open for the server.
    pub(super) fn room(&self) -> usize {
        let allowed = self.allowed.load(Ordering::Relaxed).min(MOST_STREAMS);
        (allowed - allowed / 10).max(1)
    }

    /// A place for one more request, if there is one.
    pub(super) fn stream(self: &Arc<Connection>) -> Option<Stream> {
        if !self.is_open() {
            return None;
        }
        let room = self.room();
        let one_more = |streams| (streams < room).then_some(streams + 1);
        self.streams
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
            .ok()?;
        Some(Stream(Arc::clone(self)))
    }
}

impl Stream {
    pub(super) fn sender(&self) -> SendRequest<Body> {
        self.0.sender.clone()
    }

    pub(super) fn connection(&self) -> &Arc<Connection> {
        &self.0
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.0.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs a connection's tasks, and tells of their progress until the server's hello has been heard.
#[derive(Clone, Default)]
struct Tasks(Arc<Hello>);

#[derive(Default)]
struct Hello {
    progress: Notify,
    heard: AtomicBool,
}

impl<F> Executor<F> for Tasks
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, task: F) {
        let hello = Arc::clone(&self.0);
        tokio::spawn(async move {
            let mut task = pin!(task);
            std::future::poll_fn(|cx| {
                let polled = task.as_mut().poll(cx);
                if !hello.heard.load(Ordering::Relaxed) {
                    hello.progress.notify_one();
                }
                polled
            })
            .await
        });
    }
}
