//! Indexes, which group objects by the values of a function.

use std::any::Any;
use std::borrow::Borrow;
use std::cell::Cell;
use std::fmt;
use std::hash::Hash;
use std::marker::PhantomData;
use std::sync::Arc;

use super::Store;
use super::hash::{self, Seed};
use super::snapshot::Contents;
use super::tree::{Slot, Tree, touch};
use crate::error::Error;
use crate::object::{Entry, Key, Object};
use crate::util::panics::caught;

/// The value of an index: any type that can be compared, hashed and printed, for example `String`, a number
/// or a [`Key`].
///
/// The printed form is used by code that addresses indexes by name, for example a command line. See
/// [`SharedInformer::index`](crate::SharedInformer::index).
pub trait IndexValue: Hash + Eq + fmt::Display + Send + Sync + 'static {}

impl<V: Hash + Eq + fmt::Display + Send + Sync + 'static> IndexValue for V {}

thread_local! {
    /// Whether this thread is calling an index function.
    static IN_INDEX_FUNCTION: Cell<bool> = const { Cell::new(false) };
}

fn call_index_function<T>(call: impl FnOnce() -> T) -> T {
    let before = IN_INDEX_FUNCTION.replace(true);
    let result = call();
    IN_INDEX_FUNCTION.set(before);
    result
}

/// Returns whether this thread is inside an index function, while the cache is being written.
pub(crate) fn is_in_index_function() -> bool {
    IN_INDEX_FUNCTION.get()
}

/// A function that returns the index values of an object.
pub(crate) type IndexFunction<K, V> = Arc<dyn Fn(&K) -> Result<Vec<V>, String> + Send + Sync>;

/// An index of an informer, which finds objects by the values of a function.
///
/// Created by `SharedInformer::index`. Clones are cheap. The type of the values is checked at compile time.
/// client-go: `IndexFunc`, `ByIndex`.
///
/// ```no_run
/// # use k8s_openapi::api::core::v1::Pod;
/// # fn example(pods: kube_informer::SharedInformer<Pod>) -> Result<(), kube_informer::Error> {
/// use kube_informer::Index;
///
/// let by_node: Index<Pod> =
///     pods.index("node", |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone()))?;
/// for pod in by_node.get("node-1") {
///     println!("{}", pod.key());
/// }
/// # Ok(())
/// # }
/// ```
#[doc(alias("Indexer", "IndexFunc"))]
pub struct Index<K, V = String> {
    store: Arc<Store<K>>,
    name: Arc<str>,
    value: PhantomData<fn() -> V>,
}

impl<K: Send + Sync + 'static, V: IndexValue> Index<K, V> {
    pub(crate) fn new(store: Arc<Store<K>>, name: Arc<str>) -> Index<K, V> {
        Index {
            store,
            name,
            value: PhantomData,
        }
    }

    /// Returns the name of the index.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether the store has an index with this name and type of values.
    pub(crate) fn exists(&self) -> bool {
        self.store.read(|contents| self.tree_in(contents).is_some())
    }

    /// Returns the objects with an index value.
    #[doc(alias = "ByIndex")]
    pub fn get<Q>(&self, value: &Q) -> Vec<Object<K>>
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.store.read(|contents| self.find_in(contents, value))
    }

    /// Returns the keys of the objects with an index value.
    #[doc(alias = "IndexKeys")]
    pub fn keys<Q>(&self, value: &Q) -> Vec<Key>
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.store.read(|contents| {
            let tree = self.tree_in(contents);
            tree.into_iter()
                .flat_map(|tree| tree.find(value))
                .map(|entry| entry.key().clone())
                .collect()
        })
    }

    /// Returns the distinct values of all objects.
    #[doc(alias = "ListIndexFuncValues")]
    #[must_use]
    pub fn values(&self) -> Vec<Arc<V>> {
        self.store
            .read(|contents| self.tree_in(contents).map(IndexTree::values).unwrap_or_default())
    }
}

impl<K: 'static, V: IndexValue> Index<K, V> {
    pub(super) fn find_in<Q>(&self, contents: &Contents<K>, value: &Q) -> Vec<Object<K>>
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.tree_in(contents)
            .map(|tree| tree.objects(value))
            .unwrap_or_default()
    }

    fn tree_in<'a>(&self, contents: &'a Contents<K>) -> Option<&'a IndexTree<K, V>> {
        contents.index(&self.name)?.as_any().downcast_ref()
    }
}

