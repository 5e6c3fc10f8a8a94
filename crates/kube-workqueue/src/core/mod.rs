//! The rules of the queue, without locks, tasks or a clock: who calls says what time it is.
//!
//! Every item that is known has one slot, found by a table. A slot may be in line (`ready`), wait for its time
//! (`waiting`) and be worked on (`running`), in almost any combination: only what is worked on is not in line, so that no
//! item is ever worked on twice at a time.

mod ready;
mod slots;
mod waiting;

#[cfg(test)]
mod tests;

use std::hash::Hash;
use std::mem;

use self::ready::Ready;
pub(crate) use self::slots::SlotId;
use self::slots::Slots;
use self::waiting::Waiting;

/// Nanoseconds since the queue was made.
pub(crate) type Nanos = u64;

/// The state of a queue.
pub(crate) struct Core<T> {
    slots: Slots<T>,
    ready: Ready,
    waiting: Waiting,
    running: usize,
    /// How many of those that are worked on were added meanwhile.
    again: usize,
    /// Adds that were not folded into an earlier one, and not asked for yet.
    adds: u64,
    /// Those that were asked for.
    told_adds: u64,
    closed: bool,
}

/// What became of an add.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Added {
    /// It is in line now.
    InLine,
    /// It waits for its time; `earliest` if nothing else is due before it.
    Waits { earliest: bool },
    /// It was in line, or will be as soon as the work on it is done.
    Known,
    /// The queue takes nothing any more.
    Refused,
}

/// Whose turn it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    pub(crate) slot: SlotId,
    /// How many others came in line at the same time, because their time had come.
    pub(crate) others: u32,
}

/// What became of an item that was worked on.
#[derive(Debug)]
pub(crate) struct Finished<T> {
    /// It, if nothing is known of it any more.
    pub(crate) forgotten: Option<T>,
    /// It was added meanwhile, and is in line again.
    pub(crate) in_line_again: bool,
    /// Nothing is in line, nothing is worked on, and nothing more comes.
    pub(crate) idle: bool,
}

impl<T: Clone + Eq + Hash> Core<T> {
    /// Without anything. It keeps in mind since when items are to be worked on only if that is measured.
    pub(crate) fn new(is_measured: bool) -> Core<T> {
        Core {
            slots: Slots::new(is_measured),
            ready: Ready::new(),
            waiting: Waiting::new(),
            running: 0,
            again: 0,
            adds: 0,
            told_adds: 0,
            closed: false,
        }
    }

    /// Puts an item in line, unless it is.
    pub(crate) fn add(&mut self, item: T, now: Nanos, priority: i32) -> Added {
        if self.closed {
            return Added::Refused;
        }
        let id = self.slots.find_or_insert(item);
        self.line_up(id, now, priority)
    }

    /// Puts an item in line at a time. Of several times the earliest counts.
    pub(crate) fn add_at(&mut self, item: T, at: Nanos, priority: i32) -> Added {
        if self.closed {
            return Added::Refused;
        }
        let id = self.slots.find_or_insert(item);
        self.delay(id, at, priority)
    }

    /// Lets an item that is worked on come back: as soon as that is done if its time has come, else then. If nothing is
    /// taken any more it only waits, so that it is among what is left.
    pub(crate) fn come_back(&mut self, id: SlotId, at: Nanos, now: Nanos, priority: i32) -> Added {
        if at <= now && !self.closed {
            return self.line_up(id, now, priority);
        }
        self.delay(id, at, priority)
    }

    fn delay(&mut self, id: SlotId, at: Nanos, priority: i32) -> Added {
        let before = self.waiting.next();
        self.waiting.put(&mut self.slots, id, at, priority);
        Added::Waits {
            earliest: before.is_none_or(|before| at < before),
        }
    }

    fn line_up(&mut self, id: SlotId, since: Nanos, priority: i32) -> Added {
        let slot = self.slots.get_mut(id);
        if slot.is_running {
            let is_first = !mem::replace(&mut slot.is_again, true);
            if is_first || priority > slot.priority {
                slot.priority = priority;
            }
            if is_first {
                self.slots.set_since(id, since);
                self.again += 1;
                self.adds += 1;
            }
            return Added::Known;
        }
        if !slot.is_ready {
            self.slots.set_since(id, since);
            self.adds += 1;
            self.ready.push(&mut self.slots, id, priority);
            return Added::InLine;
        }
        if priority > slot.priority {
            self.ready.remove(&mut self.slots, id);
            self.ready.push(&mut self.slots, id, priority);
        }
        Added::Known
    }

