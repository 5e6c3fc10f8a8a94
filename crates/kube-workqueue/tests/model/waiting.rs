//! Items are queued while others wait for them.

use loom::thread::spawn;

use crate::{begin_to_wait, getter, in_all_orders, queue, sorted};

#[test]
fn a_waiter_gets_an_added_item() {
    in_all_orders(|| {
        let queue = queue();
        let waiting = getter(&queue);
        queue.add(1);
        assert_eq!(sorted([waiting]), [Some(1)]);
    });
}

#[test]
fn two_waiters_get_one_item_each() {
    in_all_orders(|| {
        let queue = queue();
        let waiting = [getter(&queue), getter(&queue)];
        queue.add(1);
        queue.add(2);
        assert_eq!(sorted(waiting), [Some(1), Some(2)]);
    });
}

#[test]
fn a_readded_item_goes_to_a_waiter() {
    in_all_orders(|| {
        let queue = queue();
        queue.add(1);
        let item = queue.try_get().expect("an item");
        let waiting = getter(&queue);
        // Added while the item is running or afterwards: the waiter gets it either way.
        let adding = spawn({
            let queue = queue.clone();
            move || queue.add(1)
        });
        item.done();
        assert_eq!(sorted([waiting]), [Some(1)]);
        adding.join().expect("an add");
        assert!(queue.is_empty() && queue.running() == 0);
    });
}

#[test]
fn an_item_is_not_processed_twice_at_the_same_time() {
    in_all_orders(|| {
        let queue = queue();
        queue.add(1);
        let working = spawn({
            let queue = queue.clone();
            move || {
                let item = loom::future::block_on(queue.get());
                assert_eq!(queue.running(), 1);
                drop(item);
            }
        });
        queue.add(1);
        if let Some(item) = queue.try_get() {
            assert_eq!(queue.running(), 1);
            item.done();
            // The other thread may find no item otherwise.
            queue.add(1);
        }
        working.join().expect("a worker");
    });
}

#[test]
fn dropping_a_woken_wait_wakes_another() {
    in_all_orders(|| {
        let queue = queue();
        let adding = spawn({
            let queue = queue.clone();
            move || queue.add(1)
        });
        let waiting = getter(&queue);
        if begin_to_wait(&queue).is_some() {
            queue.add(1);
        }
        assert_eq!(sorted([waiting]), [Some(1)]);
        adding.join().expect("an add");
    });
}
