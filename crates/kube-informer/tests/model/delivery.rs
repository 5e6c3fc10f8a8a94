//! A mailbox: events are added, and it is closed or removed, while its task takes events or falls asleep.

use std::future::poll_fn;
use std::sync::Arc;

use loom::future::block_on;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread::{JoinHandle, ThreadId, current, spawn};

use crate::in_all_orders;
use crate::mailbox::{Backlog, BlockingReceiver, Mailbox, deliver_on_blocking_threads};
use crate::util::sync::Mutex;

/// Numbers instead of events.
struct Numbers {
    initial: Option<Vec<u8>>,
    initial_is_over: bool,
    changes: Vec<u8>,
    calls: Arc<Calls>,
}

/// The state of the handler's calls.
struct Calls {
    is_running: AtomicBool,
    removal_returned: AtomicBool,
}

impl Default for Numbers {
    fn default() -> Numbers {
        Numbers {
            initial: None,
            initial_is_over: false,
            changes: Vec::new(),
            calls: Arc::new(Calls {
                is_running: AtomicBool::new(false),
                removal_returned: AtomicBool::new(false),
            }),
        }
    }
}

/// A number, and the thread that took it.
struct Number(u8, ThreadId);

impl Backlog for Numbers {
    type Event = Number;

    fn pop(&mut self) -> Option<Number> {
        let is_running = self.calls.is_running.load(Ordering::Acquire);
        assert!(
            !is_running,
            "an event was taken before the previous one was handled"
        );
        let initial = self.initial.as_mut()?;
        let next = initial.pop();
        self.initial_is_over = next.is_none();
        let next = next.or_else(|| (!self.changes.is_empty()).then(|| self.changes.remove(0)))?;
        let removed = self.calls.removal_returned.load(Ordering::Acquire);
        assert!(!removed, "an event was taken after the removal had returned");
        self.calls.is_running.store(true, Ordering::Release);
        Some(Number(next, current().id()))
    }

    fn is_waiting(&self) -> bool {
        let initial = self.initial.as_ref();
        initial
            .is_some_and(|initial| !self.initial_is_over || !initial.is_empty() || !self.changes.is_empty())
    }

    fn is_past_initial(&self) -> bool {
        self.initial_is_over
    }

    fn clear(&mut self) -> Numbers {
        let empty = Numbers {
            calls: Arc::clone(&self.calls),
            ..Numbers::default()
        };
        std::mem::replace(self, empty)
    }
}

struct Shared {
    mailbox: Mailbox<Numbers>,
    handled: Mutex<Vec<u8>>,
    calls: Arc<Calls>,
}

type Listener = Arc<Shared>;

/// Returns a listener with this initial list, or without one yet.
fn listener(initial: Option<&[u8]>) -> Listener {
    let numbers = Numbers {
        initial: initial.map(<[u8]>::to_vec),
        ..Numbers::default()
    };
    Arc::new(Shared {
        calls: Arc::clone(&numbers.calls),
        mailbox: Mailbox::new(numbers),
        handled: Mutex::new(Vec::new()),
    })
}

impl Shared {
    fn push(&self, number: u8) {
        self.mailbox.add(|numbers| numbers.changes.push(number));
    }

    fn remove(&self) {
        self.mailbox.remove();
        self.calls.removal_returned.store(true, Ordering::Release);
    }

    fn handled(&self) -> Vec<u8> {
        self.handled.lock().clone()
    }

    fn handle(&self, Number(number, taken_by): Number) {
        assert_eq!(
            taken_by,
            current().id(),
            "a call begins when its event is taken, so the thread that takes it must call"
        );
        self.handled.lock().push(number);
        self.calls.is_running.store(false, Ordering::Release);
    }
}

/// Handlers in the listener's task, and streams: they take an event and handle it at once.
fn task(listener: &Listener) -> JoinHandle<()> {
    let listener = Arc::clone(listener);
    spawn(move || {
        while let Some(event) = block_on(poll_fn(|context| listener.mailbox.poll_take(context))) {
            listener.handle(event);
        }
    })
}

struct Receiver(Listener);

impl BlockingReceiver for Receiver {
    type Backlog = Numbers;

    fn mailbox(&self) -> &Mailbox<Numbers> {
        &self.0.mailbox
    }

    fn handle(&mut self, event: Number) {
        self.0.handle(event);
    }

    fn on_idle(&mut self) {}
}

/// The task of a handler that may block.
fn blocking_task(listener: &Listener) -> JoinHandle<()> {
    let receiver = Receiver(Arc::clone(listener));
    spawn(move || block_on(deliver_on_blocking_threads(receiver)))
}

/// Runs a scenario for each kind of delivery.
fn for_each_manner(scenario: impl Fn(&dyn Fn(&Listener) -> JoinHandle<()>) + Copy + Send + Sync + 'static) {
    in_all_orders(3, move || scenario(&task));
    in_all_orders(3, move || scenario(&blocking_task));
}

#[test]
fn an_event_that_arrives_as_the_task_falls_asleep_wakes_it() {
    for_each_manner(|task| {
        let listener = listener(Some(&[]));
        let task = task(&listener);
        listener.push(1);
        listener.push(2);
        listener.mailbox.close();
        task.join().expect("the task ends");
        assert_eq!(listener.handled(), [1, 2]);
    });
}

#[test]
fn the_first_list_wakes_the_task() {
    for_each_manner(|task| {
        let listener = listener(None);
        let task = task(&listener);
        listener.mailbox.add(|numbers| numbers.initial = Some(vec![1]));
        block_on(listener.mailbox.synced().cancelled());
        assert_eq!(listener.handled(), [1]);
        listener.mailbox.close();
        task.join().expect("the task ends");
    });
}

#[test]
fn a_handler_is_synced_only_after_its_initial_events() {
    for_each_manner(|task| {
        let listener = listener(Some(&[2, 1]));
        let task = task(&listener);
        block_on(listener.mailbox.synced().cancelled());
        assert_eq!(listener.handled(), [1, 2]);
        listener.mailbox.close();
        task.join().expect("the task ends");
    });
}

#[test]
fn a_removal_wakes_the_task_despite_concurrent_additions() {
    for_each_manner(|task| {
        let listener = listener(Some(&[]));
        let task = task(&listener);
        let pushing = spawn({
            let listener = Arc::clone(&listener);
            move || listener.push(1)
        });
        listener.remove();
        task.join().expect("the task ends");
        pushing.join().expect("a push");
        assert!(listener.handled().len() <= 1);
        listener
            .mailbox
            .read(|numbers| assert!(numbers.changes.is_empty(), "nothing is kept"));
    });
}

/// A call begins when its event is taken, so no event is taken after the removal, for another thread that
/// could call later, or during another call.
#[test]
fn no_call_begins_after_the_removal() {
    for_each_manner(|task| {
        let listener = listener(Some(&[]));
        listener.push(1);
        let task = task(&listener);
        listener.remove();
        task.join().expect("the task ends");
    });
}
