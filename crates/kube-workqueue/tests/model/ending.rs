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
fn what_came_before_the_shutdown_is_worked_on() {
    in_all_orders(|| {
        let queue = queue();
        let waiting = [getter(&queue), getter(&queue)];
        queue.add(1);
        queue.shut_down();
        assert_eq!(sorted(waiting), [None, Some(1)]);
    });
}

#[test]
fn a_drain_ends_when_the_work_is_done() {
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
fn what_is_to_come_back_is_left_by_a_drain_whichever_is_first() {
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
fn a_shutdown_lets_every_drain_go_that_had_begun() {
    in_all_orders(|| {
        let queue = queue();
        queue.add(1);
        let stuck = queue.try_get().expect("an item");
        let draining = spawn({
            let queue = queue.clone();
            move || loom::future::block_on(queue.drain(Duration::MAX))
        });
        // A drain closes the queue; before that there is nothing to let go.
        while !queue.is_shut_down() {
            loom::thread::yield_now();
        }
        queue.shut_down();
        // The next drain is another's, who does not wait long.
        assert!(futures::FutureExt::now_or_never(queue.drain(Duration::MAX)).is_none());
        assert_eq!(draining.join().expect("a drain").running, [1]);
        stuck.done();
    });
}
