//! Bugs on demand, for tests that have to show that they would find them.
//!
//! Only with the feature `__planted`, which is none of a user's business; without it every question is answered with no
//! at compile time. A bug is planted for one thread, and there is at most one at a time.

/// Names the bugs once, so that none is left out where all are.
macro_rules! bugs {
    ($($(#[$doc:meta])+ $bug:ident,)+) => {
        /// A bug that can be planted.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[cfg_attr(
            not(feature = "__planted"),
            expect(unreachable_pub, reason = "only with the feature is anyone to see them")
        )]
        pub enum Bug {
            $($(#[$doc])+ $bug,)+
        }

        #[cfg(feature = "__planted")]
        impl Bug {
            /// All of them.
            pub const ALL: &[Bug] = &[$(Bug::$bug,)+];
        }
    };
}

bugs! {
    /// The reflector loses an event of a watch.
    DropEvent,
    /// Listeners are told of a change twice.
    TellTwice,
    /// Of objects that a list does not have any more, handlers are not told.
    SkipTombstones,
    /// Objects that a list does not have any more stay in the store.
    KeepVanished,
    /// Handlers are told before the store has it.
    NotifyBeforeStore,
    /// A list from the past is taken for the newest.
    AcceptStaleList,
    /// A watch goes on from an older version than it came to, and what comes again is applied again.
    ReuseOldVersion,
    /// A late joiner is not told of one of the objects that are there.
    LoseInitialAdd,
    /// A late joiner misses what changes right after it joined.
    LoseLateJoinersEvent,
    /// There is no wait after a failure.
    HotLoop,
    /// Changes of one object that wait together are not folded.
    NeverFold,
    /// An informer says that it has synced as soon as it is started.
    SyncedTooSoon,
    /// A handler counts as synced before it has handled anything.
    HandlerSyncedTooSoon,
    /// A handler that was removed goes on being told.
    TellRemoved,
    /// An update's old state is the store's and not what the handler saw.
    WrongOldState,
    /// What an unfinished list brought is mixed into the next one.
    MixLists,
    /// A handler that panics is never called again.
    PanicEndsHandler,
    /// A task goes on when the informer has stopped.
    LeaveTaskBehind,
    /// The informer says that it has stopped before its handlers have.
    StopTooSoon,
    /// What is deleted is not put into the work queue.
    ForgetToEnqueueDeleted,
}

#[cfg(feature = "__planted")]
mod switch {
    use std::cell::Cell;

    use super::Bug;

    /// A bug that comes now and then shows itself every so many times.
    const EVERY: u32 = 3;

    thread_local! {
        static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
        static ASKED: Cell<u32> = const { Cell::new(0) };
    }

    /// Plants a bug in everything that runs on this thread, in place of the one that was.
    pub fn plant(bug: Option<Bug>) {
        PLANTED.set(bug);
        ASKED.set(0);
    }

    pub(crate) fn is(bug: Bug) -> bool {
        PLANTED.get() == Some(bug)
    }

    /// Whether a bug that is there now and then is there now.
    pub(crate) fn strikes(bug: Bug) -> bool {
        is(bug) && {
            let asked = ASKED.get() + 1;
            ASKED.set(asked);
            asked.is_multiple_of(EVERY)
        }
    }
}

#[cfg(feature = "__planted")]
pub use self::switch::plant;
#[cfg(feature = "__planted")]
pub(crate) use self::switch::{is, strikes};

#[cfg(not(feature = "__planted"))]
pub(crate) const fn is(_: Bug) -> bool {
    false
}

#[cfg(not(feature = "__planted"))]
pub(crate) const fn strikes(_: Bug) -> bool {
    false
}
