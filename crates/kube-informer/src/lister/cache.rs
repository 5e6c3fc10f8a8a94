//! A cache without an informer.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use super::Lister;
use crate::error::Error;
use crate::object::format::Value;
use crate::object::{Entry, Key, Kind, Object, ResourceVersion, Uid, WatchedResource};
use crate::pipeline::reflector::Delta;
use crate::pipeline::store::{Index, IndexValue, Scopes, Seed, Snapshot, Store, Writer};

/// A cache without an informer, for unit tests of code that reads listers and indexes.
///
/// It needs no server and no async runtime. [`Cache::lister`] and [`Cache::index`] return the same types as
/// an informer, so a reconcile function can be tested with objects that the test creates:
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_informer::{Cache, Index, Lister};
/// # use k8s_openapi::api::core::v1::PodSpec;
/// # use kube::api::ObjectMeta;
/// # fn pod(namespace: &str, name: &str, node: &str) -> Pod {
/// #     Pod {
/// #         metadata: ObjectMeta { name: Some(name.into()), namespace: Some(namespace.into()), ..ObjectMeta::default() },
/// #         spec: Some(PodSpec { node_name: Some(node.into()), ..PodSpec::default() }),
/// #         ..Pod::default()
/// #     }
/// # }
///
/// fn pods_beside(pods: &Lister<Pod>, by_node: &Index<Pod>, name: &str) -> usize {
///     let pod = pods.namespace("shop").get(name).expect("a pod");
///     let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or_default();
///     by_node.get(node).len() - 1
/// }
///
/// let cache = Cache::from_objects([pod("shop", "web", "north"), pod("shop", "cart", "north")])?;
/// let by_node = cache.index("node", |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone()))?;
/// assert_eq!(pods_beside(&cache.lister(), &by_node, "web"), 1);
/// # Ok::<(), kube_informer::Error>(())
/// ```
#[doc(alias("NewIndexer", "NewStore", "Indexer", "cache.Store"))]
pub struct Cache<K: Kind> {
    store: Arc<Store<K>>,
    writer: Mutex<Writer<K>>,
    seed: Seed,
}

impl<K: Kind> Cache<K> {
    /// Creates an empty cache.
    #[must_use]
    pub fn new() -> Cache<K>
    where
        K::DynamicType: Default,
    {
        Cache::with_kind(&K::DynamicType::default())
    }

    /// Creates an empty cache of a kind that is known only at run time.
    #[must_use]
    pub fn with_kind(kind: &K::DynamicType) -> Cache<K> {
        let seed = Seed::new(fastrand::u64(..));
        let resource = WatchedResource::of::<K>(kind, []);
        let store = Arc::new(Store::new(resource, seed));
        let mut writer = Writer::new(Arc::clone(&store), seed, Scopes::one());
        // The store hides its contents until it was listed.
        writer.apply(Delta::empty_list(), &mut Vec::new());
        let _no_index_failed = writer.publish();
        Cache {
            store,
            writer: Mutex::new(writer),
            seed,
        }
    }

    /// Creates a cache that contains these objects.
    ///
    /// # Errors
    /// If an object has no name.
    pub fn from_objects(objects: impl IntoIterator<Item = K>) -> Result<Cache<K>, Error>
    where
        K::DynamicType: Default,
    {
        let cache = Cache::new();
        for object in objects {
            cache.insert(object)?;
        }
        Ok(cache)
    }

    /// Adds an object, or replaces the one with the same namespace and name. Returns the replaced object.
    ///
    /// An object without a resource version gets the version `0`.
    ///
    /// # Errors
    /// If the object has no name, or an index function failed for it; in that case the object is in the cache, but not in that
    /// index.
    #[doc(alias("Indexer.Add", "Indexer.Update"))]
    pub fn insert(&self, object: K) -> Result<Option<Object<K>>, Error> {
        let entry = self.entry(object)?;
        let mut writer = self.writer.lock();
        let old = self.find(entry.key());
        writer.apply(Delta::Upsert(entry), &mut Vec::new());
        match publish(&mut writer) {
            Some(error) => Err(error),
            None => Ok(old),
        }
    }

    /// Removes an object and returns it, if the cache contains it.
    #[doc(alias = "Indexer.Delete")]
    pub fn remove(&self, key: &Key) -> Option<Object<K>> {
        let mut writer = self.writer.lock();
        let old = self.find_entry(key)?;
        writer.apply(Delta::Deleted(Arc::clone(&old)), &mut Vec::new());
        let _no_index_failed = publish(&mut writer);
        Some(Object::new(old))
    }

    /// Returns a lister of this cache.
    #[must_use]
    pub fn lister(&self) -> Lister<K> {
        Lister::new(Arc::clone(&self.store))
    }

