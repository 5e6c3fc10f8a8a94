//! Many tasks on real threads: nothing is lost, and nothing is processed twice at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use kube_workqueue::{AddOptions, WorkQueue};

const ITEMS: usize = 50;
const ADDS: u32 = 4_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_add_is_processed_and_no_item_has_two_workers() {
    let queue: WorkQueue<usize> = WorkQueue::new("q");
    let busy: Arc<Vec<AtomicBool>> = Arc::new((0..ITEMS).map(|_| AtomicBool::new(false)).collect());
    // The version that was added, and the version that a worker saw when it started.
    let wanted: Arc<Vec<AtomicU32>> = Arc::new((0..ITEMS).map(|_| AtomicU32::new(0)).collect());
    let seen: Arc<Vec<AtomicU32>> = Arc::new((0..ITEMS).map(|_| AtomicU32::new(0)).collect());
    let workers: Vec<_> = (0..8)
        .map(|_| {
            let (queue, busy, wanted, seen) = (
                queue.clone(),
                Arc::clone(&busy),
                Arc::clone(&wanted),
                Arc::clone(&seen),
            );
            tokio::spawn(async move {
                while let Some(item) = queue.get().await {
                    assert!(
                        !busy[*item].swap(true, Ordering::SeqCst),
                        "two workers on {}",
                        *item
                    );
                    seen[*item].store(wanted[*item].load(Ordering::SeqCst), Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    busy[*item].store(false, Ordering::SeqCst);
                }
            })
        })
        .collect();
    let adders: Vec<_> = (0..4)
        .map(|seed| {
            let (queue, wanted) = (queue.clone(), Arc::clone(&wanted));
            tokio::spawn(async move {
                let mut random = fastrand::Rng::with_seed(seed);
                for _ in 0..ADDS {
                    let item = random.usize(..ITEMS);
                    wanted[item].fetch_add(1, Ordering::SeqCst);
                    let delay = Duration::from_micros(random.u64(..50) / 40 * 20);
                    let options = AddOptions::new().priority(random.i32(-2..2)).after(delay);
                    queue.add_with(item, options);
                    if random.u8(..) == 0 {
                        tokio::task::yield_now().await;
                    }
                }
            })
        })
        .collect();
    for adder in adders {
        adder.await.expect("an adder");
    }
    // Delayed items must be due before the drain, which would leave them delayed.
    while queue.delayed() > 0 {
        let _ = queue.len();
        tokio::task::yield_now().await;
    }
    let left = queue.drain(Duration::from_secs(60)).await;
    assert!(left.is_drained() && left.delayed.is_empty(), "{left:?}");
    for worker in workers {
        worker.await.expect("a worker");
    }
    for item in 0..ITEMS {
        assert_eq!(
            seen[item].load(Ordering::SeqCst),
            wanted[item].load(Ordering::SeqCst),
            "{item}"
        );
    }
}
