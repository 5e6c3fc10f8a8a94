//! A Kubernetes API server inside your process.
//!
//! For tests of operators, controllers and tools, and for demos. kubectl, client-go and kube use it like a real server. It starts
//! in milliseconds, any number of servers run in one process, and faults can be injected.
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
//! # Scope
//!
//! The server implements the API of Kubernetes 1.36 in memory. It listens on one loopback port, for HTTP and HTTPS with a
//! temporary certificate authority, HTTP/1.1 and HTTP/2. A test or program that uses only what follows gets the same results
//! as from a real API server; a difference is a bug.
//!
//! - **Clients**: [`Server::client`] uses the socket. [`Server::direct_client`] uses none, and the runtime's clock, so that
//!   paused time works. [`Server::write_kubeconfig`] is for every other program.
//! - **Resources**: every built-in kind with its defaults, status and scale, and custom resources with schemas, versions,
//!   subresources and CEL rules. Discovery and OpenAPI.
//! - **Reading**: selectors, pages, exact and minimum versions; watches with bookmarks and streaming lists; JSON, YAML,
//!   protobuf, metadata, tables, gzip.
//! - **Writing**: create, update, the four kinds of patches, server-side apply with field owners and conflicts, dry runs,
//!   preconditions, finalizers; background, foreground and orphaning deletion; deletion of namespaces.
//! - **Validation**: the server accepts and rejects the objects that operators usually write as a real server does, with
//!   its codes and reasons.
//! - **Admission**: validating admission policies with their bindings and parameters, which may be custom resources. A write is
//!   denied or allowed with a warning by the CEL expressions of the policies that match it, in the words of a real server.
//! - **Permissions**: with [`Authorization::Rbac`], users and service accounts with the permissions of roles and bindings,
//!   tokens, impersonation and access reviews. [`Server::client_as`] returns a client of any user.
//! - **kubectl**: the recorded sessions in `tests/kubectl/sessions` are reproduced word for word.
//!
//! Beyond a real server, it injects faults: [`Server::faults`], [`Server::go_down`], [`Server::cut_connections`],
//! [`Server::compact_history`] and [`Server::restore`]. Tests check requests with [`Server::requests`],
//! [`Server::wait_for_request`] and [`Server::connections`].
//!
//! # Out of scope
//!
//! - **Nodes**: pods are neither scheduled nor run. The only controllers are garbage collection, namespace deletion, the status
//!   of custom resource definitions and of admission policies and, with RBAC, the aggregation of cluster roles. Namespaces get
//!   no service account.
//! - **Other admission**: webhooks, mutating admission policies, conversion webhooks and quotas are stored without effect. So
//!   are priority, runtime, storage and ingress classes, LimitRanges, and the levels of pod security.
//! - **Client certificates** do not authenticate. Without [`Authorization::Rbac`], all users may do everything.
//! - **Complete validation**: rare fields are not checked, for example a probe's header, a volume's mode, an autoscaler's metrics,
//!   a job's conditions, or string formats such as `creditcard`. Warnings about valid objects are not sent. Addresses and node
//!   ports of services are assigned, but not checked against the ranges of a cluster.
//! - **Wording** that neither a client nor a recorded session depends on.
//!
//! CEL rules (`x-kubernetes-validations`) and the expressions of policies have the functions and the errors of Kubernetes 1.36,
//! with these differences. The cost of a rule is not estimated: a definition without `maxItems` or `maxLength`, which a real
//! server rejects because a rule could become too expensive, is accepted. The limits while an expression runs are those of a
//! real server (1,000,000 per evaluation, 10,000,000 per object or policy), but costs are counted more roughly. After a syntax
//! error, only the first error is reported, and the tokens that it expected may differ. Timestamps are printed in UTC.
//!
//! Policies apply at once, to all requests of clients, but not to the writes of the server itself: garbage collection, deletion
//! of namespaces and [`Server::load`]. `authorizer` decides by RBAC, or allows everything without [`Authorization::Rbac`]. The
//! types of expressions are not checked against the kinds of a policy, so its status has no warnings. There is no audit log.
//!
//! # How it is tested
//!
//! Most tests of the API also run on a real kube-apiserver with etcd. Defaults, validation, tables, patches and custom resources
//! are compared with recorded responses of a real server. If the two disagree, the real one is right. Kubernetes' own end-to-end
//! specs of API machinery that need no nodes run on it, too.
//!
//! # Features
//!
//! - `client` (default): [`Server::client`], [`Server::direct_client`].
//! - `cli`: the program `kube-embedded`.
//!
//! With `client`, your program chooses a Kubernetes version for its types, with a feature of `k8s-openapi` such as `v1_36`.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod admission;
mod api;
mod auth;
mod cel;
mod cluster;
mod controllers;
mod convert;
mod crd;
mod defaults;
mod faults;
mod follow_up;
mod golang;
mod hash;
mod http;
mod openapi;
mod patch;
mod record;
mod regexp;
mod request;
mod response;
mod rules;
mod scale;
mod schema;
mod select;
mod server;
mod services;
mod status;
mod store;
mod table;
#[cfg(test)]
mod tests;
mod timestamp;
mod validation;
mod verbs;

pub use api::KUBERNETES_VERSION;
pub use auth::{Authorization, User};
pub use faults::{Fault, FaultHandle, Faults, On};
pub use record::Request;
pub use request::Verb;
pub use server::{Backup, Builder, Error, KubeconfigFile, Server};
