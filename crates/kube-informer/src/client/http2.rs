//! HTTP/2: a connection that many requests share.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use hyper::client::conn::http2::{Builder, SendRequest};
use hyper::rt::Executor;
use hyper_util::rt::{TokioIo, TokioTimer};
use kube::client::Body;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;

/// Flow control window of a stream, in bytes: large enough to receive lists at full speed over a slow network.
const STREAM_WINDOW: u32 = 2 << 20;
/// Flow control window of the connection, in bytes. Large enough that unread bodies, which fill their own windows, do not
/// block other streams.
const CONNECTION_WINDOW: u32 = 1 << 30;
/// The windows of this many streams fit into the connection's window.
const MAX_STREAMS: usize = (CONNECTION_WINDOW / STREAM_WINDOW) as usize;

/// Time without data before the server is pinged, and time that it has to answer, as in client-go.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(15);

/// A connection, and the number of its streams in use.
pub(super) struct Http2Connection {
    sender: SendRequest<Body>,
    streams: AtomicUsize,
    /// The server's limit of concurrent streams.
    max_streams: Arc<AtomicUsize>,
}

/// A reserved stream. Dropping it releases the stream.
pub(super) struct StreamSlot(Arc<Http2Connection>);

impl Http2Connection {
    /// Performs the handshake and spawns the task of the connection.
    ///
    /// Waits for the server's settings, which contain its limit of concurrent streams. A request above the limit would be
    /// blocked until another stream ends, and watches do not end.
    pub(super) async fn connect<S>(stream: S) -> Result<Arc<Http2Connection>, io::Error>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let executor = HandshakeExecutor::default();
        let (sender, connection) = Builder::new(executor.clone())
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            // No stream before the server's settings arrive.
            .initial_max_send_streams(0)
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT)
            .keep_alive_while_idle(true)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(io::Error::other)?;
        let mut connection = Box::pin(connection);
        while connection.current_max_send_streams() == 0 {
            tokio::select! {
                ended = &mut connection => {
                    let eof = || io::Error::from(io::ErrorKind::UnexpectedEof);
                    return Err(ended.map_or_else(io::Error::other, |()| eof()));
                }
                () = executor.0.progress.notified() => {}
            }
        }
        executor.0.is_done.store(true, Ordering::Relaxed);
        let max_streams = Arc::new(AtomicUsize::new(connection.current_max_send_streams()));
        let current_max = Arc::clone(&max_streams);
        tokio::spawn(async move {
            let ended = std::future::poll_fn(|cx| {
                let polled = connection.as_mut().poll(cx);
                current_max.store(connection.current_max_send_streams(), Ordering::Relaxed);
                polled
            })
            .await;
            if let Err(error) = ended {
                tracing::debug!(%error, "HTTP/2 connection failed");
            }
        });
        Ok(Arc::new(Http2Connection {
            sender,
            streams: AtomicUsize::new(0),
            max_streams,
        }))
    }

    pub(super) fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Returns how many streams may be in use: a tenth less than the server allows, because the server still counts a stream
    /// for a short time after the client has ended it.
    pub(super) fn capacity(&self) -> usize {
        let max = self.max_streams.load(Ordering::Relaxed).min(MAX_STREAMS);
        (max - max / 10).max(1)
    }

    /// Reserves a stream for one request. Returns none if the connection is closed or has no free stream.
    pub(super) fn reserve(self: &Arc<Http2Connection>) -> Option<StreamSlot> {
        if !self.is_open() {
            return None;
        }
        let capacity = self.capacity();
        let one_more = |streams| (streams < capacity).then_some(streams + 1);
        self.streams
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
            .ok()?;
        Some(StreamSlot(Arc::clone(self)))
    }
}

impl StreamSlot {
    pub(super) fn sender(&self) -> SendRequest<Body> {
        self.0.sender.clone()
    }

    pub(super) fn connection(&self) -> &Arc<Http2Connection> {
        &self.0
    }
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        self.0.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Spawns the tasks of a connection, and notifies of their progress until the handshake is done. hyper has no future for the
/// arrival of the settings, so `connect` checks for them after each step.
#[derive(Clone, Default)]
struct HandshakeExecutor(Arc<HandshakeProgress>);

#[derive(Default)]
struct HandshakeProgress {
    progress: Notify,
    is_done: AtomicBool,
}

impl<F> Executor<F> for HandshakeExecutor
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, task: F) {
        let handshake = Arc::clone(&self.0);
        tokio::spawn(async move {
            let mut task = pin!(task);
            std::future::poll_fn(|cx| {
                let polled = task.as_mut().poll(cx);
                if !handshake.is_done.load(Ordering::Relaxed) {
                    handshake.progress.notify_one();
                }
                polled
            })
            .await
        });
    }
}
