//! One of those who wait looks after the next item that is due, for all.

use std::time::Duration;

use loom::thread::spawn;

use crate::sync::advance;
use crate::{begin_to_wait, getter, in_all_orders, queue, sorted};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn an_item_comes_in_time_to_one_who_waits() {
    in_all_orders(|| {
        let queue = queue();
        let waiting = getter(&queue);
        queue.add_after(1, SECOND);
        advance(SECOND);
        assert_eq!(sorted([waiting]), [Some(1)]);
    });
}

#[test]
fn when_the_watcher_leaves_another_watches() {
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
fn when_the_watcher_gets_work_another_watches() {
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
fn the_watcher_hears_of_an_earlier_item() {
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
fn those_due_together_go_to_all_who_wait() {
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
fn who_looks_at_the_length_takes_no_call_away() {
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

/// One is called to look after the time and comes when it is over, or leaves.
#[test]
fn who_was_called_to_watch_and_gets_work_leaves_the_watch_to_another() {
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
