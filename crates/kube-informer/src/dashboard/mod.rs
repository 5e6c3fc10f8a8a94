//! A page that shows informers, their caches and work queues, while they work.
//!
//! It only reads, and only what is in this process. Of Secrets it shows names and sizes; their values stay where they are.

mod facts;
mod filter;
mod guard;
mod history;
mod house;
mod overview;
mod queue;
mod routes;
mod samples;
mod view;

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// The crate whose routers this gives and takes.
pub use axum;
use axum::Router;
use axum::routing::MethodRouter;
use kube_workqueue::{Work, WorkQueue};
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::guard::Hosts;
use self::house::{House, Source};
use self::queue::QueueView;
pub(crate) use self::view::{View, metadata_of};
use crate::factory::SharedInformerFactory;
use crate::informer::SharedInformer;
use crate::object::Kind;

/// How many changes of each informer are remembered, unless told otherwise.
const REMEMBERED: usize = 256;

/// How long a stop waits for answers that are under way.
const GRACE: Duration = Duration::from_secs(5);

/// A page that shows informers, their caches and work queues, while they work: state, lag and errors, the way of the data,
/// handlers with their backlog, rates, and a browser of the cache with filters and each object's last changes.
///
/// ```no_run
/// # async fn example(client: kube::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_informer::prelude::*;
/// use kube_informer::dashboard::Dashboard;
///
/// let factory = SharedInformerFactory::new(client);
/// let pods = factory.informer::<Pod>();
/// let queue = WorkQueue::new("pods");
/// pods.add_handler(enqueue_keys(&queue))?;
/// factory.start();
///
/// let dashboard = Dashboard::new()
///     .factory(&factory) // all of its informers, those that come later, too
///     .browse(&pods) // pods as whole objects, not only their metadata
///     .queue(&queue)
///     .start()
///     .await?;
/// println!("look at {}", dashboard.url());
/// # dashboard.stop().await;
/// # Ok(())
/// # }
/// ```
///
/// In a web server of one's own it can be put under any path; it needs no other route and no file:
///
/// ```no_run
/// # fn example(factory: kube_informer::SharedInformerFactory) -> axum::Router {
/// use kube_informer::dashboard::Dashboard;
///
/// axum::Router::new().nest("/informers", Dashboard::new().factory(&factory).router())
/// # }
/// ```
///
/// # Who can see it
/// Whoever can ask for it: it has no passwords. [`Dashboard::start`] listens on loopback only, and answers only those who
/// call it by a name of loopback, so that no other site's page can read it through a browser. Under a path of your own server
/// it is protected as that is. It changes nothing and answers to GET only.
///
/// Of Secrets it shows metadata, and names and sizes of their data. The values take part in nothing: neither in filters nor
/// in differences. Indexes of Secrets cannot be asked.
///
/// # What it costs
/// A handler called `dashboard` on each informer, which keeps the last changes for the history: references to objects, no
/// copies. Counts are noted every five seconds, and each second while somebody looks. Everything else happens when it is asked
/// for; searches in large caches run on threads of their own, two at a time.
#[must_use = "nothing is shown before it is started or mounted"]
pub struct Dashboard {
    sources: Vec<Source>,
    queues: Vec<Box<dyn QueueView>>,
    remembered: usize,
    hosts: Option<Vec<String>>,
    beside: Router,
}

impl Dashboard {
    /// With nothing to show.
    pub fn new() -> Dashboard {
        Dashboard {
            sources: Vec::new(),
            queues: Vec::new(),
            remembered: REMEMBERED,
            hosts: None,
            beside: Router::new(),
        }
    }

    /// Shows every informer that a factory has, and those that it will have. Dynamic objects are shown whole, of others the
    /// metadata; see [`Dashboard::browse`].
    pub fn factory(mut self, factory: &SharedInformerFactory) -> Dashboard {
        self.sources.push(Source::Factory(factory.clone()));
        self
    }

    /// Shows an informer, with its objects' metadata.
    pub fn informer<K: Kind>(mut self, informer: &SharedInformer<K>) -> Dashboard {
        self.sources.push(Source::View(metadata_of(informer)));
        self
    }

    /// Shows an informer with whole objects. It may be one of a factory that is shown.
    pub fn browse<K: Kind + Serialize>(mut self, informer: &SharedInformer<K>) -> Dashboard {
        self.sources.push(Source::View(view::whole(informer)));
        self
    }

    /// Shows a work queue. Make it with [`timed`](kube_workqueue::QueueBuilder::timed) to see how old its oldest item is.
    pub fn queue<T: Work>(mut self, queue: &WorkQueue<T>) -> Dashboard {
        self.queues.push(Box::new(queue.clone()));
        self
    }

    /// How many changes of each informer are remembered; 256 unless told otherwise, and none if it is 0.
    pub fn remember(mut self, changes: usize) -> Dashboard {
        self.remembered = changes;
        self
    }

    /// Answers only requests for these hosts, on any port; without this, [`Dashboard::serve`] on loopback answers those for
    /// `localhost`, `127.0.0.1` and `[::1]`, and all others answer any.
    pub fn hosts<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Dashboard {
        self.hosts = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Answers another path beside its own, for those whom it answers: metrics, for example. Paths of its own are `/`,
    /// `/api/…` and files called `dashboard.…` and `icon.svg`.
    ///
    /// ```
    /// # use kube_informer::dashboard::Dashboard;
    /// # let dashboard = Dashboard::new();
    /// dashboard.beside("/healthz", axum::routing::get(async || "ok"))
    /// # ;
    /// ```
    ///
    /// # Panics
    /// If the path is none that axum takes, or was given before.
    pub fn beside(mut self, path: &str, answers: MethodRouter) -> Dashboard {
        self.beside = self.beside.route(path, answers);
        self
    }

    /// The page and what it asks for, to be nested into a server of one's own, under any path.
    pub fn router(self) -> Router {
        let hosts = self.hosts.map(Hosts::only).unwrap_or_default();
        let house = House::new(self.sources, self.queues, self.remembered);
        house.sample_from_now_on();
        routes::router(house, hosts, self.beside)
    }

    /// Starts it on a free port of loopback.
    ///
    /// # Errors
    /// If there is none.
    pub async fn start(self) -> io::Result<DashboardServer> {
        self.serve((Ipv4Addr::LOCALHOST, 0)).await
    }

    /// Starts it on an address. Anything but a loopback address shows it to everyone who can reach that.
    ///
    /// # Errors
    /// If the address cannot be listened on.
    ///
    /// # Cancel safety
    /// If this is dropped, nothing runs.
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

/// A dashboard that was started. Dropping it stops it.
#[derive(Debug)]
pub struct DashboardServer {
    address: SocketAddr,
    stop: CancellationToken,
    task: Option<JoinHandle<io::Result<()>>>,
}

impl DashboardServer {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where to look.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Stops it and waits for its end: answers that are under way are given, for some seconds at most.
    ///
    /// # Cancel safety
    /// It stops even if the wait is dropped.
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
