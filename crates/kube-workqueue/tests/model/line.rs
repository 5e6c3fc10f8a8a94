//! Items come in line while others wait for them.

use loom::thread::spawn;

use crate::{begin_to_wait, getter, in_all_orders, queue, sorted};

#[test]
fn who_waits_gets_what_is_added() {
    in_all_orders(|| {
        let queue = queue();
        let waiting = getter(&queue);
        queue.add(1);
        assert_eq!(sorted([waiting]), [Some(1)]);
    });
}

#[test]
fn two_who_wait_get_one_each() {
    in_all_orders(|| {
        let queue = queue();
        let waiting = [getter(&queue), getter(&queue)];
        queue.add(1);
        queue.add(2);
        assert_eq!(sorted(waiting), [Some(1), Some(2)]);
    });
}

#[test]
fn an_item_comes_back_to_one_who_waits() {
    in_all_orders(|| {
        let queue = queue();
        queue.add(1);
        let item = queue.try_get().expect("an item");
        let waiting = getter(&queue);
        // Added during the work or after it: another has to work on it either way.
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
fn an_item_is_worked_on_by_one_at_a_time() {
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
            // The other may have come for nothing.
            queue.add(1);
        }
        working.join().expect("a worker");
    });
}

#[test]
fn a_wait_that_is_dropped_takes_no_call_along() {
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