impl<K, V> Clone for Index<K, V> {
    fn clone(&self) -> Self {
        Index {
            store: Arc::clone(&self.store),
            name: Arc::clone(&self.name),
            value: PhantomData,
        }
    }
}

impl<K, V> fmt::Debug for Index<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Index({} of {})", self.name, self.store.resource())
    }
}

/// An index of any value type.
pub(super) trait AnyIndex<K>: Send + Sync {
    fn name(&self) -> &Arc<str>;
    fn as_any(&self) -> &dyn Any;
    fn find_text(&self, value: &str) -> Vec<Object<K>>;
    fn find_keys(&self, value: &str) -> Vec<Key>;
    fn texts(&self) -> Vec<String>;
}

/// The writer's view of an index.
pub(super) trait WritableIndex<K>: Send {
    /// Calls the index function for an object, stores the values for [`WritableIndex::insert`], and appends
    /// their number and their hashes to `hashes`.
    ///
    /// All user code for writing an index runs here. If the function fails or panics, or its values panic
    /// when they are hashed or compared, the object has no values.
    fn prepare(&mut self, key: &Key, object: &K, hashes: &mut Vec<u32>) -> Result<(), Error>;

    /// Adds an entry under its prepared values.
    fn insert(&mut self, entry: &Arc<Entry<K>>);

    /// Removes an entry from the values with these hashes.
    fn remove(&mut self, entry: &Arc<Entry<K>>, hashes: &[u32]);

    /// Returns an empty index with the same function.
    fn new_empty(&self) -> Box<dyn WritableIndex<K>>;

    /// Returns the index for readers; empty until the store is filled.
    fn publish(&self, filled: bool) -> Arc<dyn AnyIndex<K>>;

    fn name(&self) -> &Arc<str>;
}

pub(super) struct IndexTree<K, V> {
    name: Arc<str>,
    /// `None` for readers: a snapshot may outlive the informer and must not keep the user's function alive.
    function: Option<IndexFunction<K, V>>,
    postings: Tree<Posting<K, V>>,
    /// Values of the next entry, with their hashes.
    prepared: Vec<(u32, Arc<V>)>,
    seed: Seed,
}

struct Posting<K, V> {
    value: Arc<V>,
    entry: Arc<Entry<K>>,
}

impl<K, V> Clone for Posting<K, V> {
    fn clone(&self) -> Self {
        Posting {
            value: Arc::clone(&self.value),
            entry: Arc::clone(&self.entry),
        }
    }
}

impl<K, V> Slot for Posting<K, V> {
    const NAMED: bool = false;

    fn name(&self) -> &'static str {
        ""
    }

    /// There are few values, and their entry is loaded with each object.
    fn touch(&self) {
        touch(&self.entry);
    }
}

impl<K, V: IndexValue> IndexTree<K, V> {
    pub(super) fn new(name: Arc<str>, function: IndexFunction<K, V>, seed: Seed) -> IndexTree<K, V> {
        IndexTree {
            name,
            function: Some(function),
            postings: Tree::new(),
            prepared: Vec::new(),
            seed,
        }
    }

    /// Prepares a value for the next entry, unless it is a duplicate. Equal values of all entries share one
    /// allocation.
    fn prepare_value(&mut self, value: V, hashes: &mut Vec<u32>) {
        let hash = self.seed.value(&value);
        let is_equal = |(other, prepared): &(u32, Arc<V>)| *other == hash && **prepared == value;
        if self.prepared.iter().any(is_equal) {
            return;
        }
        let existing = self
            .postings
            .range(hash::range(hash))
            .find(|posting| *posting.value == value);
        let value = existing.map_or_else(|| Arc::new(value), |posting| Arc::clone(&posting.value));
        self.prepared.push((hash, value));
        hashes.push(hash);
    }

