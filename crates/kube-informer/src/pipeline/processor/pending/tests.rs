use super::{MAX_KEPT_SLOTS, PendingChanges};
use crate::pipeline::store::Seed;
use crate::pipeline::store::tests::{TestStore, key, tagged};
use k8s_openapi::api::core::v1::ConfigMap;

fn pushed(
    pending_changes: &mut PendingChanges<ConfigMap>,
    changes: &[crate::pipeline::store::Change<ConfigMap>],
) {
    for change in changes {
        pending_changes.add(change);
    }
}

/// A blocked handler does not keep the memory of objects that were added, or added and deleted.
#[test]
fn memory_of_a_long_queue_is_released() {
    for seed in [Seed::new(1), Seed::colliding(1, 0b1111)] {
        let mut cache = TestStore::new(seed);
        let mut pending_changes = PendingChanges::new();
        let many = 3 * MAX_KEPT_SLOTS;
        for n in 0..many {
            pushed(
                &mut pending_changes,
                &cache.upsert(tagged(&key(&format!("n{n}")), 1, 1, &[])),
            );
        }
        assert_eq!(pending_changes.len(), many);
        for n in 0..many {
            pushed(
                &mut pending_changes,
                &cache.delete(tagged(&key(&format!("n{n}")), 2, 1, &[])),
            );
        }
        assert_eq!(pending_changes.len(), 0, "unseen objects leave no pending change");
        assert!(pending_changes.take().is_none());
        assert_eq!(
            (
                pending_changes.slots.capacity(),
                pending_changes.by_key.capacity()
            ),
            (0, 0)
        );

        for n in 0..many {
            pushed(
                &mut pending_changes,
                &cache.upsert(tagged(&key(&format!("n{n}")), 3, 1, &[])),
            );
        }
        while pending_changes.take().is_some() {}
        assert_eq!(
            (
                pending_changes.slots.capacity(),
                pending_changes.by_key.capacity()
            ),
            (0, 0)
        );
    }
}

/// A short queue keeps its memory for later events.
#[test]
fn memory_for_a_thousand_changes_is_kept() {
    let mut cache = TestStore::new(Seed::new(1));
    let mut pending_changes = PendingChanges::new();
    for n in 0..MAX_KEPT_SLOTS {
        pushed(
            &mut pending_changes,
            &cache.upsert(tagged(&key(&format!("n{n}")), 1, 1, &[])),
        );
    }
    while pending_changes.take().is_some() {}
    assert!(pending_changes.slots.capacity() >= MAX_KEPT_SLOTS);
}

/// Slots are reused, so cancelled changes need no additional memory.
#[test]
fn cancelled_changes_reuse_one_slot() {
    let mut cache = TestStore::new(Seed::new(1));
    let mut pending_changes = PendingChanges::new();
    pushed(
        &mut pending_changes,
        &cache.upsert(tagged(&key("stays"), 1, 1, &[])),
    );
    for n in 0..1_000 {
        let name = key(&format!("n{n}"));
        pushed(&mut pending_changes, &cache.upsert(tagged(&name, 1, 1, &[])));
        pushed(&mut pending_changes, &cache.delete(tagged(&name, 2, 1, &[])));
    }
    assert_eq!((pending_changes.len(), pending_changes.slots.len()), (1, 2));
}

/// The order is that of the first change of each object, even if other changes are cancelled.
#[test]
fn changes_keep_the_order_of_their_first_change() {
    let mut cache = TestStore::new(Seed::new(1));
    let mut pending_changes = PendingChanges::new();
    for (n, name) in ["a", "b", "c", "d", "e"].into_iter().enumerate() {
        pushed(
            &mut pending_changes,
            &cache.upsert(tagged(&key(name), n as u64 + 1, 1, &[])),
        );
    }
    for name in ["c", "a", "e"] {
        pushed(&mut pending_changes, &cache.delete(tagged(&key(name), 9, 1, &[])));
    }
    pushed(&mut pending_changes, &cache.upsert(tagged(&key("b"), 10, 1, &[])));
    pushed(&mut pending_changes, &cache.upsert(tagged(&key("a"), 11, 2, &[])));
    let mut order = Vec::new();
    while let Some(pending) = pending_changes.take() {
        let (first, second) = pending.events();
        assert!(second.is_none());
        order.push(first.unwrap().object().version().to_string());
    }
    assert_eq!(order, ["10", "4", "11"]);
}
