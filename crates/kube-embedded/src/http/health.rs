//! The health checks of the real server.

use crate::request::Query;

const FIRST: [&str; 2] = ["ping", "log"];

/// Start-up hooks of the real server. Here they have always completed.
const HOOKS: &[&str] = &[
    "start-apiserver-admission-initializer",
    "generic-apiserver-start-informers",
    "priority-and-fairness-config-consumer",
    "priority-and-fairness-filter",
    "storage-object-count-tracker-hook",
    "start-apiextensions-informers",
    "start-apiextensions-controllers",
    "crd-informer-synced",
    "start-system-namespaces-controller",
    "peer-endpoint-reconciler-controller",
    "start-cluster-authentication-info-controller",
    "start-kube-apiserver-identity-lease-controller",
    "start-kube-apiserver-identity-lease-garbage-collector",
    "storage-readiness",
    "start-legacy-token-tracking-controller",
    "start-service-ip-repair-controllers",
    "rbac/bootstrap-roles",
    "scheduling/bootstrap-system-priority-classes",
    "priority-and-fairness-config-producer",
    "bootstrap-controller",
    "start-kubernetes-service-cidr-controller",
    "start-kube-aggregator-informers",
    "apiservice-status-local-available-controller",
    "apiservice-status-remote-available-controller",
    "apiservice-registration-controller",
    "apiservice-discovery-controller",
    "kube-apiserver-autoregistration",
    "apiservice-openapi-controller",
    "apiservice-openapiv3-controller",
];

/// Returns the checks of `healthz`, `livez` or `readyz` in the order of the real server.
fn checks(page: &str) -> Vec<String> {
    let own: &[&str] = match page {
        "readyz" => &["etcd", "etcd-readiness", "informer-sync"],
        _ => &["loopback-serving-certificate", "etcd"],
    };
    let mut checks: Vec<String> = FIRST.iter().chain(own).map(ToString::to_string).collect();
    for hook in HOOKS {
        checks.push(format!("poststarthook/{hook}"));
        if *hook == "kube-apiserver-autoregistration" {
            checks.push("autoregister-completion".into());
        }
    }
    if page == "readyz" {
        checks.push("shutdown".into());
    }
    checks
}

/// Returns the response to `/healthz`, `/livez` or `/readyz`.
pub(super) fn text(path: &str, query: &Query) -> String {
    let page = path.trim_matches('/');
    if !query.has("verbose") || page.contains('/') {
        return "ok".into();
    }
    let lines = checks(page).into_iter().map(|check| format!("[+]{check} ok\n"));
    lines.chain([format!("{page} check passed\n")]).collect()
}
