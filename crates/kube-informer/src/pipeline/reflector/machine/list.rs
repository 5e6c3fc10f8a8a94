//! Decisions about lists: their version, their pages and the handling of failures.

use std::collections::HashSet;
use std::time::Duration;

use tokio::time::Instant;

use super::{
    Action, AfterReplace, AfterWait, Contradiction, Decision, Machine, PageSize, Phase, Trust, status_of,
};
use crate::error::{Error, StatusError};
use crate::object::ResourceVersion;
use crate::pipeline::wire::{ListRequest, endless_list};

/// client-go's page size.
pub(crate) const PAGE_SIZE: u32 = 500;
/// Maximum time between two parts of a page.
pub(crate) const LIST_IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum duration of one page. kube-apiserver ends a list after one minute, so only very slow connections
/// reach this limit.
const PAGE_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// Maximum duration of all pages of a list.
const LIST_TIMEOUT: Duration = Duration::from_secs(2 * 60 * 60);
/// Pause after an empty page. Pages may be empty if a selector matches nothing in them, and a list of empty
/// pages might never end.
pub(crate) const EMPTY_PAGE_PAUSE: Duration = Duration::from_secs(1);
/// Number of pages with less than a tenth of the requested objects before pauses are added.
const MAX_SPARSE_PAGES: u32 = 20;

/// A list that is being read.
#[derive(Debug)]
pub(super) struct ListPhase {
    version: ListVersion,
    /// When the first page was requested.
    began: Instant,
    limit: Option<u32>,
    /// The version of the first page, which all pages must have.
    first_page: Option<ResourceVersion>,
    /// All continue tokens of this list. A duplicate means that the list would never end.
    tokens: HashSet<String>,
    /// Number of pages with few objects.
    sparse: u32,
    /// Whether all objects are requested at once, after a page has expired.
    unpaged: bool,
}

/// The resource version at which a list is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListVersion {
    /// Any version that the server has: `resourceVersion=0`.
    Any,
    /// At least the version of the cache.
    Last,
    MostRecent,
}

impl Machine {
    /// Handles a page of a list.
    pub(super) fn page<O>(
        &mut self,
        now: Instant,
        mut listing: ListPhase,
        version: ResourceVersion,
        continue_token: Option<String>,
        objects: usize,
        contradiction: Contradiction,
    ) -> Decision<O> {
        self.unserved = None;
        let first = listing.first_page.get_or_insert_with(|| version.clone());
        if *first != version {
            let error = Error::bad_data(format!("pages of different versions {first} and {version}"));
            return self.list_without_pages(now, &listing, None).reporting(error);
        }
        if let Some(token) = continue_token {
            return self.next_page(now, listing, token, objects);
        }
        let most_recent = listing.version == ListVersion::MostRecent;
        match self.accept(now, &version, most_recent, contradiction) {
            Ok(()) => self.replace(version, AfterReplace::Watch),
            Err(error) => self.fall_back(now, None, Machine::list).reporting(error),
        }
    }

    fn next_page<O>(
        &mut self,
        now: Instant,
        mut listing: ListPhase,
        token: String,
        objects: usize,
    ) -> Decision<O> {
        if !listing.tokens.insert(token.clone()) {
            let error = endless_list();
            return self.wait(now, AfterWait::Restart, None).reporting(error);
        }
        self.paged |= listing.version == ListVersion::Any;
        let request = ListRequest {
            resource_version: None,
            limit: listing.limit,
            continue_token: Some(token),
        };
        let is_sparse = listing.limit.is_none_or(|limit| objects < limit as usize / 10);
        listing.sparse += u32::from(is_sparse);
        if objects > 0 && listing.sparse <= MAX_SPARSE_PAGES {
            return self.request_page(now, listing, request, None).into();
        }
        self.phase = Phase::Waiting(AfterWait::Page(listing, request));
        Action::WaitForPage(EMPTY_PAGE_PAUSE).into()
    }

    pub(super) fn list_failed<O>(&mut self, now: Instant, listing: &ListPhase, error: &Error) -> Decision<O> {
        let status = status_of(error);
        let expired = status.is_some_and(StatusError::is_expired);
        if expired && !listing.tokens.is_empty() && !listing.unpaged {
            return self.list_without_pages(now, listing, status);
        }
        // A server that rejects the last version may not understand it, because another server assigned it.
        let refused = listing.version == ListVersion::Last
            && status.is_some_and(|status| matches!(status.code, 400 | 422));
        let ahead = status.is_some_and(StatusError::is_too_large_version);
        if (expired || ahead || refused) && listing.version != ListVersion::MostRecent {
            self.last_unusable = true;
            if ahead || refused {
                self.mark_last_unusable();
            }
            return self.fall_back(now, status, Machine::list);
        }
        self.wait(now, AfterWait::Restart, status)
    }

    /// Requests all objects at once, because the pages of the list did not have one version.
    fn list_without_pages<O>(
        &mut self,
        now: Instant,
        listing: &ListPhase,
        status: Option<&StatusError>,
    ) -> Decision<O> {
        if listing.unpaged {
            return self.wait(now, AfterWait::Restart, status);
        }
        let version = listing.version;
        self.fall_back(now, status, |machine, now| {
            machine.list_at(now, version, None, true)
        })
    }

    pub(super) fn list<O>(&mut self, now: Instant) -> Action<O> {
        let version = self.list_version();
        self.list_from(now, version)
    }

    pub(super) fn list_version(&self) -> ListVersion {
        match &self.last {
            _ if self.last_unusable => ListVersion::MostRecent,
            Some(_) => ListVersion::Last,
            None => ListVersion::Any,
        }
    }

    pub(super) fn list_from<O>(&mut self, now: Instant, version: ListVersion) -> Action<O> {
        // A list at a version is read from the server's watch cache, which has no pages.
        let limit = match self.settings.page_size {
            PageSize::Objects(objects) => Some(objects.get()),
            PageSize::Unlimited => None,
            PageSize::Default if version == ListVersion::Last && !self.paged => None,
            PageSize::Default => Some(PAGE_SIZE),
        };
        self.list_at(now, version, limit, false)
    }

    fn list_at<O>(
        &mut self,
        now: Instant,
        version: ListVersion,
        limit: Option<u32>,
        unpaged: bool,
    ) -> Action<O> {
        let listing = ListPhase {
            version,
            began: now,
            limit,
            first_page: None,
            tokens: HashSet::new(),
            sparse: 0,
            unpaged,
        };
        let resource_version = match version {
            ListVersion::Any => Some("0".to_owned()),
            ListVersion::Last => self.last.as_ref().map(ToString::to_string),
            ListVersion::MostRecent => None,
        };
        let request = ListRequest {
            resource_version,
            limit,
            continue_token: None,
        };
        let trust = self.trust.clone();
        self.request_page(now, listing, request, Some(trust))
    }

    pub(super) fn request_page<O>(
        &mut self,
        now: Instant,
        listing: ListPhase,
        request: ListRequest,
        begin: Option<Trust>,
    ) -> Action<O> {
        let deadline = (now + PAGE_TIMEOUT).min(listing.began + LIST_TIMEOUT);
        self.phase = Phase::Listing(listing);
        Action::List {
            request,
            begin,
            silence: LIST_IDLE_TIMEOUT,
            deadline,
        }
    }
}
