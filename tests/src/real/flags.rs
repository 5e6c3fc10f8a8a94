//! The flags of the servers: as small and fast as possible, without visible changes for clients.

use std::net::SocketAddr;
use std::path::Path;

use crate::folder::Folder;

pub(super) fn etcd(folder: &Folder, port: u16) -> Vec<String> {
    let here = format!("http://127.0.0.1:{port}");
    vec![
        format!("--data-dir={}", folder.file("etcd")),
        format!("--listen-client-urls={here}"),
        format!("--advertise-client-urls={here}"),
        // A single member has no peers, so the port does not matter.
        "--listen-peer-urls=http://127.0.0.1:0".into(),
        "--log-level=warn".into(),
        "--unsafe-no-fsync".into(),
    ]
}

pub(super) fn apiserver(folder: &Folder, etcd: SocketAddr, port: u16) -> Vec<String> {
    vec![
        format!("--etcd-servers=http://{etcd}"),
        "--bind-address=127.0.0.1".into(),
        format!("--secure-port={port}"),
        // A machine without a network has only a loopback address, which Endpoints must not contain.
        "--advertise-address=127.0.0.1".into(),
        "--endpoint-reconciler-type=none".into(),
        format!("--cert-dir={}", folder.file("certificates")),
        format!("--tls-cert-file={}", folder.file("server.crt")),
        format!("--tls-private-key-file={}", folder.file("server.key")),
        format!("--token-auth-file={}", folder.file("tokens.csv")),
        "--service-account-issuer=https://kubernetes.default.svc".into(),
        format!("--service-account-key-file={}", folder.file("sa.pub")),
        format!("--service-account-signing-key-file={}", folder.file("sa.key")),
        "--service-cluster-ip-range=10.0.0.0/24".into(),
        "--authorization-mode=RBAC".into(),
        // All API versions, like the embedded server; some kinds also need their feature gate.
        "--runtime-config=api/all=true".into(),
        "--feature-gates=ClusterTrustBundle=true,PodCertificateRequest=true,GenericWorkload=true,\
         StorageVersionMigrator=true"
            .into(),
        // There is no controller that creates service accounts, and pods must be creatable.
        "--disable-admission-plugins=ServiceAccount".into(),
        "--allow-privileged=true".into(),
    ]
}

/// Returns the flags of the controllers that complete deletions of namespaces and owners, and set the status of
/// admission policies.
pub(super) fn controllers(kubeconfig: &Path) -> Vec<String> {
    vec![
        format!("--kubeconfig={}", kubeconfig.display()),
        "--controllers=namespace-controller,garbage-collector-controller,validatingadmissionpolicy-status-controller".into(),
        "--leader-elect=false".into(),
        "--secure-port=0".into(),
    ]
}
