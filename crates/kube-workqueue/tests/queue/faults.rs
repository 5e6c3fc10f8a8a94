//! What is known to go wrong in other queues.

use std::pin::pin;

use futures::poll;
use kube_workqueue::WorkQueue;

use crate::{LONG, soon};

#[tokio::test(start_paused = true)]
async fn a_later_drain_does_not_hold_one_that_a_shutdown_let_go() {
    let queue = WorkQueue::new("q");
    queue.add("a");
    let stuck = soon(queue.get()).await.expect("an item");
    let mut first = pin!(queue.drain(LONG));
    assert!(poll!(&mut first).is_pending());
    queue.shut_down();
    let mut second = pin!(queue.drain(LONG));
    assert!(poll!(&mut second).is_pending());
    assert!(poll!(&mut first).is_ready());
    stuck.done();
    assert!(soon(second).await.is_drained());
}
