//! Listers, which read the cache of an informer.

mod cache;
mod snapshot_all;

use std::fmt;
use std::sync::Arc;

use kube_wire::selector::Selector;

use crate::error::{Error, Operation, Problem};
use crate::object::{Key, Kind, Object};
use crate::pipeline::store::{Contents, Snapshot, Store};

pub use self::cache::Cache;
pub use self::snapshot_all::{SnapshotAll, snapshot_all};
pub use crate::pipeline::store::Objects;

/// Reads an informer's cache: lists objects by labels and namespace, and gets single objects.
///
/// Objects are shared with the cache, not copied. Each call reads the current contents. Take a
/// [`Lister::snapshot`] to read the same contents several times, or to iterate over objects without
/// collecting them.
///
/// ```no_run
/// # use k8s_openapi::api::core::v1::Pod;
/// # fn example(pods: kube_informer::SharedInformer<Pod>) -> Result<(), Box<dyn std::error::Error>> {
/// let lister = pods.lister();
/// let web = lister.list(&"app=web, tier notin (test)".parse()?);
/// match lister.namespace("shop").get("cart") {
///     Ok(pod) => println!("{} at {}", pod.key(), pod.version()),
///     Err(error) => println!("{error}"),
/// }
/// # Ok(())
/// # }
/// ```
#[doc(alias("GenericLister", "NewGenericLister", "PodLister", "reflector::Store"))]
pub struct Lister<K> {
    store: Arc<Store<K>>,
}

impl<K: Kind> Lister<K> {
    pub(crate) fn new(store: Arc<Store<K>>) -> Lister<K> {
        Lister { store }
    }

    /// Returns the objects of all namespaces whose labels match.
    #[must_use]
    pub fn list(&self, selector: &Selector) -> Vec<Object<K>> {
        self.store
            .read(|contents| Objects::all(contents).collect_matching(|entry| entry.matches(selector)))
    }

    /// Returns a lister of one namespace. The empty namespace means all namespaces.
    #[doc(alias("NamespaceIndex", "MetaNamespaceIndexFunc"))]
    #[must_use]
    pub fn namespace<'a>(&'a self, namespace: &'a str) -> NamespaceLister<'a, K> {
        NamespaceLister {
            store: &self.store,
            namespace,
        }
    }

    /// Returns an object by its name.
    ///
    /// The object is cluster-scoped, or in the namespace of the informer. For an informer of all namespaces,
    /// use [`Lister::namespace`].
    ///
    /// # Errors
    /// If the object is not in the cache. The error names the resource.
    pub fn get(&self, name: &str) -> Result<Object<K>, Error> {
        get(&self.store, self.store.resource().namespace(), name)
    }

    /// Returns an object by its key.
    ///
    /// # Errors
    /// If the object is not in the cache. The error names the resource.
    #[doc(alias = "GetByKey")]
    pub fn get_key(&self, key: &Key) -> Result<Object<K>, Error> {
        let (namespace, name) = key.parts();
        get(&self.store, namespace, name)
    }

    /// Returns the number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.store.read(Contents::len)
    }

    /// Returns whether the cache is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a snapshot of the current contents.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<K> {
        self.store.snapshot()
    }
}

impl<K> Clone for Lister<K> {
    fn clone(&self) -> Self {
        Lister {
            store: Arc::clone(&self.store),
        }
    }
}

impl<K> fmt::Debug for Lister<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lister({})", self.store.resource())
    }
}

/// A [`Lister`] of one namespace, created by [`Lister::namespace`].
#[doc(alias("GenericNamespaceLister", "PodNamespaceLister"))]
pub struct NamespaceLister<'a, K> {
    store: &'a Store<K>,
    namespace: &'a str,
}

impl<K: Kind> NamespaceLister<'_, K> {
    /// Returns the objects of the namespace whose labels match.
    #[doc(alias = "ListAllByNamespace")]
    #[must_use]
    pub fn list(&self, selector: &Selector) -> Vec<Object<K>> {
        self.store.read(|contents| {
            Objects::namespace(contents, self.namespace).collect_matching(|entry| entry.matches(selector))
        })
    }

    /// Returns an object by its name.
    ///
    /// # Errors
    /// If the object is not in the cache. The error names the resource.
    pub fn get(&self, name: &str) -> Result<Object<K>, Error> {
        get(self.store, Some(self.namespace), name)
    }
}

impl<K> fmt::Debug for NamespaceLister<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "NamespaceLister({}, {})",
            self.store.resource(),
            self.namespace
        )
    }
}

fn get<K: Kind>(store: &Store<K>, namespace: Option<&str>, name: &str) -> Result<Object<K>, Error> {
    let found = store.read(|contents| contents.get(namespace, name).cloned());
    found.map(Object::new).ok_or_else(|| {
        Error::new(Problem::NotFound(Key::new(namespace, name)))
            .with_context(Operation::Cache, store.resource())
    })
}
