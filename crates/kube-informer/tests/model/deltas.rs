//! Several reflectors push, the controller pops, and the queue is closed.

use std::sync::Arc;

use futures::FutureExt;
use loom::future::block_on;
use loom::thread::{JoinHandle, spawn};

use crate::bounded::BoundedQueue;
use crate::in_all_orders;

type Queue = Arc<BoundedQueue<u8, 1>>;

fn full() -> Queue {
    let queue = Queue::new(BoundedQueue::new());
    queue.push(0).now_or_never().expect("there is room");
    queue
}

fn pusher(queue: &Queue, item: u8) -> JoinHandle<()> {
    let queue = Arc::clone(queue);
    spawn(move || block_on(queue.push(item)))
}

/// Takes so many items.
fn popped(queue: &Queue, count: usize) -> Vec<u8> {
    let mut items = Vec::new();
    while items.len() < count {
        items.extend(block_on(queue.pop()).expect("it is open"));
    }
    items
}

#[test]
fn a_pop_gets_what_is_pushed() {
    in_all_orders(3, || {
        let queue = Queue::new(BoundedQueue::new());
        let pusher = pusher(&queue, 1);
        assert_eq!(popped(&queue, 1), [1]);
        pusher.join().expect("a push");
    });
}

#[test]
fn every_push_to_a_full_queue_finds_room() {
    in_all_orders(2, || {
        let queue = full();
        let pushers = [pusher(&queue, 1), pusher(&queue, 2)];
        let items = popped(&queue, 3);
        assert_eq!(items[0], 0);
        assert_eq!(items[1] + items[2], 3);
        for pusher in pushers {
            pusher.join().expect("a push");
        }
    });
}

/// Nothing is pushed or popped afterwards that could wake the second.
#[test]
fn one_pop_lets_all_pushes_through_that_fit() {
    in_all_orders(3, || {
        let queue = Arc::new(BoundedQueue::<u8, 2>::new());
        for item in 0..2 {
            queue.push(item).now_or_never().expect("there is room");
        }
        let pushers = [2, 3].map(|item| {
            let queue = Arc::clone(&queue);
            spawn(move || block_on(queue.push(item)))
        });
        let batch = queue.pop().now_or_never().flatten().expect("it is full");
        assert_eq!(batch, [0, 1]);
        for pusher in pushers {
            pusher.join().expect("a push");
        }
        assert_eq!(queue.len(), 2);
    });
}

#[test]
fn a_push_that_is_cancelled_leaves_the_room_to_another() {
    in_all_orders(3, || {
        let queue = full();
        let waiting = pusher(&queue, 1);
        let cancelled = spawn({
            let queue = Arc::clone(&queue);
            move || queue.push(2).now_or_never().is_some()
        });
        let mut items = popped(&queue, 2);
        if cancelled.join().expect("a push") && !items.contains(&2) {
            items.extend(popped(&queue, 1));
        }
        if !items.contains(&1) {
            items.extend(popped(&queue, 1));
        }
        waiting.join().expect("a push");
    });
}

#[test]
fn a_close_ends_all_pushes_that_wait() {
    in_all_orders(3, || {
        let queue = full();
        let pushers = [pusher(&queue, 1), pusher(&queue, 2)];
        queue.close();
        for pusher in pushers {
            pusher.join().expect("a push");
        }
        assert_eq!(block_on(queue.pop()), Some(vec![0]));
        assert_eq!(block_on(queue.pop()), None);
    });
}

#[test]
fn a_close_ends_a_pop_that_waits_after_what_was_pushed() {
    in_all_orders(3, || {
        let queue = Queue::new(BoundedQueue::new());
        let popper = spawn({
            let queue = Arc::clone(&queue);
            move || {
                let mut items = Vec::new();
                while let Some(batch) = block_on(queue.pop()) {
                    items.extend(batch);
                }
                items
            }
        });
        queue.push(1).now_or_never().expect("there is room");
        queue.close();
        assert_eq!(popper.join().expect("a pop"), [1]);
    });
}
