use futures::FutureExt;
use k8s_openapi::api::core::v1::ConfigMap;

use super::{CAPACITY, Delta, DeltaReceiver, DeltaSender, Scope, channel};
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

fn full() -> (DeltaSender<ConfigMap>, DeltaReceiver<ConfigMap>) {
    let (sender, receiver) = channel();
    for number in 1..=CAPACITY as u64 {
        sender
            .push(bookmark(number))
            .now_or_never()
            .expect("there is room");
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
    let mut push = Box::pin(sender.push(bookmark(9_999)));
    assert!(push.as_mut().now_or_never().is_none());
    assert_eq!(sender.depth().get(), CAPACITY);
    receiver.pop().now_or_never().unwrap().unwrap();
    push.now_or_never().expect("there is room again");
    assert_eq!(sender.depth().get(), 1);
}

#[test]
fn a_cancelled_push_has_added_nothing() {
    let (sender, mut receiver) = full();
    let mut push = Box::pin(sender.push(bookmark(9_999)));
    assert!(push.as_mut().now_or_never().is_none());
    drop(push);
    let rest = receiver.pop().now_or_never().unwrap().unwrap();
    assert_eq!(numbers(&rest).last(), Some(&(CAPACITY as u64)));
    assert_eq!(receiver.len(), 0);
}

#[test]
fn a_cancelled_pop_has_taken_nothing() {
    let (sender, mut receiver) = channel();
    let mut pop = Box::pin(receiver.pop());
    assert!(pop.as_mut().now_or_never().is_none());
    sender.push(bookmark(1)).now_or_never().unwrap();
    drop(pop);
    assert_eq!(numbers(&receiver.pop().now_or_never().unwrap().unwrap()), [1]);
}

#[test]
fn a_queue_is_closed_when_the_last_sender_is_dropped() {
    let (sender, mut receiver) = channel();
    let (another, depth) = (sender.clone(), sender.depth());
    sender.push(bookmark(1)).now_or_never().unwrap();
    drop(sender);
    another.push(bookmark(2)).now_or_never().unwrap();
    assert_eq!(depth.get(), 2);
    drop(another);
    assert_eq!(depth.get(), 0);
    let rest = receiver.pop().now_or_never().unwrap().unwrap();
    assert_eq!(numbers(&rest), [1, 2]);
    for _ in 0..2 {
        assert!(receiver.pop().now_or_never().unwrap().is_none());
    }
}

#[test]
fn a_push_without_a_controller_does_not_wait() {
    let (sender, receiver) = full();
    drop(receiver);
    sender
        .push(bookmark(9_999))
        .now_or_never()
        .expect("dropped at once");
}
