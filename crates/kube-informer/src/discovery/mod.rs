//! Discovery: the resources that a server serves, and how names resolve to them.

mod dynamic_kind;
mod resolve;
mod suggestions;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use futures::stream::{self, StreamExt};
use kube::Client;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::error::{DiscoveryProblem, Error, Problem};
use crate::pipeline::wire::discovery::{
    DiscoveredVersion, GroupVersion, PLAIN, ResourceDocument, Root, RootDocument, document,
};

pub use self::dynamic_kind::DynamicKind;
pub use crate::pipeline::wire::discovery::DiscoveredResource;

/// All groups with their resources in one document, which servers since Kubernetes 1.27 support, or the plain list of groups.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                          application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,\
                          application/json";

/// Timeout of a request, as in client-go.
const DOCUMENT_TIMEOUT: Duration = Duration::from_secs(32);

/// Number of concurrent requests to a server without aggregated discovery.
const CONCURRENT_REQUESTS: usize = 8;

/// The resources that an API server served at one time.
///
/// Finds resources by the names that `kubectl` accepts, for informers of kinds that are known only at run time. It is a snapshot:
/// fetch another one to find custom resources that were defined later.
///
/// ```no_run
/// # async fn example(client: kube::Client) -> Result<(), kube_informer::Error> {
/// use kube::api::DynamicObject;
/// use kube_informer::{SharedInformer, discovery::Discovery};
///
/// let discovery = Discovery::fetch(&client).await?;
/// let deployments = discovery.resolve("deploy")?;
/// let kind = deployments.api_resource().clone();
/// let informer = SharedInformer::<DynamicObject>::builder_with(client, kind).build();
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Discovery {
    /// In the order of preference: groups as the server orders them, and in each its preferred version first.
    resources: Vec<DiscoveredResource>,
    failures: Vec<(GroupVersion, Error)>,
}

impl Discovery {
    /// Fetches the resources of all groups.
    ///
    /// Sends two requests to a server with aggregated discovery, and otherwise one for each version of each group. A
    /// group-version that cannot be read, for example because its aggregated API server is down, is left out and
    /// returned by [`Discovery::failures`].
    ///
    /// # Errors
    /// Returns an error if the groups cannot be read.
    ///
    /// # Cancel safety
    /// Dropping the future cancels its requests.
    pub async fn fetch(client: &Client) -> Result<Discovery, Error> {
        let (core, named) = tokio::join!(versions(client, Root::Core), versions(client, Root::Named));
        // A server may lack the core group, and an account may have access to only one of the two.
        let (core, named) = match (core, named) {
            (Err(error), _) | (_, Err(error)) if !(error.is_not_found() || error.is_forbidden()) => {
                return Err(error);
            }
            (Err(error), Err(_)) => return Err(error),
            (core, named) => (core.unwrap_or_default(), named.unwrap_or_default()),
        };
        let outcomes: Vec<_> = stream::iter(core.into_iter().chain(named))
            .map(|version| resources(client, version))
            .buffered(CONCURRENT_REQUESTS)
            .collect()
            .await;
        let mut discovery = Discovery {
            resources: Vec::new(),
            failures: Vec::new(),
        };
        for outcome in outcomes {
            match outcome {
                Ok(resources) => discovery.resources.extend(resources),
                Err(failure) => discovery.failures.push(failure),
            }
        }
        Ok(discovery)
    }

    /// Returns all resources without subresources, also those that cannot be watched, in the order in which names are resolved:
    /// groups as the server orders them, and in each its preferred version first.
    pub fn resources(&self) -> impl Iterator<Item = &DiscoveredResource> {
        self.resources.iter()
    }

    /// Returns the group-versions whose resources could not be read, for example `metrics.k8s.io/v1beta1`, and why.
    pub fn failures(&self) -> impl Iterator<Item = (String, &Error)> {
        self.failures
            .iter()
            .map(|(group_version, error)| (group_version.to_string(), error))
    }
}

impl fmt::Debug for Discovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Discovery")
            .field("resources", &self.resources.len())
            .field("failures", &self.failures)
            .finish()
    }
}

/// Returns the versions of all groups in the order of preference.
async fn versions(client: &Client, root: Root) -> Result<Vec<DiscoveredVersion>, Error> {
    let document: RootDocument = fetch_document(client, root.path(), AGGREGATED).await?;
    Ok(document.group_versions())
}

/// Returns the resources of a version, requesting them if necessary.
async fn resources(
    client: &Client,
    version: DiscoveredVersion,
) -> Result<Vec<DiscoveredResource>, (GroupVersion, Error)> {
    match version {
        DiscoveredVersion::Included(resources) => Ok(resources),
        DiscoveredVersion::Stale(group_version) => {
            let problem = DiscoveryProblem::Stale(group_version.to_string());
            Err((group_version, Error::new(Problem::Discovery(problem))))
        }
        DiscoveredVersion::Separate(group_version) => {
            match fetch_document::<ResourceDocument>(client, &group_version.path(), PLAIN).await {
                Ok(document) => Ok(document.resources(&group_version)),
                Err(error) => Err((group_version, error)),
            }
        }
    }
}

async fn fetch_document<D: DeserializeOwned>(client: &Client, path: &str, accept: &str) -> Result<D, Error> {
    // The future of a request takes kilobytes. Boxing it keeps the futures of callers small.
    let document = Box::pin(document(client, path, accept));
    let document = match timeout(DOCUMENT_TIMEOUT, document).await {
        Ok(document) => document,
        Err(late) => Err(Error::transport(
            format!("no response within {DOCUMENT_TIMEOUT:?}"),
            late,
        )),
    };
    document.map_err(|cause| {
        Error::new(Problem::Discovery(DiscoveryProblem::RequestFailed {
            path: path.to_owned(),
            cause,
        }))
    })
}
