//! The versions of everything that is fetched by name.

/// Kubernetes: kube-apiserver, kubectl, kube-controller-manager and the tables of kinds and types.
pub(crate) const KUBERNETES: &str = "v1.36.3";

/// The etcd that kube-apiserver keeps its objects in.
pub(crate) const ETCD: &str = "v3.6.16";

/// The checker of licences, bans, sources and advisories.
pub(crate) const CARGO_DENY: &str = "0.20.2";

/// The generator of mutants.
pub(crate) const CARGO_MUTANTS: &str = "27.1.0";

/// The checker of public APIs.
pub(crate) const CARGO_SEMVER_CHECKS: &str = "0.51.0";

/// What makes HTML of the book.
pub(crate) const MDBOOK: &str = "0.5.4";

/// The oldest and the newest Kubernetes whose types the pinned k8s-openapi has.
pub(crate) const OTHER_KUBERNETES: [&str; 2] = ["1.33", "1.37"];

/// Releases whose protobuf is read, too: at least the newest whose types the pinned k8s-openapi has.
pub(crate) const OTHER_MESSAGES: [&str; 4] = ["v1.37.2", "v1.35.10", "v1.34.13", "v1.33.13"];
