//! A web page that shows a program's informers, their caches and work queues while they run.
//!
//! [`Dashboard`] shows the informers of [kube-informer](https://docs.rs/kube-informer) and the queues of
//! [kube-workqueue](https://docs.rs/kube-workqueue): state, lag and errors, the flow of data, handlers with
//! their backlog, rates, and a browser of the cache with filters and the last changes of each object.
//!
//! The dashboard is read-only and shows only data of its own process. Of Secrets it shows names and sizes,
//! never values.
//!
//! [`fields`] finds and compares fields of objects of any kind, by paths such as `.spec.containers[*].image`.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod facts;
pub mod fields;
mod filter;
mod guard;
mod history;
mod overview;
mod queue;
mod routes;
mod samples;
mod state;
mod view;

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// The crate that [`Dashboard::router`] and [`Dashboard::beside`] take their types from.
pub use axum;
use axum::Router;
use axum::routing::MethodRouter;
use kube_informer::{CancellationToken, Kind, SharedInformer, SharedInformerFactory};
use kube_workqueue::{QueueItem, WorkQueue};
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::guard::Hosts;
use crate::queue::QueueView;
use crate::state::{DashboardState, Source};
use crate::view::InformerView;

/// Default number of changes to remember of each informer.
const DEFAULT_HISTORY: usize = 256;

/// How long [`DashboardServer::stop`] waits for responses in progress.
const GRACE: Duration = Duration::from_secs(5);

/// A web page that shows informers, their caches and work queues while they run.
///
/// ```no_run
/// # async fn example(client: kube::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_informer::prelude::*;
/// use kube_informer_dashboard::Dashboard;
///
/// let factory = SharedInformerFactory::new(client);
/// let pods = factory.informer::<Pod>();
/// let queue = WorkQueue::new("pods");
/// pods.add_handler(enqueue_keys(&queue))?;
/// factory.start();
///
/// let dashboard = Dashboard::new()
///     .factory(&factory) // all of its informers, also those that are added later
///     .browse(&pods) // pods as whole objects, not only their metadata
///     .queue(&queue)
///     .start()
///     .await?;
/// println!("dashboard: {}", dashboard.url());
/// # dashboard.stop().await;
/// # Ok(())
/// # }
/// ```
///
/// It can be mounted under any path of an axum server. It needs no other route and no file:
///
/// ```no_run
/// # fn example(factory: kube_informer::SharedInformerFactory) -> axum::Router {
/// use kube_informer_dashboard::Dashboard;
///
/// axum::Router::new().nest("/informers", Dashboard::new().factory(&factory).router())
/// # }
/// ```
///
/// # Security
/// There is no authentication. [`Dashboard::start`] listens on loopback only, and answers only requests for a
/// loopback host name, so that pages of other sites cannot read it through a browser. Mounted under a path of
/// your server, it is protected as that path is. It changes nothing and accepts only GET.
///
/// Of Secrets it shows metadata, and names and sizes of their data. Filters and differences never see the
/// values, and indexes of Secrets cannot be queried.
///
/// # Cost
/// Each informer gets a handler called `dashboard`, which keeps the last changes for the history: references
/// to objects, not copies. Counters are recorded every five seconds, and every second while the page is open.
/// Everything else is computed on request. Searches in large caches run on blocking threads, two at a time.
#[must_use = "a dashboard shows nothing until it is started or mounted"]
pub struct Dashboard {
    sources: Vec<Source>,
    queues: Vec<Box<dyn QueueView>>,
    remembered: usize,
    hosts: Option<Vec<String>>,
    beside: Router,
}

impl Dashboard {
    /// Creates a dashboard that shows nothing yet.
    pub fn new() -> Dashboard {
        Dashboard {
            sources: Vec::new(),
            queues: Vec::new(),
            remembered: DEFAULT_HISTORY,
            hosts: None,
            beside: Router::new(),
        }
    }

    /// Shows every informer of a factory, also those that are added later.
    ///
    /// Dynamic objects are shown whole, other objects with their metadata; see [`Dashboard::browse`].
    pub fn factory(mut self, factory: &SharedInformerFactory) -> Dashboard {
        self.sources.push(Source::Factory(factory.clone()));
        self
    }

    /// Shows an informer with the metadata of its objects.
    pub fn informer<K: Kind>(mut self, informer: &SharedInformer<K>) -> Dashboard {
        let view = InformerView::with_metadata(informer.into());
        self.sources.push(Source::View(view));
        self
    }

