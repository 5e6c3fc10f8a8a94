//! Shutdown and drain.

use std::time::Duration;

use loom::thread::spawn;

use crate::{getter, in_all_orders, queue, sorted};

#[test]
fn a_shutdown_ends_all_waits() {
    in_all_orders(|| {
        let queue = queue();
        let waiting = [getter(&queue), getter(&queue)];
        queue.shut_down();
        assert_eq!(sorted(waiting), [None, None]);
    });
}

#[test]
fn items_added_before_a_shutdown_are_processed() {
    in_all_orders(|| {
        let queue = queue();
        let waiting = [getter(&queue), getter(&queue)];
        queue.add(1);
        queue.shut_down();
        assert_eq!(sorted(waiting), [None, Some(1)]);
    });
}

#[test]
fn a_drain_ends_when_all_items_are_done() {
    in_all_orders(|| {
        let queue = queue();
        queue.add(1);
        queue.add(2);
        let item = queue.try_get().expect("an item");
        let working = getter(&queue);
        let draining = spawn({
            let queue = queue.clone();
            move || loom::future::block_on(queue.drain(Duration::MAX))
        });
        item.done();
        assert!(draining.join().expect("a drain").is_drained());
        assert_eq!(sorted([working]), [Some(2)]);
    });
}

#[test]
fn an_item_requeued_during_a_drain_remains_delayed() {
    in_all_orders(|| {
        let queue = queue();
        queue.add(1);
        let failed = queue.try_get().expect("an item");
        let waiting = getter(&queue);
        let draining = spawn({
            let queue = queue.clone();
            move || loom::future::block_on(queue.drain(Duration::MAX))
        });
        queue.requeue_after(&failed, Duration::from_secs(1));
        failed.done();
        let left = draining.join().expect("a drain");
        assert!(left.is_drained());
        assert_eq!(left.delayed, [1]);
        assert_eq!(sorted([waiting]), [None]);
    });
}

#[test]
fn a_shutdown_ends_every_drain_in_progress() {
    in_all_orders(|| {
        let queue = queue();
        queue.add(1);
        let stuck = queue.try_get().expect("an item");
        let draining = spawn({
            let queue = queue.clone();
            move || loom::future::block_on(queue.drain(Duration::MAX))
        });
        // The drain has started once the queue is shut down.
        while !queue.is_shut_down() {
            loom::thread::yield_now();
        }
        queue.shut_down();
        // A second drain, dropped after one poll.
        assert!(futures::FutureExt::now_or_never(queue.drain(Duration::MAX)).is_none());
        assert_eq!(draining.join().expect("a drain").running, [1]);
        stuck.done();
    });
}
