//! Asking for the documents.

use std::time::Duration;

use http::Request;
use http::header::ACCEPT;
use http_body_util::{BodyExt, Limited};
use kube::Client;
use kube::client::Body;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::documents::{GroupVersion, ResourceDocument, Root, RootDocument, Told};
use super::resource::DiscoveredResource;
use crate::error::{DiscoveryProblem, Error, Problem};
use crate::pipeline::wire;

/// Everything at once, in the newest form the server knows; servers that know none answer as of old.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                          application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,\
                          application/json";
const PLAIN: &str = "application/json";

/// As long as client-go waits.
const PATIENCE: Duration = Duration::from_secs(32);
/// Clusters with thousands of custom kinds have documents of a few megabytes.
const LARGEST_DOCUMENT: usize = 256 << 20;

impl Told {
    /// The versions of all groups of a root, in the order of preference.
    pub(super) async fn by(client: &Client, root: Root) -> Result<Vec<Told>, Error> {
        let document: RootDocument = get(client, root.path(), AGGREGATED).await?;
        Ok(document.group_versions())
    }

    /// The resources, asked for if need be.
    pub(super) async fn resources(
        self,
        client: &Client,
    ) -> Result<Vec<DiscoveredResource>, (GroupVersion, Error)> {
        match self {
            Told::Resources(resources) => Ok(resources),
            Told::Stale(place) => {
                let error = Error::new(Problem::Discovery(DiscoveryProblem::Stale(place.to_string())));
                Err((place, error))
            }
            Told::Elsewhere(place) => match get::<ResourceDocument>(client, &place.path(), PLAIN).await {
                Ok(document) => Ok(document.resources(&place)),
                Err(error) => Err((place, error)),
            },
        }
    }
}

async fn get<D: DeserializeOwned>(client: &Client, path: &str, accept: &str) -> Result<D, Error> {
    let document = match timeout(PATIENCE, read(client, path, accept)).await {
        Ok(document) => document,
        Err(late) => Err(Error::transport(format!("no answer within {PATIENCE:?}"), late)),
    };
    document.map_err(|cause| {
        Error::new(Problem::Discovery(DiscoveryProblem::NotTold {
            path: path.to_owned(),
            cause,
        }))
    })
}

async fn read<D: DeserializeOwned>(client: &Client, path: &str, accept: &str) -> Result<D, Error> {
    let request = Request::get(path)
        .header(ACCEPT, accept)
        .body(Body::empty())
        .map_err(|error| Error::bad_data_from("a group or version that no request can name", error))?;
    let response = wire::answer(client, request).await?;
    let body = Limited::new(response.into_body(), LARGEST_DOCUMENT)
        .collect()
        .await;
    let body = body.map_err(|error| Error::transport("the answer broke off", error))?;
    serde_json::from_slice(&body.to_bytes())
        .map_err(|error| Error::bad_data_from("a document of discovery that cannot be read", error))
}
