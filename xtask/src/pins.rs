//! The versions of downloaded programs and modules.

/// Kubernetes: kube-apiserver, kubectl, kube-controller-manager and the tables of kinds and types.
pub(crate) const KUBERNETES: &str = "v1.36.3";

/// The etcd of kube-apiserver.
pub(crate) const ETCD: &str = "v3.6.16";

/// Checks licences, bans, sources and advisories.
pub(crate) const CARGO_DENY: &str = "0.20.2";

/// Generates mutants.
pub(crate) const CARGO_MUTANTS: &str = "27.1.0";

/// Checks public APIs.
pub(crate) const CARGO_SEMVER_CHECKS: &str = "0.51.0";

/// Builds the book.
pub(crate) const MDBOOK: &str = "0.5.4";

/// The oldest and the newest Kubernetes version of the pinned k8s-openapi.
pub(crate) const OTHER_KUBERNETES: [&str; 2] = ["1.33", "1.37"];

/// Other releases whose protobuf messages are supported: at least the newest of the pinned k8s-openapi.
pub(crate) const OTHER_MESSAGES: [&str; 4] = ["v1.37.2", "v1.35.10", "v1.34.13", "v1.33.13"];
