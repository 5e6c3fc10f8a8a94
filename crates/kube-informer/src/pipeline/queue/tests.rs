use futures::FutureExt;
use k8s_openapi::api::core::v1::ConfigMap;

use tokio::sync::mpsc::Sender;

use super::{CAPACITY, DeltaReceiver, QueueDepth, channel};
use crate::object::ResourceVersion;
use crate::pipeline::reflector::{Delta, Scope};

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

fn full() -> (Sender<Delta<ConfigMap>>, DeltaReceiver<ConfigMap>) {
    let (sender, receiver) = channel();
    for number in 1..=CAPACITY as u64 {
        sender
            .send(bookmark(number))
            .now_or_never()
            .expect("the queue has space")
            .unwrap();
    }
    (sender, receiver)
}

#[test]
fn deltas_are_popped_in_the_order_in_which_they_were_pushed() {
    let (_sender, mut receiver) = full();
    let batch = receiver.pop().now_or_never().flatten().expect("it is full");
    assert!(numbers(&batch).into_iter().eq(1..=CAPACITY as u64));
    assert!(receiver.pop().now_or_never().is_none(), "it is empty");
}

#[test]
fn a_full_queue_makes_the_reflector_wait() {
    let (sender, mut receiver) = full();
    let mut push = Box::pin(sender.send(bookmark(9_999)));
    assert!(push.as_mut().now_or_never().is_none());
    assert_eq!(QueueDepth::of(&sender).get(), CAPACITY);
    receiver.pop().now_or_never().unwrap().unwrap();
    push.now_or_never().expect("the queue has space again").unwrap();
    assert_eq!(QueueDepth::of(&sender).get(), 1);
}

#[test]
fn a_cancelled_push_adds_nothing() {
    let (sender, mut receiver) = full();
    let mut push = Box::pin(sender.send(bookmark(9_999)));
    assert!(push.as_mut().now_or_never().is_none());
    drop(push);
    let rest = receiver.pop().now_or_never().unwrap().unwrap();
    assert_eq!(numbers(&rest).last(), Some(&(CAPACITY as u64)));
    assert_eq!(receiver.len(), 0);
}

#[test]
fn a_cancelled_pop_takes_nothing() {
    let (sender, mut receiver) = channel();
    let mut pop = Box::pin(receiver.pop());
    assert!(pop.as_mut().now_or_never().is_none());
    sender.try_send(bookmark(1)).unwrap();
    drop(pop);
    assert_eq!(numbers(&receiver.pop().now_or_never().unwrap().unwrap()), [1]);
}

#[test]
fn a_queue_is_closed_when_the_last_sender_is_dropped() {
    let (sender, mut receiver) = channel();
    let (another, depth) = (sender.clone(), QueueDepth::of(&sender));
    sender.try_send(bookmark(1)).unwrap();
    drop(sender);
    another.try_send(bookmark(2)).unwrap();
    assert_eq!(depth.get(), 2);
    drop(another);
    assert_eq!(depth.get(), 0);
    let rest = receiver.pop().now_or_never().unwrap().unwrap();
    assert_eq!(numbers(&rest), [1, 2]);
    for _ in 0..2 {
        assert!(receiver.pop().now_or_never().unwrap().is_none());
    }
}
