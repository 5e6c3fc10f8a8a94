//! The queue between reflector and controller: order, room, close.

use std::sync::Arc;

use futures::FutureExt;
use k8s_openapi::api::core::v1::ConfigMap;

use crate::delta_fifo::{BATCH, Delta, DeltaFifo};
use crate::version::Version;

type Queue = DeltaFifo<ConfigMap>;

fn mark(number: u64) -> Delta<ConfigMap> {
    Delta::Bookmark(Version::from(number))
}

fn numbers(deltas: &[Delta<ConfigMap>]) -> Vec<String> {
    deltas
        .iter()
        .map(|delta| match delta {
            Delta::Bookmark(version) => version.to_string(),
            other => panic!("{other:?}"),
        })
        .collect()
}

async fn filled(count: u64) -> Arc<Queue> {
    let queue = Arc::new(Queue::new());
    for number in 1..=count {
        queue.push(mark(number)).await;
    }
    queue
}

#[tokio::test]
async fn deltas_come_out_in_batches_and_in_order() {
    let queue = filled(1_500).await;
    let first = queue.pop().await.expect("it is open");
    let second = queue.pop().await.expect("it is open");
    assert_eq!((first.len(), second.len(), queue.len()), (BATCH, 500, 0));
    let expected: Vec<String> = (1..=1_500).map(|number: u64| number.to_string()).collect();
    assert_eq!([numbers(&first), numbers(&second)].concat(), expected);
}

#[tokio::test]
async fn a_full_queue_makes_the_pusher_wait_until_there_is_room() {
    let queue = filled(2_000).await;
    let mut push = Box::pin(queue.push(mark(2_001)));
    assert!((&mut push).now_or_never().is_none());
    assert_eq!(queue.len(), 2_000);
    queue.pop().await.expect("it is open");
    assert!(push.now_or_never().is_some(), "it waits no more");
    assert_eq!(queue.len(), 1_001);
}

#[tokio::test]
async fn a_push_that_is_given_up_adds_nothing() {
    let queue = filled(2_000).await;
    let mut push = Box::pin(queue.push(mark(2_001)));
    assert!((&mut push).now_or_never().is_none());
    drop(push);
    queue.pop().await.expect("it is open");
    assert_eq!(queue.len(), 1_000);
    queue.push(mark(2_002)).await;
    assert_eq!(queue.len(), 1_001);
}

#[tokio::test]
async fn an_empty_queue_makes_the_popper_wait() {
    let queue = Arc::new(Queue::new());
    let mut pop = Box::pin(queue.pop());
    assert!((&mut pop).now_or_never().is_none());
    queue.push(mark(1)).await;
    let popped = pop.now_or_never().expect("it waits no more").expect("it is open");
    assert_eq!(numbers(&popped), ["1"]);
}

#[tokio::test]
async fn close_wakes_a_popper_that_waits() {
    let queue = Arc::new(Queue::new());
    let mut pop = Box::pin(queue.pop());
    assert!((&mut pop).now_or_never().is_none());
    queue.close();
    assert!(matches!(pop.now_or_never(), Some(None)), "it is told the end");
}

#[tokio::test]
async fn close_wakes_a_pusher_that_waits_and_drops_its_delta() {
    let queue = filled(2_000).await;
    let mut push = Box::pin(queue.push(mark(2_001)));
    assert!((&mut push).now_or_never().is_none());
    queue.close();
    assert!(push.now_or_never().is_some(), "it waits no more");
    assert_eq!(queue.len(), 2_000);
}

#[tokio::test]
async fn what_was_there_before_the_close_can_be_popped() {
    let queue = filled(3).await;
    queue.close();
    queue.push(mark(4)).await;
    assert_eq!(
        numbers(&queue.pop().await.expect("there is something")),
        ["1", "2", "3"]
    );
    assert!(queue.pop().await.is_none());
    assert!(queue.pop().await.is_none(), "and it stays so");
}