    /// Shows an informer with whole objects. The informer may belong to a factory that is shown.
    pub fn browse<K: Kind + Serialize>(mut self, informer: &SharedInformer<K>) -> Dashboard {
        let view = InformerView::with_whole_objects(informer);
        self.sources.push(Source::View(view));
        self
    }

    /// Adds a work queue. Build the queue with [`track_age`](kube_workqueue::QueueBuilder::track_age) to show
    /// the age of its oldest item.
    pub fn queue<T: QueueItem>(mut self, queue: &WorkQueue<T>) -> Dashboard {
        self.queues.push(Box::new(queue.clone()));
        self
    }

    /// Sets the number of changes to remember of each informer. The default is 256; 0 disables the history.
    pub fn remember(mut self, changes: usize) -> Dashboard {
        self.remembered = changes;
        self
    }

    /// Answers only requests for these hosts, on any port.
    ///
    /// By default, [`Dashboard::serve`] on a loopback address answers requests for `localhost`, `127.0.0.1`
    /// and `[::1]`, and otherwise any host is accepted.
    pub fn hosts<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Dashboard {
        self.hosts = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Adds another path, for example for metrics, with the same host checks.
    ///
    /// The dashboard itself uses `/`, `/api/…`, `/icon.svg` and files called `/dashboard.…`.
    ///
    /// ```
    /// # use kube_informer_dashboard::Dashboard;
    /// # let dashboard = Dashboard::new();
    /// dashboard.beside("/healthz", axum::routing::get(async || "ok"))
    /// # ;
    /// ```
    ///
    /// # Panics
    /// If axum does not accept the path, or it was added before.
    pub fn beside(mut self, path: &str, answers: MethodRouter) -> Dashboard {
        self.beside = self.beside.route(path, answers);
        self
    }

    /// Returns the dashboard as a router, to be nested into your own server under any path.
    pub fn router(self) -> Router {
        let hosts = self.hosts.map(Hosts::only).unwrap_or_default();
        let state = DashboardState::new(self.sources, self.queues, self.remembered);
        state.start_sampling();
        routes::router(state, hosts, self.beside)
    }

    /// Serves the dashboard on a free loopback port.
    ///
    /// # Errors
    /// If no port is free.
    pub async fn start(self) -> io::Result<DashboardServer> {
        self.serve((Ipv4Addr::LOCALHOST, 0)).await
    }

    /// Serves the dashboard on an address.
    ///
    /// Unless it is a loopback address, anyone who can reach it can see the dashboard.
    ///
    /// # Errors
    /// If the server cannot listen on the address.
    ///
    /// # Cancel safety
    /// If this is dropped, no server is started.
    pub async fn serve(mut self, address: impl Into<SocketAddr>) -> io::Result<DashboardServer> {
        let listener = TcpListener::bind(address.into()).await?;
        let address = listener.local_addr()?;
        if address.ip().is_loopback() {
            self.hosts.get_or_insert_with(Hosts::loopback);
        }
        let stop = CancellationToken::new();
        let server =
            axum::serve(listener, self.router()).with_graceful_shutdown(stop.clone().cancelled_owned());
        let task = tokio::spawn(async move { server.await });
        Ok(DashboardServer {
            address,
            stop,
            task: Some(task),
        })
    }
}

impl Default for Dashboard {
    fn default() -> Self {
        Dashboard::new()
    }
}

impl fmt::Debug for Dashboard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dashboard")
            .field("sources", &self.sources.len())
            .field("queues", &self.queues.len())
            .finish_non_exhaustive()
    }
}

/// A running dashboard. Dropping it stops it.
#[derive(Debug)]
pub struct DashboardServer {
    address: SocketAddr,
    stop: CancellationToken,
    task: Option<JoinHandle<io::Result<()>>>,
}

impl DashboardServer {
    /// Returns the address that the server listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL of the page.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Stops the server and waits until it has ended. Responses in progress get five seconds.
    ///
    /// # Cancel safety
    /// The server stops even if the wait is dropped.
    pub async fn stop(mut self) {
        self.stop.cancel();
        if let Some(task) = self.task.take() {
            let abort = task.abort_handle();
            if tokio::time::timeout(GRACE, task).await.is_err() {
                abort.abort();
            }
        }
    }
}

impl Drop for DashboardServer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
