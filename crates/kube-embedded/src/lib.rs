//! A Kubernetes API server inside your process.
//!
//! For tests of operators, controllers and tools, and for demos: a server that kubectl, client-go and kube use as they use
//! a real one, started in milliseconds, many in one process, gone without a trace — and that misbehaves when told to.
//!
//! ```
//! # use k8s_openapi::api::core::v1::ConfigMap;
//! # use kube::{Api, api::{ListParams, PostParams}};
//! use kube_embedded::{Fault, On, Server};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Server::start().await?;
//! let maps: Api<ConfigMap> = Api::namespaced(server.client()?, "default");
//! # let map = ConfigMap { metadata: kube::api::ObjectMeta { name: Some("a".into()), ..Default::default() }, ..Default::default() };
//! maps.create(&PostParams::default(), &map).await?;
//!
//! server.faults().add(On::get("configmaps").once(), Fault::internal_error());
//! assert!(maps.get("a").await.is_err());
//! assert!(maps.get("a").await.is_ok());
//!
//! server.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! # What it is
//!
//! The API of Kubernetes 1.36, in memory. It listens on one loopback port, for HTTP and HTTPS (with a throw-away
//! authority), HTTP/1.1 and HTTP/2.
//!
//! - **Clients**: [`Server::client`] over the socket, [`Server::direct_client`] without one (on the runtime's clock, so that
//!   paused time works), [`Server::write_kubeconfig`] for every other program.
//! - **Resources**: every built-in kind with its defaults, validation, status and scale, and what
//!   CustomResourceDefinitions define, with the CEL rules of their schemas. Discovery and OpenAPI as kubectl wants them.
//! - **Reading**: selectors, pages, versions; watches from any version in history, with bookmarks and streaming lists; JSON,
//!   YAML, protobuf, metadata alone, tables, gzip.
//! - **Writing**: create, update, all four languages of patches, server-side apply with field owners and conflicts, dry runs,
//!   preconditions, finalizers; deletion in the background, the foreground or leaving orphans; namespaces take their content
//!   with them.
//! - **Misbehaving**: [`Server::faults`] by rule and by script, [`Server::go_down`], [`Server::cut_connections`],
//!   [`Server::compact_history`], [`Server::restore`].
//! - **Asserting**: [`Server::requests`], [`Server::wait_for_request`], [`Server::connections`].
//!
//! # What it is not
//!
//! There are no nodes: pods do not run, and nothing schedules them. Of the controllers only those run whose work the API
//! itself promises: garbage collection, namespace deletion, and what makes a custom kind be served. Everyone may do
//! everything: there is no authorization (a fault can say 403). Admission webhooks and policies, conversion webhooks
//! and quotas are accepted as objects and do nothing; neither do classes that a real server fills into new
//! objects or refuses them by: priority classes, runtime classes, the default storage and ingress class, LimitRanges, the levels
//! of pod security.
//!
//! Validation is not complete. Metadata, and what people get wrong most often in the kinds of every day, is refused in the real
//! server's words; an object with a mistake elsewhere (a probe's header, a volume's mode, a metric of an autoscaler, a changed
//! cluster IP, a job's conditions) may be taken here and not there. Warnings about objects that are questionable but right are
//! not sent. Addresses and node ports of services are given out, but not checked against the ranges of a cluster.
//!
//! CEL rules (`x-kubernetes-validations`) have the functions and the errors of Kubernetes 1.36, with these differences. The
//! cost of a rule is not estimated: a definition without `maxItems` or `maxLength`, which a real server refuses because a rule
//! could become too expensive, is accepted. The limits while a rule runs are those of a real server (1,000,000 per evaluation,
//! 10,000,000 per object), but costs are counted more roughly. After a syntax error, only the first error is reported, and
//! the tokens that it expected may differ. Timestamps are printed in UTC. The functions of `authorizer` do not exist.
//!
//! # How it is tested
//!
//! Its tests about the API run against a real kube-apiserver with etcd as well, and its defaults, validation, tables, patches
//! and custom resources are held against recorded answers of one. When the two disagree, the real one is right.
//!
//! # Features
//!
//! - `client` (default): [`Server::client`], [`Server::direct_client`].
//! - `cli`: the program `kube-embedded`.
//!
//! With `client`, your program chooses a Kubernetes version for its types, with a feature of `k8s-openapi` such as `v1_36`.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod api;
mod cel;
mod cluster;
mod convert;
#[cfg(test)]
mod corpus;
mod crd;
mod custom;
mod defaults;
mod faults;
mod garbage;
mod http;
mod openapi;
mod patch;
mod record;
mod regexp;
mod rules;
mod scale;
mod schema;
mod select;
mod server;
mod services;
mod status;
mod store;
mod table;
mod validation;
mod verbs;

pub use faults::{Fault, FaultHandle, Faults, On};
pub use http::Verb;
pub use record::Request;
pub use server::{Backup, Builder, Error, KubeconfigFile, Server};

/// The Kubernetes version whose API is served.
pub const KUBERNETES_VERSION: &str = "v1.36.3";

/// A hash that is the same in every run.
fn hash(bytes: &[u8]) -> u64 {
    // FNV-1a.
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
