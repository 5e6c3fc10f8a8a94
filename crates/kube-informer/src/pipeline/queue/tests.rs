use std::sync::Arc;

use futures::FutureExt;
use k8s_openapi::api::core::v1::ConfigMap;

use super::{CAPACITY, Delta, DeltaFifo, Scope};
use crate::object::ResourceVersion;

fn bookmark(number: u64) -> Delta<ConfigMap> {
    Delta::Bookmark(ResourceVersion::from(number), Scope::ONLY)
}

fn numbers(batch: &[Delta<ConfigMap>]) -> Vec<u64> {
    let number = |delta: &Delta<ConfigMap>| match delta {
        Delta::Bookmark(version, _) => version.to_string().parse().unwrap(),
        other => panic!("{other:?}"),
    };
    batch.iter().map(number).collect()
}

fn full() -> DeltaFifo<ConfigMap> {
    let queue = DeltaFifo::new();
    for number in 1..=CAPACITY as u64 {
        queue
            .push(bookmark(number))
            .now_or_never()
            .expect("there is room");
    }
    queue
}

#[test]
fn deltas_come_out_in_the_order_they_went_in() {
    let queue = full();
    let mut popped = Vec::new();
    while queue.len() > 0 {
        let batch = queue.pop().now_or_never().unwrap().unwrap();
        popped.extend(numbers(&batch));
    }
    assert_eq!(popped, (1..=CAPACITY as u64).collect::<Vec<_>>());
}

#[test]
fn a_full_queue_makes_the_reflector_wait() {
    let queue = full();
    let mut push = Box::pin(queue.push(bookmark(9_999)));
    assert!(push.as_mut().now_or_never().is_none());
    assert_eq!(queue.len(), CAPACITY);
    queue.pop().now_or_never().unwrap().unwrap();
    push.now_or_never().expect("there is room again");
    assert_eq!(queue.len(), 1);
}

#[test]
fn a_push_that_is_given_up_has_added_nothing() {
    let queue = full();
    let mut push = Box::pin(queue.push(bookmark(9_999)));
    assert!(push.as_mut().now_or_never().is_none());
    drop(push);
    let rest = queue.pop().now_or_never().unwrap().unwrap();
    assert_eq!(numbers(&rest).last(), Some(&(CAPACITY as u64)));
    assert_eq!(queue.len(), 0);
}

/// A wake-up that reached a pop which is then given up is not lost: the next pop finds the delta by looking.
#[test]
fn a_pop_that_is_given_up_has_taken_nothing() {
    let queue = DeltaFifo::new();
    let mut pop = Box::pin(queue.pop());
    assert!(pop.as_mut().now_or_never().is_none());
    queue.push(bookmark(1)).now_or_never().unwrap();
    drop(pop);
    assert_eq!(numbers(&queue.pop().now_or_never().unwrap().unwrap()), [1]);
}

#[test]
fn an_empty_queue_makes_the_controller_wait() {
    let queue = DeltaFifo::new();
    let mut pop = Box::pin(queue.pop());
    assert!(pop.as_mut().now_or_never().is_none());
    queue.push(bookmark(1)).now_or_never().unwrap();
    assert_eq!(numbers(&pop.now_or_never().unwrap().unwrap()), [1]);
}

#[test]
fn a_closed_queue_gives_out_what_it_has_and_takes_no_more() {
    let queue = DeltaFifo::new();
    queue.push(bookmark(1)).now_or_never().unwrap();
    queue.close();
    queue.push(bookmark(2)).now_or_never().expect("dropped at once");
    assert_eq!(numbers(&queue.pop().now_or_never().unwrap().unwrap()), [1]);
    assert!(queue.pop().now_or_never().unwrap().is_none());
    assert!(queue.pop().now_or_never().unwrap().is_none(), "for ever");
}

#[test]
fn closing_wakes_both_who_wait() {
    let queue = DeltaFifo::<ConfigMap>::new();
    let mut pop = Box::pin(queue.pop());
    assert!(pop.as_mut().now_or_never().is_none());
    queue.close();
    assert!(pop.now_or_never().unwrap().is_none());

    let queue = full();
    let mut push = Box::pin(queue.push(bookmark(9_999)));
    assert!(push.as_mut().now_or_never().is_none());
    queue.close();
    push.now_or_never().expect("nobody waits for a closed queue");
    assert_eq!(queue.len(), CAPACITY);
}

/// Several namespaces push into one queue.
#[test]
fn closing_wakes_every_push_that_waits() {
    let queue = full();
    let mut pushes = waiting(&queue);
    queue.close();
    for push in &mut pushes {
        push.as_mut()
            .now_or_never()
            .expect("no push waits for a closed queue");
    }
    assert_eq!(queue.len(), CAPACITY);
}

#[test]
fn a_pop_makes_room_for_every_push_that_waits() {
    let queue = full();
    let mut pushes = waiting(&queue);
    queue.pop().now_or_never().unwrap().unwrap();
    for push in &mut pushes {
        push.as_mut().now_or_never().expect("there is room");
    }
    assert_eq!(queue.len(), pushes.len());
}

/// A push that is dropped after it was woken does not keep the others waiting.
#[test]
fn a_woken_push_that_is_cancelled_wakes_the_next() {
    let queue = full();
    let [first, mut second, mut third] = waiting(&queue);
    queue.pop().now_or_never().unwrap().unwrap();
    drop(first);
    second.as_mut().now_or_never().expect("there is room");
    third.as_mut().now_or_never().expect("there is room");
}

/// Pushes that wait for room, in this order.
fn waiting(queue: &DeltaFifo<ConfigMap>) -> [std::pin::Pin<Box<impl Future<Output = ()>>>; 3] {
    [9_997, 9_998, 9_999].map(|number| {
        let mut push = Box::pin(queue.push(bookmark(number)));
        assert!(push.as_mut().now_or_never().is_none());
        push
    })
}

/// The two ends on two threads: a lost wake-up would hang this.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_threads_never_lose_each_other() {
    const COUNT: u64 = 100_000;
    let queue = Arc::new(DeltaFifo::new());
    let pushing = Arc::clone(&queue);
    let pusher = tokio::spawn(async move {
        for number in 1..=COUNT {
            pushing.push(bookmark(number)).await;
        }
        pushing.close();
    });
    let popper = tokio::spawn(async move {
        let mut popped = Vec::new();
        while let Some(batch) = queue.pop().await {
            popped.extend(numbers(&batch));
        }
        popped
    });
    pusher.await.unwrap();
    assert!(popper.await.unwrap().into_iter().eq(1..=COUNT));
}
