//! An account whose permissions can be revoked.

use std::net::SocketAddr;

use http::Request;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject};
use kube::Client;
use kube::api::{Api, DeleteParams, ObjectMeta, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Config, Error};
use serde_json::{Value, json};

use super::credentials::GUEST;
use super::{RealServer, StartError};

/// The name of the role and its binding.
const NAME: &str = "guest-reads-all";

impl RealServer {
    /// Returns the guest's kubeconfig for an address that leads to one of this cluster's API servers.
    pub fn guest_kubeconfig(&self, address: SocketAddr) -> Value {
        self.files.folder.guest_kubeconfig(address)
    }

    /// Returns the guest's configuration for an address that leads to one of this cluster's API servers.
    pub async fn guest_config(&self, address: SocketAddr) -> Result<Config, StartError> {
        let text = self.guest_kubeconfig(address).to_string();
        let kubeconfig = Kubeconfig::from_yaml(&text)?;
        Ok(Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?)
    }
}

/// Grants the guest read permission for everything.
pub async fn grant(client: &Client) -> Result<(), Error> {
    let metadata = ObjectMeta {
        name: Some(NAME.into()),
        ..ObjectMeta::default()
    };
    let all = || vec!["*".to_owned()];
    let role = ClusterRole {
        metadata: metadata.clone(),
        rules: Some(vec![PolicyRule {
            api_groups: Some(all()),
            resources: Some(all()),
            verbs: ["get", "list", "watch"].map(str::to_owned).to_vec(),
            ..PolicyRule::default()
        }]),
        ..ClusterRole::default()
    };
    let binding = ClusterRoleBinding {
        metadata,
        role_ref: RoleRef {
            api_group: Some("rbac.authorization.k8s.io".into()),
            kind: "ClusterRole".into(),
            name: NAME.into(),
        },
        subjects: Some(vec![Subject {
            api_group: Some("rbac.authorization.k8s.io".into()),
            kind: "User".into(),
            name: GUEST.into(),
            namespace: None,
        }]),
    };
    made(
        Api::all(client.clone())
            .create(&PostParams::default(), &role)
            .await,
    )?;
    made(
        Api::all(client.clone())
            .create(&PostParams::default(), &binding)
            .await,
    )
}

/// Revokes the permissions of [`grant`]. Open watches continue.
pub async fn revoke(client: &Client) -> Result<(), Error> {
    let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
    match bindings.delete(NAME, &DeleteParams::default()).await {
        Err(Error::Api(status)) if status.code == 404 => Ok(()),
        other => other.map(drop),
    }
}

/// Returns whether this API server allows the guest to list pods.
pub async fn may_read(client: &Client) -> Result<bool, Error> {
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": GUEST, "resourceAttributes": {"verb": "list", "resource": "pods"}},
    });
    let request = Request::post("/apis/authorization.k8s.io/v1/subjectaccessreviews")
        .header("content-type", "application/json")
        .body(review.to_string().into_bytes())
        .map_err(Error::HttpError)?;
    let answer: Value = client.request(request).await?;
    Ok(answer["status"]["allowed"] == true)
}

/// Treats "already exists" as success.
fn made<K>(outcome: Result<K, Error>) -> Result<(), Error> {
    match outcome {
        Err(Error::Api(status)) if status.code == 409 => Ok(()),
        other => other.map(drop),
    }
}
