//! Lists: at which version, in which pages, and what follows a failure.

use std::collections::HashSet;

use tokio::time::Instant;

use super::{
    Action, At, EMPTY_PAGE_PAUSE, Listing, Machine, Next, PAGE_SIZE, Phase, SPARSE_PAGES, Then, status_of,
};
use crate::error::{Error, StatusError};
use crate::pipeline::reflector::cause::Cause;
use crate::pipeline::wire::ListRequest;

impl Machine {
    pub(super) fn next_page(&mut self, now: Instant, token: String, items: usize) -> Next {
        let Phase::Listing(listing) = &mut self.phase else {
            return self.cycle(now).into();
        };
        if !listing.tokens.insert(token.clone()) {
            let complaint = Error::bad_data("the same continue token twice; the list would never end");
            return self.wait(now, Then::Cycle, Some(complaint), None);
        }
        self.paged |= listing.at == At::Any;
        listing.requested = now;
        let request = ListRequest {
            resource_version: None,
            limit: listing.limit,
            continue_token: Some(token),
        };
        let is_sparse = listing.limit.is_none_or(|limit| items < limit as usize / 10);
        listing.sparse += u32::from(is_sparse);
        if items > 0 && listing.sparse <= SPARSE_PAGES {
            let fresh = false;
            return Action::List { request, fresh }.into();
        }
        let waiting = Phase::Waiting { then: Then::Cycle };
        if let Phase::Listing(listing) = std::mem::replace(&mut self.phase, waiting) {
            self.phase = Phase::Waiting {
                then: Then::Page(listing, request),
            };
        }
        Action::Wait(EMPTY_PAGE_PAUSE).into()
    }

    pub(super) fn list_failed(&mut self, now: Instant, error: &Error) -> Next {
        let Phase::Listing(listing) = &mut self.phase else {
            return self.wait(now, Then::Cycle, None, None);
        };
        let status = status_of(error);
        let expired = status.is_some_and(StatusError::is_expired);
        if expired && !listing.tokens.is_empty() && !listing.at_once {
            let at = listing.at;
            return self.fall_back(now, None, status, |machine, now| {
                machine.list_at(now, at, None, true)
            });
        }
        // A server that refuses to list at the last version may not know what that is: it was never its own.
        let refused = listing.at == At::Last && status.is_some_and(|status| matches!(status.code, 400 | 422));
        let ahead = status.is_some_and(StatusError::is_too_large_version);
        if (expired || ahead || refused) && listing.at != At::Newest {
            self.last_unusable = true;
            if ahead || refused {
                self.lags();
            }
            return self.fall_back(now, None, status, Machine::list);
        }
        self.wait(now, Then::Cycle, None, status)
    }

    pub(super) fn list(&mut self, now: Instant) -> Action {
        let at = self.list_version();
        self.list_from(now, at)
    }

    pub(super) fn list_version(&self) -> At {
        match &self.last {
            _ if self.last_unusable => At::Newest,
            Some(_) => At::Last,
            None => At::Any,
        }
    }

    pub(super) fn list_from(&mut self, now: Instant, at: At) -> Action {
        // A list at a version comes from the server's watch cache, which knows no pages.
        let limit = match self.settings.page_size {
            Some(size) => Some(size),
            None if at == At::Last && !self.paged => None,
            None => Some(PAGE_SIZE),
        };
        self.list_at(now, at, limit, false)
    }

    /// The cache was found to differ from the server: lists the newest version, which replaces what differs.
    pub(crate) fn start_over(&mut self, now: Instant) -> Action {
        self.last_unusable = true;
        self.list_because(Cause::Inconsistent);
        self.cycle(now)
    }

    pub(super) fn list_at(&mut self, now: Instant, at: At, limit: Option<u32>, at_once: bool) -> Action {
        self.phase = Phase::Listing(Listing {
            at,
            began: now,
            requested: now,
            limit,
            tokens: HashSet::new(),
            sparse: 0,
            at_once,
        });
        let resource_version = match at {
            At::Any => Some("0".to_owned()),
            At::Last => self.last.as_ref().map(ToString::to_string),
            At::Newest => None,
        };
        let request = ListRequest {
            resource_version,
            limit,
            continue_token: None,
        };
        Action::List { request, fresh: true }
    }
}
