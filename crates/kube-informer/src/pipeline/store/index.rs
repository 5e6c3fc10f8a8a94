//! Indexes: objects by what a function says of them.

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

/// What an index can be by: anything that can be compared, hashed and printed, as `String`, a number or a [`Key`].
///
/// The printed form is for code that knows indexes by their names only, as a command line does.
///
/// See [`SharedInformer::index`](crate::SharedInformer::index).
pub trait IndexValue: Hash + Eq + fmt::Display + Send + Sync + 'static {}

impl<V: Hash + Eq + fmt::Display + Send + Sync + 'static> IndexValue for V {}

thread_local! {
    /// An index function is being asked here.
    static IN_INDEX_FUNCTION: Cell<bool> = const { Cell::new(false) };
}

fn asking<T>(ask: impl FnOnce() -> T) -> T {
    let before = IN_INDEX_FUNCTION.replace(true);
    let answer = ask();
    IN_INDEX_FUNCTION.set(before);
    answer
}

/// Whether this is inside of an index function, where the cache is being written.
pub(crate) fn is_asked() -> bool {
    IN_INDEX_FUNCTION.get()
}

/// A function that says under which values an object stands.
pub(crate) type IndexFunction<K, V> = Arc<dyn Fn(&K) -> Result<Vec<V>, String> + Send + Sync>;

/// An index of an informer: objects by the values that a function gave for them.
///
/// Made by `SharedInformer::index`. Cloning it costs a counter. It stands for client-go's `IndexFunc` and `ByIndex`, and
/// the type of the value is checked when the program is compiled.
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

    /// The name it was made with.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the store has an index of this name and of this type of values.
    pub(crate) fn exists(&self) -> bool {
        self.store.read(|contents| self.tree_in(contents).is_some())
    }

    /// The objects that stand under a value now.
    #[doc(alias = "ByIndex")]
    pub fn get<Q>(&self, value: &Q) -> Vec<Object<K>>
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.store.read(|contents| self.find_in(contents, value))
    }

    /// The keys of the objects that stand under a value now.
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

    /// All values that something stands under now, each once.
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

/// An index without the type of its values.
pub(super) trait AnyIndex<K>: Send + Sync {
    fn name(&self) -> &Arc<str>;
    fn as_any(&self) -> &dyn Any;
    fn find_text(&self, value: &str) -> Vec<Object<K>>;
    fn find_keys(&self, value: &str) -> Vec<Key>;
    fn texts(&self) -> Vec<String>;
}

/// An index as its writer sees it.
pub(super) trait WritableIndex<K>: Send {
    /// Asks the function for the values of an object, keeps them for [`WritableIndex::insert`], and notes their hashes:
    /// how many, then each. A function that fails or panics gives no values, and neither does one whose values panic when
    /// they are hashed or compared: all the user's code that it takes to write an index is called here.
    fn prepare(&mut self, key: &Key, object: &K, hashes: &mut Vec<u32>) -> Result<(), Error>;

    /// Puts an entry under the values prepared for it.
    fn insert(&mut self, entry: &Arc<Entry<K>>);

    /// Takes an entry away from under the values with these hashes.
    fn remove(&mut self, entry: &Arc<Entry<K>>, hashes: &[u32]);

    /// The same index with nothing in it.
    fn emptied(&self) -> Box<dyn WritableIndex<K>>;

    /// The index as it is now, for readers; without anything in it if there is nothing to be seen yet.
    fn publish(&self, filled: bool) -> Arc<dyn AnyIndex<K>>;

    fn name(&self) -> &Arc<str>;
}

pub(super) struct IndexTree<K, V> {
    name: Arc<str>,
    /// None for readers: a snapshot may outlive the informer, and must not keep the user's function.
    function: Option<IndexFunction<K, V>>,
    postings: Tree<Posting<K, V>>,
    /// Values of the entry that comes next, with their hashes.
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

    /// Values are few, and counted often.
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

    /// Keeps a value for the entry that comes next, unless it has it already. Equal values of all entries are one.
    fn keep(&mut self, value: V, hashes: &mut Vec<u32>) {
        let hash = self.seed.value(&value);
        let is_kept = |(its, kept): &(u32, Arc<V>)| *its == hash && **kept == value;
        if self.prepared.iter().any(is_kept) {
            return;
        }
        let known = self
            .postings
            .range(hash::range(hash))
            .find(|posting| *posting.value == value);
        let value = known.map_or_else(|| Arc::new(value), |posting| Arc::clone(&posting.value));
        self.prepared.push((hash, value));
        hashes.push(hash);
    }

    fn find<'a, Q>(&'a self, value: &'a Q) -> impl Iterator<Item = &'a Arc<Entry<K>>>
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let range = hash::range(self.seed.value(value));
        let fits = move |posting: &&Posting<K, V>| (*posting.value).borrow() == value;
        self.postings
            .range(range)
            .filter(fits)
            .map(|posting| &posting.entry)
    }

    /// The objects under a value.
    fn objects<Q>(&self, value: &Q) -> Vec<Object<K>>
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let mut objects = Vec::new();
        let mut postings = self.postings.range(hash::range(self.seed.value(value)));
        while let Some(slots) = postings.next_leaf() {
            slots.clone().for_each(|(posting, _)| touch(&posting.entry));
            let fitting = slots
                .map(|(posting, _)| posting)
                .filter(|posting| (*posting.value).borrow() == value);
            objects.extend(fitting.map(|posting| Object::new(Arc::clone(&posting.entry))));
        }
        objects
    }

    /// Printed values have no hash here, so this looks at every value, though at each only once.
    fn with_text<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a Arc<Entry<K>>> {
        let mut last: Option<(&Arc<V>, bool)> = None;
        self.postings.iter().filter_map(move |posting| {
            let fits = match last {
                Some((value, fits)) if Arc::ptr_eq(value, &posting.value) => fits,
                _ => posting.value.to_string() == text,
            };
            last = Some((&posting.value, fits));
            fits.then_some(&posting.entry)
        })
    }

    fn values(&self) -> Vec<Arc<V>> {
        let mut values: Vec<Arc<V>> = Vec::new();
        // Values with one hash lie side by side, in any order among themselves.
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
        let kept = asking(|| {
            caught(|| {
                let values = self.function.as_ref().map(|function| function(object));
                for value in values.transpose()?.into_iter().flatten() {
                    self.keep(value, hashes);
                }
                Ok(())
            })
        });
        match kept.unwrap_or_else(|message| Err(format!("it panicked: {message}"))) {
            Ok(()) => {
                hashes[count] = u32::try_from(self.prepared.len()).unwrap_or(u32::MAX);
                Ok(())
            }
            Err(why) => {
                hashes.truncate(count + 1);
                self.prepared.clear();
                Err(Error::user_code(format!(
                    "the index function {:?} failed for {key}, which it now does not find: {why}",
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

    fn emptied(&self) -> Box<dyn WritableIndex<K>> {
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