    /// Puts those in line whose time has come; how many.
    fn bring_due(&mut self, now: Nanos) -> usize {
        let mut came = 0;
        while !self.closed
            && let Some(due) = self.waiting.pop_due(&mut self.slots, now)
        {
            came += usize::from(self.line_up(due.slot, due.at, due.priority) == Added::InLine);
        }
        came
    }

    /// Takes the next item to work on. It is small, so that it need not be copied on the way: the item itself is asked for.
    pub(crate) fn take(&mut self, now: Nanos) -> Option<Turn> {
        let came = self.bring_due(now);
        let slot = self.ready.pop(&mut self.slots)?;
        self.running += 1;
        self.slots.get_mut(slot).is_running = true;
        let others = u32::try_from(came.min(self.ready.len())).expect("each has a slot, and its number");
        Some(Turn { slot, others })
    }

    /// An item that is worked on.
    pub(crate) fn item(&self, id: SlotId) -> T {
        self.slots.get(id).item()
    }

    /// The priority that an item had in line, before it is added again.
    pub(crate) fn priority(&self, id: SlotId) -> i32 {
        self.slots.get(id).priority
    }

    /// Since when there was something to do with an item.
    pub(crate) fn since(&self, id: SlotId) -> Nanos {
        self.slots.since(id)
    }

    /// The work on an item is done.
    pub(crate) fn finish(&mut self, id: SlotId) -> Finished<T> {
        self.running -= 1;
        let slot = self.slots.get_mut(id);
        slot.is_running = false;
        let in_line_again = mem::take(&mut slot.is_again);
        let mut forgotten = None;
        if in_line_again {
            let priority = slot.priority;
            self.again -= 1;
            self.ready.push(&mut self.slots, id, priority);
        } else if !slot.is_waiting() {
            forgotten = self.slots.remove(id);
        }
        Finished {
            forgotten,
            in_line_again,
            idle: self.closed && self.is_idle(),
        }
    }

    /// When the next item is due.
    pub(crate) fn next_due(&self) -> Option<Nanos> {
        self.waiting.next().filter(|_| !self.closed)
    }

    /// How many are in line, and how many of them came just now, because their time had come.
    pub(crate) fn len(&mut self, now: Nanos) -> (usize, usize) {
        let came = self.bring_due(now);
        (self.ready.len(), came)
    }

    /// How many are in line, without those whose time has come since it was last looked at.
    pub(crate) fn in_line(&self) -> usize {
        self.ready.len()
    }

    /// How many will be in line as soon as the work on them is done.
    #[cfg(any(test, feature = "metrics"))]
    pub(crate) fn again(&self) -> usize {
        self.again
    }

    /// How many adds were not folded into an earlier one, since this was last asked.
    pub(crate) fn take_adds(&mut self) -> u64 {
        self.told_adds += self.adds;
        mem::take(&mut self.adds)
    }

    /// How many adds there were at all.
    pub(crate) fn all_adds(&self) -> u64 {
        self.told_adds + self.adds
    }

    /// Since when the first in line are there; of several priorities, the longest.
    pub(crate) fn oldest(&self) -> Option<Nanos> {
        self.ready.heads().map(|head| self.slots.since(head)).min()
    }

    pub(crate) fn running(&self) -> usize {
        self.running
    }

    pub(crate) fn delayed(&self) -> usize {
        self.waiting.len()
    }

    /// Takes nothing any more, and no delayed item comes in line.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.running == 0 && self.ready.len() == 0
    }

    /// Every item, by what is to become of it: in line, worked on, delayed. One that is worked on or in line counts as
    /// that, also if it is delayed, too.
    pub(crate) fn left(&self) -> [Vec<T>; 3] {
        let mut left = [Vec::new(), Vec::new(), Vec::new()];
        for slot in self.slots.iter() {
            let place = match (slot.is_ready, slot.is_running) {
                (true, _) => 0,
                (_, true) => 1,
                _ => 2,
            };
            left[place].push(slot.item());
        }
        left
    }
}

/// Makes room for one more. A long list grows by a quarter, so that not half of it is empty.
fn make_room<E>(list: &mut Vec<E>) {
    const LONG: usize = 1_024;
    if list.len() == list.capacity() && list.len() >= LONG {
        list.reserve_exact(list.len() / 4);
    }
}
