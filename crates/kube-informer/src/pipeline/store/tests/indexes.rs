//! Tests of index functions and their failures.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{TestStore, key, name_of, tagged, tags_of};
use crate::object::Object;
use crate::pipeline::store::{Index, Seed};
use k8s_openapi::api::core::v1::ConfigMap;

fn names(index: &Index<ConfigMap, String>, value: &str) -> Vec<String> {
    let mut names: Vec<String> = index
        .get(value)
        .iter()
        .map(|object| name_of(object).to_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn an_object_is_indexed_once_under_each_of_its_values() {
    let mut cache = TestStore::new(Seed::new(1));
    let index = cache.index("tags", tags_of).unwrap();
    assert_eq!(index.name(), "tags");
    cache.upsert(tagged(&key("one"), 1, 1, &["a", "b", "a", "a"]));
    cache.upsert(tagged(&key("two"), 2, 1, &["b"]));
    cache.publish();
    assert_eq!(names(&index, "a"), ["one"]);
    assert_eq!(names(&index, "b"), ["one", "two"]);

    cache.upsert(tagged(&key("one"), 3, 1, &["c"]));
    cache.publish();
    assert_eq!(names(&index, "b"), ["two"], "the other object is kept");
    assert!(names(&index, "a").is_empty());
    assert_eq!(names(&index, "c"), ["one"]);

    cache.delete(tagged(&key("one"), 4, 1, &["c"]));
    cache.publish();
    let values: Vec<String> = index.values().iter().map(ToString::to_string).collect();
    assert_eq!(values, ["b"], "values without objects are removed");
}

#[test]
fn an_index_that_is_added_later_is_complete_at_once() {
    let mut cache = TestStore::new(Seed::new(2));
    for n in 0..100 {
        let tag = if n % 2 == 0 { "even" } else { "odd" };
        cache.upsert(tagged(&key(&format!("n{n}")), n + 1, 1, &[tag]));
    }
    cache.publish();
    let before = cache.store.snapshot();
    let index = cache.index("tags", tags_of).unwrap();
    assert!(index.get("odd").is_empty(), "not published yet");
    cache.publish();
    assert_eq!(index.get("odd").len(), 50);
    assert!(
        before.by(&index, "odd").is_empty(),
        "an older snapshot does not have it"
    );
    assert!(before.by_name("tags", "odd").unwrap_err().is_unknown_index());
    let after = cache.store.snapshot();
    for object in &before {
        assert!(Object::ptr_eq(&object, &after.get(object.key()).unwrap()));
    }
}

#[test]
fn index_values_are_found_by_borrowed_text() {
    let mut cache = TestStore::new(Seed::new(3));
    let strings = cache.index("strings", tags_of).unwrap();
    let numbers = cache
        .index("numbers", |object| [tags_of(object).len() as u64])
        .unwrap();
    let keys = cache.index("keys", |object| [key(name_of(object))]).unwrap();
    cache.upsert(tagged(&key("one"), 1, 1, &["a", "b"]));
    cache.publish();
    assert_eq!(strings.get("a").len(), 1);
    assert_eq!(strings.get(&"a".to_owned()).len(), 1);
    assert_eq!(numbers.get(&2).len(), 1);
    assert_eq!(keys.get(&key("one")).len(), 1);
    let snapshot = cache.store.snapshot();
    assert_eq!(snapshot.by(&strings, "b").len(), 1);
    assert_eq!(snapshot.by_name("numbers", "2").unwrap().len(), 1);
}

#[test]
fn an_index_name_can_be_used_once() {
    let mut cache = TestStore::<ConfigMap>::new(Seed::new(4));
    let first = cache.index("tags", tags_of).unwrap();
    cache.upsert(tagged(&key("one"), 1, 1, &["a"]));
    cache.publish();
    let error = cache.index("tags", |_| ["x"]).unwrap_err();
    assert!(error.is_conflict());
    assert!(error.to_string().contains("\"tags\""), "{error}");
    cache.upsert(tagged(&key("two"), 2, 1, &["a"]));
    cache.publish();
    assert_eq!(names(&first, "a"), ["one", "two"], "the first index is unchanged");

    let error = cache.store.snapshot().index_values("tag").unwrap_err();
    assert!(error.is_unknown_index());
    assert!(error.to_string().contains("\"tag\""), "{error}");
}

/// The object is in the cache and in the other indexes; the error contains its name.
#[test]
fn a_failing_or_panicking_function_only_affects_its_own_index() {
    let mut cache = TestStore::new(Seed::new(5));
    let failing = cache
        .try_index("failing", |object: &ConfigMap| match name_of(object) {
            "bad" => Err("no such field".to_owned()),
            _ => Ok(tags_of(object)),
        })
        .unwrap();
    let panicking = cache
        .index("panicking", |object: &ConfigMap| {
            assert_ne!(name_of(object), "bad", "cannot be indexed");
            tags_of(object)
        })
        .unwrap();
    let sound = cache.index("sound", tags_of).unwrap();
    for name in ["good", "bad"] {
        cache.upsert(tagged(&key(name), 1, 1, &["a"]));
    }
    let errors = cache.publish();
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(errors.len(), 2, "{texts:?}");
    assert!(errors.iter().all(crate::Error::is_user_code));
    assert!(
        texts[0].contains("\"failing\" failed for bad") && texts[0].contains("no such field"),
        "{texts:?}"
    );
    assert!(
        texts[1].contains("\"panicking\"") && texts[1].contains("cannot be indexed"),
        "{texts:?}"
    );
    assert_eq!(cache.store.snapshot().len(), 2);
    assert_eq!(names(&failing, "a"), ["good"]);
    assert_eq!(names(&panicking, "a"), ["good"]);
    assert_eq!(names(&sound, "a"), ["bad", "good"]);
    assert!(cache.publish().is_empty(), "errors are reported once");

    cache.delete(tagged(&key("bad"), 2, 1, &["a"]));
    cache.delete(tagged(&key("good"), 3, 1, &["a"]));
    cache.publish();
    for index in [&failing, &panicking, &sound] {
        assert!(index.values().is_empty(), "{index:?}");
    }
}

/// A value that panics when it is hashed, compared or dropped, depending on its text.
struct Touchy(&'static str);

impl Touchy {
    fn of(object: &ConfigMap) -> Vec<Touchy> {
        let known = ["hashed", "compared", "dropped", "sound"];
        let tags = tags_of(object);
        let tags = tags
            .iter()
            .filter_map(|tag| known.iter().find(|word| *word == tag));
        tags.map(|tag| Touchy(tag)).collect()
    }
}

impl Hash for Touchy {
    fn hash<H: Hasher>(&self, state: &mut H) {
        assert_ne!(self.0, "hashed", "cannot be hashed");
        // All values have one hash, so they are compared.
        0.hash(state);
    }
}

impl PartialEq for Touchy {
    fn eq(&self, other: &Touchy) -> bool {
        assert!(![self.0, other.0].contains(&"compared"), "cannot be compared");
        self.0 == other.0
    }
}

impl Eq for Touchy {}

impl fmt::Display for Touchy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Drop for Touchy {
    fn drop(&mut self) {
        assert!(
            self.0 != "dropped" || std::thread::panicking(),
            "cannot be dropped"
        );
    }
}

#[test]
fn contract_12_panicking_values_only_affect_their_own_index() {
    let mut cache = TestStore::new(Seed::new(7));
    let sound = cache.index("sound", tags_of).unwrap();
    for (version, tag) in [(1, "sound"), (2, "hashed"), (3, "compared")] {
        cache.upsert(tagged(&key(tag), version, 1, &["a", "sound", tag]));
    }
    cache.publish();

    cache.index("touchy", Touchy::of).unwrap();
    let late: Vec<String> = cache.publish().iter().map(ToString::to_string).collect();
    cache.upsert(tagged(&key("hashed"), 4, 1, &["a", "sound", "hashed"]));
    cache.upsert(tagged(&key("compared"), 5, 1, &["a", "sound", "compared"]));
    let mut texts = cache
        .publish()
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>();
    texts.extend(late);
    texts.sort();
    assert_eq!(texts.len(), 4, "{texts:?}");
    for (texts, word) in texts.iter().zip(["compared", "compared", "hashed", "hashed"]) {
        assert!(
            texts.contains(&format!("\"touchy\" failed for {word}"))
                && texts.contains(&format!("cannot be {word}")),
            "{texts}"
        );
    }
    let snapshot = cache.store.snapshot();
    assert_eq!(snapshot.len(), 3);
    assert_eq!(names(&sound, "a"), ["compared", "hashed", "sound"]);
    assert_eq!(
        snapshot.keys_by_name("touchy", "sound").unwrap(),
        [key("sound")],
        "the others are not in the index"
    );
}

/// Panics of a value cannot be caught everywhere; the cache has to stay complete.
#[test]
fn a_panic_while_an_index_is_added_leaves_the_cache_unchanged() {
    let mut cache = TestStore::new(Seed::new(8));
    let sound = cache.index("sound", tags_of).unwrap();
    cache.upsert(tagged(&key("one"), 1, 1, &["a"]));
    cache.upsert(tagged(&key("two"), 2, 1, &["a", "dropped", "hashed"]));
    cache.publish();
    let before = cache.store.snapshot();
    let added = catch_unwind(AssertUnwindSafe(|| cache.index("touchy", Touchy::of).map(drop)));
    assert!(added.is_err(), "it panics twice");

    cache.upsert(tagged(&key("three"), 3, 1, &["a"]));
    assert!(cache.publish().is_empty());
    assert_eq!(names(&sound, "a"), ["one", "three", "two"]);
    let after = cache.store.snapshot();
    assert_eq!(after.index_names().collect::<Vec<_>>(), ["sound"]);
    for object in &before {
        assert!(Object::ptr_eq(&object, &after.get(object.key()).unwrap()));
    }
    let name = cache
        .index("touchy", |object: &ConfigMap| [name_of(object).to_owned()])
        .unwrap();
    cache.publish();
    assert_eq!(names(&name, "two"), ["two"], "the name is free again");
}

/// A value that counts how often it is printed and compared.
struct Counted {
    text: String,
    printed: Arc<AtomicU64>,
    compared: Arc<AtomicU64>,
}

impl Hash for Counted {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl PartialEq for Counted {
    fn eq(&self, other: &Counted) -> bool {
        self.compared.fetch_add(1, Ordering::Relaxed);
        self.text == other.text
    }
}

impl Eq for Counted {}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.printed.fetch_add(1, Ordering::Relaxed);
        f.write_str(&self.text)
    }
}

#[test]
fn each_value_is_printed_once_and_compared_with_none_of_another_hash() {
    let mut cache = TestStore::new(Seed::new(9));
    let (printed, compared) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
    let counts = (Arc::clone(&printed), Arc::clone(&compared));
    let values = move |object: &ConfigMap| {
        let counted = |text| Counted {
            text,
            printed: Arc::clone(&counts.0),
            compared: Arc::clone(&counts.1),
        };
        tags_of(object).into_iter().map(counted).collect::<Vec<_>>()
    };
    let index = cache.index("counted", values).unwrap();
    for n in 0..60 {
        let tag = (n % 20).to_string();
        cache.upsert(tagged(&key(&format!("n{n}")), n + 1, 1, &[&tag]));
    }
    cache.publish();

    let snapshot = cache.store.snapshot();
    assert_eq!(snapshot.keys_by_name("counted", "7").unwrap().len(), 3);
    assert_eq!(printed.load(Ordering::Relaxed), 20);
    compared.store(0, Ordering::Relaxed);
    assert_eq!(index.values().len(), 20);
    assert_eq!(compared.load(Ordering::Relaxed), 0);
}

/// The index uses the recorded values, whatever the function returns later.
#[test]
fn an_inconsistent_index_function_leaves_no_stale_postings() {
    for bits in [u32::MAX, 0] {
        let mut cache = TestStore::new(Seed::colliding(6, bits));
        let calls = AtomicU64::new(0);
        let index = cache
            .index("moody", move |_: &ConfigMap| {
                [calls.fetch_add(1, Ordering::Relaxed).to_string()]
            })
            .unwrap();
        for version in 1..50 {
            cache.upsert(tagged(&key(&format!("n{}", version % 5)), version, 1, &[]));
            cache.publish();
            assert!(index.values().len() <= 5);
        }
        for n in 0..5 {
            cache.delete(tagged(&key(&format!("n{n}")), 100, 1, &[]));
        }
        cache.publish();
        assert!(index.values().is_empty());
    }
}
