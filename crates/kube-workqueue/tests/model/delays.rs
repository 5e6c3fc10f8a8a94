//! One waiter holds the timer for the next due item, for all.

use std::time::Duration;

use loom::thread::spawn;

use crate::sync::advance;
use crate::{begin_to_wait, getter, in_all_orders, queue, sorted};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_due_item_goes_to_a_waiter() {
    in_all_orders(|| {
        let queue = queue();
        let waiting = getter(&queue);
        queue.add_after(1, SECOND);
        advance(SECOND);
        assert_eq!(sorted([waiting]), [Some(1)]);
    });
}

#[test]
fn a_timer_holder_that_is_dropped_passes_the_timer_on() {
    in_all_orders(|| {
        let queue = queue();
        queue.add_after(1, SECOND);
        let leaving = spawn({
            let queue = queue.clone();
            move || {
                if begin_to_wait(&queue).is_some() {
                    queue.add(1);
                }
            }
        });
        let waiting = getter(&queue);
        advance(SECOND);
        assert_eq!(sorted([waiting]), [Some(1)]);
        leaving.join().expect("an end");
    });
}

#[test]
fn a_timer_holder_that_gets_an_item_passes_the_timer_on() {
    in_all_orders(|| {
        let queue = queue();
        queue.add_after(2, SECOND);
        let waiting = [getter(&queue), getter(&queue)];
        queue.add(1);
        advance(SECOND);
        assert_eq!(sorted(waiting), [Some(1), Some(2)]);
    });
}

#[test]
fn the_holder_of_the_timer_is_woken_for_an_earlier_item() {
    in_all_orders(|| {
        let queue = queue();
        queue.add_after(2, 100 * SECOND);
        let waiting = getter(&queue);
        queue.add_after(1, SECOND);
        advance(SECOND);
        assert_eq!(sorted([waiting]), [Some(1)]);
    });
}

#[test]
fn items_due_together_go_to_all_waiters() {
    in_all_orders(|| {
        let queue = queue();
        queue.add_after(1, SECOND);
        queue.add_after(2, SECOND);
        let waiting = [getter(&queue), getter(&queue)];
        advance(SECOND);
        assert_eq!(sorted(waiting), [Some(1), Some(2)]);
    });
}

#[test]
fn reading_the_length_does_not_lose_a_wake_up() {
    in_all_orders(|| {
        let queue = queue();
        queue.add_after(1, SECOND);
        queue.add_after(2, SECOND);
        let waiting = [getter(&queue), getter(&queue)];
        advance(SECOND);
        assert!(queue.len() <= 2);
        assert_eq!(sorted(waiting), [Some(1), Some(2)]);
    });
}

/// A waiter is woken to take the timer, and polls after the item is due, or is dropped.
#[test]
fn a_waiter_woken_for_the_timer_that_gets_an_item_passes_the_timer_on() {
    in_all_orders(|| {
        let queue = queue();
        let waiting = [getter(&queue), getter(&queue)];
        queue.add_after(1, SECOND);
        queue.add_after(2, 2 * SECOND);
        advance(SECOND);
        advance(SECOND);
        assert_eq!(sorted(waiting), [Some(1), Some(2)]);
    });
}