    /// Returns a snapshot of the current contents.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<K> {
        self.store.snapshot()
    }

    /// Adds an index, like [`SharedInformer::index`](crate::SharedInformer::index).
    ///
    /// # Errors
    /// If an index with this name exists, or the function panics for an object.
    #[doc(alias("AddIndexers", "Indexers"))]
    pub fn index<V, I>(
        &self,
        name: &str,
        values: impl Fn(&K) -> I + Send + Sync + 'static,
    ) -> Result<Index<K, V>, Error>
    where
        V: IndexValue,
        I: IntoIterator<Item = V>,
    {
        let name: Arc<str> = name.into();
        let function = Arc::new(move |object: &K| Ok(values(object).into_iter().collect()));
        let mut writer = self.writer.lock();
        writer.add_index::<V>(Arc::clone(&name), function)?;
        match publish(&mut writer) {
            Some(error) => Err(error),
            None => Ok(Index::new(Arc::clone(&self.store), name)),
        }
    }

    fn entry(&self, object: K) -> Result<Arc<Entry<K>>, Error> {
        let meta = object.meta();
        let Some(name) = meta.name.as_deref().filter(|name| !name.is_empty()) else {
            return Err(Error::bad_data("cannot add object: `metadata.name` is missing"));
        };
        let key = Key::new(meta.namespace.as_deref(), name);
        let version = ResourceVersion::from_metadata(meta.resource_version.as_deref());
        let version = version.unwrap_or_else(|| ResourceVersion::from(0));
        let uid = Uid::of(meta.uid.as_deref().unwrap_or_default());
        let hash = self.seed.key(&key);
        Ok(Entry::new(
            key,
            hash,
            version,
            uid,
            Value::Decoded(Arc::new(object)),
        ))
    }

    fn find(&self, key: &Key) -> Option<Object<K>> {
        self.find_entry(key).map(Object::new)
    }

    fn find_entry(&self, key: &Key) -> Option<Arc<Entry<K>>> {
        let (namespace, name) = key.parts();
        self.store.read(|contents| contents.get(namespace, name).cloned())
    }
}

/// Publishes the changes and returns the first error of an index function.
fn publish<K: Kind>(writer: &mut Writer<K>) -> Option<Error> {
    let errors = writer.publish();
    writer.take_retired();
    errors.into_iter().next()
}

impl<K: Kind> Default for Cache<K>
where
    K::DynamicType: Default,
{
    fn default() -> Self {
        Cache::new()
    }
}

impl<K: Kind> fmt::Debug for Cache<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cache({})", self.store.resource())
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube_wire::selector::Selector;

    use super::Cache;
    use crate::object::{Key, ResourceVersion};

    fn config_map(key: &str, app: &str) -> ConfigMap {
        let key: Key = key.parse().unwrap();
        let mut object = ConfigMap::default();
        object.metadata.namespace = key.namespace().map(str::to_owned);
        object.metadata.name = Some(key.name().to_owned());
        object.metadata.labels = Some([("app".to_owned(), app.to_owned())].into());
        object
    }

    fn app(object: &ConfigMap) -> Vec<String> {
        let labels = object.metadata.labels.as_ref();
        labels
            .into_iter()
            .filter_map(|labels| labels.get("app").cloned())
            .collect()
    }

    #[test]
    fn objects_are_found_by_name_label_and_index() {
        let objects = [
            config_map("shop/a", "web"),
            config_map("shop/b", "cart"),
            config_map("bank/a", "web"),
        ];
        let cache = Cache::from_objects(objects).unwrap();
        let lister = cache.lister();
        assert_eq!(lister.len(), 3);
        assert_eq!(
            lister.namespace("bank").get("a").unwrap().key().to_string(),
            "bank/a"
        );
        assert!(lister.namespace("bank").get("b").unwrap_err().is_not_found());
        let selector: Selector = "app=web".parse().unwrap();
        assert_eq!(lister.list(&selector).len(), 2);
        let by_app = cache.index("app", app).unwrap();
        assert_eq!(by_app.get("web").len(), 2);

        assert!(cache.insert(config_map("shop/c", "web")).unwrap().is_none());
        let old = cache.insert(config_map("shop/a", "cart")).unwrap().unwrap();
        assert_eq!(app(&old), ["web"]);
        assert_eq!((by_app.get("web").len(), by_app.get("cart").len()), (2, 2));

        let removed = cache.remove(&"shop/c".parse().unwrap()).unwrap();
        assert_eq!(removed.version(), &ResourceVersion::from(0));
        assert!(cache.remove(&"shop/c".parse().unwrap()).is_none());
        assert_eq!(by_app.get("web").len(), 1);
        assert_eq!(cache.snapshot().len(), 3);
    }

    #[test]
    fn invalid_objects_duplicate_indexes_and_panicking_index_functions_are_errors() {
        let cache = Cache::<ConfigMap>::new();
        assert!(cache.lister().is_empty());
        assert!(cache.insert(ConfigMap::default()).is_err());
        cache.index("app", app).unwrap();
        assert!(cache.index("app", app).is_err());
        let panics = |_: &ConfigMap| -> Vec<String> { panic!("this index function always panics") };
        cache.index("panics", panics).unwrap();
        assert!(cache.insert(config_map("shop/a", "web")).is_err());
        assert_eq!(cache.lister().len(), 1);
    }
}
