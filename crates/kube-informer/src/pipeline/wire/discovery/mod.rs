//! Discovery: the documents in which an API server lists the resources that it serves.

mod documents;
mod resource;
mod served;

use http::StatusCode;
use http_body_util::{BodyExt, Limited};
use kube::Client;
use serde::de::DeserializeOwned;

use super::http::{get, json_response};
use super::status::failure;
use crate::error::Error;

pub(crate) use self::documents::{DiscoveredVersion, GroupVersion, ResourceDocument, Root, RootDocument};
pub use self::resource::DiscoveredResource;
pub(super) use self::served::ServedResource;

/// Maximum size of a document. Clusters with thousands of custom kinds have documents of a few megabytes.
const MAX_DOCUMENT_BYTES: usize = 64 << 20;

/// Media type of documents that list one group or one version.
pub(crate) const PLAIN: &str = "application/json";

/// Requests a discovery document.
pub(crate) async fn document<D: DeserializeOwned>(
    client: &Client,
    path: &str,
    accept: &str,
) -> Result<D, Error> {
    let response = json_response(client, get(path, accept)?).await?;
    // A partial document would look like one with fewer resources.
    if response.status() != StatusCode::OK {
        return Err(failure(response).await);
    }
    let body = Limited::new(response.into_body(), MAX_DOCUMENT_BYTES)
        .collect()
        .await;
    let body = body.map_err(|error| Error::transport(format!("cannot read {path}"), error))?;
    serde_json::from_slice(&body.to_bytes())
        .map_err(|error| Error::bad_data_from(format!("invalid discovery document at {path}"), error))
}
