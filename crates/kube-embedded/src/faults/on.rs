//! The requests that a fault affects.

use std::fmt;
use std::sync::Arc;

use crate::record::Request;
use crate::request::Verb;

/// The requests that a fault affects.
///
/// The constructors choose a verb and a resource; the methods restrict them.
///
/// ```
/// # use kube_embedded::{Fault, On, Server};
/// # fn example(server: &Server) {
/// // The third write to the object `leader`, and only that one.
/// let rule = server.faults().add(
///     On::write("leases.coordination.k8s.io").named("leader").after(2).once(),
///     Fault::conflict(),
/// );
/// // All pages of a list but the first.
/// let later_pages = On::list("pods").when(|request| request.param("continue").is_some());
/// server.faults().add(later_pages, Fault::expired());
/// # }
/// ```
#[derive(Clone)]
pub struct On {
    verbs: Vec<Verb>,
    resource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    #[expect(clippy::type_complexity, reason = "a predicate; see the method `when`")]
    when: Option<Arc<dyn Fn(&Request) -> bool + Send + Sync>>,
    pub(super) skip: usize,
    pub(super) times: Option<usize>,
}

impl On {
    fn new(verbs: &[Verb], resource: Option<&str>) -> On {
        On {
            verbs: verbs.to_vec(),
            resource: resource.map(str::to_owned),
            namespace: None,
            name: None,
            when: None,
            skip: 0,
            times: None,
        }
    }

    /// Matches all requests, including those that are not about objects (discovery, health).
    #[must_use]
    pub fn any() -> On {
        On::new(&[], None)
    }

    /// Matches all requests of a resource, given by its plural name: `pods`, or `deployments.apps` with the group.
    #[must_use]
    pub fn resource(resource: &str) -> On {
        On::new(&[], Some(resource))
    }

    /// Matches lists of a resource.
    #[must_use]
    pub fn list(resource: &str) -> On {
        On::new(&[Verb::List], Some(resource))
    }

    /// Matches watches of a resource, streaming lists included.
    #[must_use]
    pub fn watch(resource: &str) -> On {
        On::new(&[Verb::Watch], Some(resource))
    }

    /// Matches streaming lists of a resource: watches that ask for the initial objects as events.
    #[must_use]
    pub fn streaming_list(resource: &str) -> On {
        On::watch(resource).when(Request::is_streaming_list)
    }

    /// Matches lists and watches of a resource.
    #[must_use]
    pub fn list_or_watch(resource: &str) -> On {
        On::new(&[Verb::List, Verb::Watch], Some(resource))
    }

    /// Matches reads of single objects of a resource.
    #[must_use]
    pub fn get(resource: &str) -> On {
        On::new(&[Verb::Get], Some(resource))
    }

    /// Matches all writes to objects of a resource.
    #[must_use]
    pub fn write(resource: &str) -> On {
        On::new(
            &[
                Verb::Create,
                Verb::Update,
                Verb::Patch,
                Verb::Delete,
                Verb::DeleteCollection,
            ],
            Some(resource),
        )
    }

    /// Matches requests with one verb on a resource.
    #[must_use]
    pub fn verb(verb: Verb, resource: &str) -> On {
        On::new(&[verb], Some(resource))
    }

    /// Restricts to one namespace.
    #[must_use]
    pub fn in_namespace(mut self, namespace: &str) -> On {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// Restricts to objects with this name.
    #[must_use]
    pub fn named(mut self, name: &str) -> On {
        self.name = Some(name.to_owned());
        self
    }

    /// Restricts to requests for which `holds` returns true.
    #[must_use]
    pub fn when(mut self, holds: impl Fn(&Request) -> bool + Send + Sync + 'static) -> On {
        self.when = Some(Arc::new(holds));
        self
    }

    /// Skips the first matching requests.
    #[must_use]
    pub fn after(mut self, requests: usize) -> On {
        self.skip = requests;
        self
    }

    /// Limits the number of affected requests.
    #[must_use]
    pub fn times(mut self, times: usize) -> On {
        self.times = Some(times);
        self
    }

    /// Affects one request only.
    #[must_use]
    pub fn once(self) -> On {
        self.times(1)
    }

    pub(super) fn matches(&self, request: &Request) -> bool {
        let resource = self
            .resource
            .as_ref()
            .is_none_or(|wanted| match wanted.split_once('.') {
                Some((plural, group)) => request.resource == plural && request.group == group,
                None => request.resource == *wanted,
            });
        resource
            && (self.verbs.is_empty() || request.verb.is_some_and(|v| self.verbs.contains(&v)))
            && self
                .namespace
                .as_ref()
                .is_none_or(|ns| request.namespace.as_ref() == Some(ns))
            && self
                .name
                .as_ref()
                .is_none_or(|name| request.name.as_ref() == Some(name))
            && self.when.as_ref().is_none_or(|holds| holds(request))
    }
}

impl fmt::Debug for On {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("On")
            .field("verbs", &self.verbs)
            .field("resource", &self.resource)
            .field("namespace", &self.namespace)
            .field("name", &self.name)
            .field("when", &self.when.is_some())
            .field("skip", &self.skip)
            .field("times", &self.times)
            .finish()
    }
}