    fn find<'a, Q>(&'a self, value: &'a Q) -> impl Iterator<Item = &'a Arc<Entry<K>>>
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let range = hash::range(self.seed.value(value));
        let matches = move |posting: &&Posting<K, V>| (*posting.value).borrow() == value;
        self.postings
            .range(range)
            .filter(matches)
            .map(|posting| &posting.entry)
    }

    /// Returns the objects with a value.
    fn objects<Q>(&self, value: &Q) -> Vec<Object<K>>
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let mut objects = Vec::new();
        let mut postings = self.postings.range(hash::range(self.seed.value(value)));
        while let Some(slots) = postings.next_leaf() {
            slots.clone().for_each(|(posting, _)| touch(&posting.entry));
            let matching = slots
                .map(|(posting, _)| posting)
                .filter(|posting| (*posting.value).borrow() == value);
            objects.extend(matching.map(|posting| Object::new(Arc::clone(&posting.entry))));
        }
        objects
    }

    /// Returns the entries with a printed value. Printed values have no hash, so every value is printed, each
    /// once.
    fn with_text<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a Arc<Entry<K>>> {
        let mut last: Option<(&Arc<V>, bool)> = None;
        self.postings.iter().filter_map(move |posting| {
            let matches = match last {
                Some((value, matches)) if Arc::ptr_eq(value, &posting.value) => matches,
                _ => posting.value.to_string() == text,
            };
            last = Some((&posting.value, matches));
            matches.then_some(&posting.entry)
        })
    }

    fn values(&self) -> Vec<Arc<V>> {
        let mut values: Vec<Arc<V>> = Vec::new();
        // Values with equal hashes are adjacent, in any order.
        let (mut run, mut hash) = (0, None);
        for posting in &self.postings {
            let this = self.seed.value(&*posting.value);
            if hash != Some(this) {
                (run, hash) = (values.len(), Some(this));
            }
            if !values[run..].contains(&posting.value) {
                values.push(Arc::clone(&posting.value));
            }
        }
        values
    }
}

impl<K: Send + Sync + 'static, V: IndexValue> AnyIndex<K> for IndexTree<K, V> {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn find_text(&self, value: &str) -> Vec<Object<K>> {
        self.with_text(value).cloned().map(Object::new).collect()
    }

    fn find_keys(&self, value: &str) -> Vec<Key> {
        self.with_text(value).map(|entry| entry.key().clone()).collect()
    }

    fn texts(&self) -> Vec<String> {
        self.values().iter().map(ToString::to_string).collect()
    }
}

impl<K: Send + Sync + 'static, V: IndexValue> WritableIndex<K> for IndexTree<K, V> {
    fn prepare(&mut self, key: &Key, object: &K, hashes: &mut Vec<u32>) -> Result<(), Error> {
        self.prepared.clear();
        let count = hashes.len();
        hashes.push(0);
        let result = call_index_function(|| {
            caught(|| {
                let values = self.function.as_ref().map(|function| function(object));
                for value in values.transpose()?.into_iter().flatten() {
                    self.prepare_value(value, hashes);
                }
                Ok(())
            })
        });
        match result.unwrap_or_else(|message| Err(format!("panicked: {message}"))) {
            Ok(()) => {
                hashes[count] = u32::try_from(self.prepared.len()).unwrap_or(u32::MAX);
                Ok(())
            }
            Err(why) => {
                hashes.truncate(count + 1);
                self.prepared.clear();
                Err(Error::user_code(format!(
                    "index function {:?} failed for {key}: the object is not in the index: {why}",
                    self.name
                )))
            }
        }
    }

    fn insert(&mut self, entry: &Arc<Entry<K>>) {
        for (hash, value) in self.prepared.drain(..) {
            let posting = Posting {
                value,
                entry: Arc::clone(entry),
            };
            self.postings
                .insert(self.seed.posting(hash, entry.hash()), posting, |_| false);
        }
    }

    fn remove(&mut self, entry: &Arc<Entry<K>>, hashes: &[u32]) {
        for hash in hashes {
            self.postings
                .remove(self.seed.posting(*hash, entry.hash()), |posting| {
                    Arc::ptr_eq(&posting.entry, entry)
                });
        }
    }

    fn new_empty(&self) -> Box<dyn WritableIndex<K>> {
        Box::new(IndexTree {
            name: Arc::clone(&self.name),
            function: self.function.clone(),
            postings: Tree::new(),
            prepared: Vec::new(),
            seed: self.seed,
        })
    }

    fn publish(&self, filled: bool) -> Arc<dyn AnyIndex<K>> {
        Arc::new(IndexTree {
            name: Arc::clone(&self.name),
            function: None,
            postings: if filled {
                self.postings.clone()
            } else {
                Tree::new()
            },
            prepared: Vec::new(),
            seed: self.seed,
        })
    }

    fn name(&self) -> &Arc<str> {
        &self.name
    }
}
