//! Discovery: the resources that a server serves, and how names resolve to them.

mod documents;
mod dynamic_kind;
mod near;
mod requests;
mod resolve;
mod resource;
#[cfg(test)]
mod tests;

use std::fmt;

use futures::stream::{self, StreamExt};
use kube::Client;

use self::documents::{GroupVersion, Root, Told};
use crate::error::Error;

pub use self::dynamic_kind::DynamicKind;
pub use self::resource::DiscoveredResource;

/// So many documents are asked for at once where each group-version has its own.
const AT_ONCE: usize = 8;

/// What a server serves, as it was when it was asked.
///
/// It finds resources by the names that people use, as `kubectl` does, for informers of kinds that are known only at run
/// time. It is a snapshot: ask again to see custom resources that came later.
///
/// ```no_run
/// # async fn example(client: kube::Client) -> Result<(), kube_informer::Error> {
/// use kube::api::DynamicObject;
/// use kube_informer::{SharedInformer, discovery::Discovery};
///
/// let discovery = Discovery::ask(&client).await?;
/// let deployments = discovery.resolve("deploy")?;
/// let kind = deployments.api_resource().clone();
/// let informer = SharedInformer::<DynamicObject>::builder_with(client, kind).build();
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Discovery {
    /// In the order of preference: groups as the server has them, in each its preferred version first.
    resources: Vec<DiscoveredResource>,
    failures: Vec<(GroupVersion, Error)>,
}

impl Discovery {
    /// Asks a server, by aggregated discovery, which takes two requests, or where there is none by one request for each
    /// version of each group.
    ///
    /// A group-version that cannot be asked, as when its aggregated API server is down, is left out and told by
    /// [`Discovery::failures`].
    ///
    /// # Errors
    /// If the server does not tell which groups it has.
    ///
    /// # Cancel safety
    /// Dropping the future ends the requests; nothing else is left of it.
    pub async fn ask(client: &Client) -> Result<Discovery, Error> {
        let (core, named) = futures::join!(Told::by(client, Root::Core), Told::by(client, Root::Named));
        // Servers without a core group, and accounts that may see only one of the two, are no failures.
        let (core, named) = match (core, named) {
            (Err(error), _) | (_, Err(error)) if !(error.is_not_found() || error.is_forbidden()) => {
                return Err(error);
            }
            (Err(error), Err(_)) => return Err(error),
            (core, named) => (core.unwrap_or_default(), named.unwrap_or_default()),
        };
        let outcomes: Vec<_> = stream::iter(core.into_iter().chain(named))
            .map(|told| told.resources(client))
            .buffered(AT_ONCE)
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

    /// Everything that is served, also what cannot be watched, in the order in which names are looked for: the groups as
    /// the server has them, in each the preferred version first. Subresources are not among it.
    pub fn resources(&self) -> impl Iterator<Item = &DiscoveredResource> {
        self.resources.iter()
    }

    /// The group-versions that the server has and could not tell about, as in `metrics.k8s.io/v1beta1`, and why.
    pub fn failures(&self) -> impl Iterator<Item = (String, &Error)> {
        self.failures
            .iter()
            .map(|(place, error)| (place.to_string(), error))
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
