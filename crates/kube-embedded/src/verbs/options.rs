//! The options of lists and watches, validated as in Kubernetes.

use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD, URL_SAFE_NO_PAD};
use serde_json::json;

use crate::api::Resource;
use crate::golang::{illegal_base64, parse_unsigned, read_json};
use crate::request::Query;
use crate::select::{FieldSelector, Selectors, label_selector};
use crate::status::{FieldError, Result, Status};

/// Options of a list or a watch.
#[derive(Debug, Clone)]
pub(crate) struct ListOptions {
    pub(crate) selectors: Selectors,
    pub(crate) limit: Option<usize>,
    pub(crate) continues: Option<Continue>,
    pub(crate) version: RequestedVersion,
    pub(crate) send_initial_events: Option<bool>,
    pub(crate) bookmarks: bool,
    pub(crate) timeout_seconds: Option<u64>,
}

/// The version that a list or watch requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestedVersion {
    /// No version: the newest.
    Newest,
    /// Version 0: any version.
    Any,
    NotOlderThan(u64),
    Exact(u64),
}

/// The start of the next page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Continue {
    /// Version of the first page; `None` if the list is no longer consistent.
    pub(crate) revision: Option<u64>,
    /// The next page begins at or after this key.
    pub(crate) start: String,
}

impl Continue {
    /// Encodes the continue token.
    pub(crate) fn token(&self) -> String {
        let revision = self.revision.map_or(-1, |r| i64::try_from(r).unwrap_or(i64::MAX));
        let token = json!({ "v": "meta.k8s.io/v1", "rv": revision, "start": self.start });
        URL_SAFE_NO_PAD.encode(token.to_string())
    }

    fn parse(token: &str) -> Result<Continue> {
        let bad = |why: &str| {
            Status::bad_request(format!(
                "invalid continue token: continue key is not valid: {why}"
            ))
        };
        let bytes = LENIENT
            .decode(token.trim_end_matches('='))
            .map_err(|e| bad(&illegal_base64(&e, token)))?;
        let value = read_json(&bytes).map_err(|e| bad(&e))?;
        let version = value["v"].as_str().unwrap_or_default();
        if version != "meta.k8s.io/v1" {
            return Err(bad(&format!(
                "server does not recognize this encoded version {version}"
            )));
        }
        let revision = match value["rv"].as_i64() {
            Some(-1) => None,
            Some(revision) if revision > 0 => u64::try_from(revision).ok(),
            _ => {
                return Err(bad(
                    "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
                ));
            }
        };
        match value["start"].as_str() {
            Some(start) if !start.is_empty() && !start.starts_with('/') && !start.contains("..") => {
                Ok(Continue {
                    revision,
                    start: start.into(),
                })
            }
            _ => Err(bad("encoded start key not set (version meta.k8s.io/v1)")),
        }
    }
}

/// Ignores unused trailing bits, like Go.
const LENIENT: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));

impl ListOptions {
    /// Parses the query of a list or a watch. `name` restricts it to one object.
    pub(crate) fn parse(
        query: &Query,
        resource: &Resource,
        name: Option<&str>,
        watch: bool,
    ) -> Result<ListOptions> {
        let limit = query.integer("limit")?;
        let timeout_seconds = query.integer("timeoutSeconds")?;
        let send_initial_events = query.optional_flag("sendInitialEvents");
        check(query, watch, send_initial_events)?;
        let mut fields = query.text("fieldSelector").to_owned();
        if let Some(name) = name {
            fields = format!("metadata.name={name},{fields}");
        }
        let selectors = Selectors {
            labels: label_selector(query.text("labelSelector"))?,
            fields: FieldSelector::parse(&fields, &resource.selectable())?,
        };
        let continues = match query.text("continue") {
            "" => None,
            token => Some(Continue::parse(token)?),
        };
        let limit = limit.and_then(|l| usize::try_from(l).ok()).filter(|l| *l > 0);
        Ok(ListOptions {
            selectors,
            limit,
            version: version(query, limit.is_some(), watch)?,
            continues,
            send_initial_events,
            bookmarks: query.flag("allowWatchBookmarks"),
            timeout_seconds: timeout_seconds
                .and_then(|t| u64::try_from(t).ok())
                .filter(|t| *t > 0),
        })
    }
}

/// Checks that the options can be combined.
fn check(query: &Query, watch: bool, send_initial_events: Option<bool>) -> Result<()> {
    const FIELD: &str = "resourceVersionMatch";
    let version = query.text("resourceVersion");
    let matching = query.text("resourceVersionMatch");
    let continues = !query.text("continue").is_empty();
    let mut errors = Vec::new();
    let mut forbid = |field: &str, why: &str| errors.push(FieldError::forbidden(field, why));
    match (watch, send_initial_events) {
        (true, Some(_)) => {
            if matching != "NotOlderThan" {
                forbid(
                    FIELD,
                    "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
                );
            }
            if !matching.is_empty() && matching != "NotOlderThan" {
                errors.push(FieldError::not_supported(FIELD, matching, &["NotOlderThan"]));
            }
            if continues {
                errors.push(FieldError::forbidden(
                    FIELD,
                    "resourceVersionMatch is forbidden when continue is provided",
                ));
            }
        }
        (true, None) => {
            if !matching.is_empty() {
                forbid(
                    FIELD,
                    "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                );
            } else if continues {
                forbid(
                    FIELD,
                    "resourceVersionMatch is forbidden when continue is provided",
                );
            }
        }
        (false, Some(_)) => forbid("sendInitialEvents", "sendInitialEvents is forbidden for list"),
        (false, None) if !matching.is_empty() => {
            if version.is_empty() {
                forbid(
                    FIELD,
                    "resourceVersionMatch is forbidden unless resourceVersion is provided",
                );
            }
            if continues {
                forbid(
                    FIELD,
                    "resourceVersionMatch is forbidden when continue is provided",
                );
            }
            if !matches!(matching, "Exact" | "NotOlderThan") {
                errors.push(FieldError::not_supported(
                    FIELD,
                    matching,
                    &["Exact", "NotOlderThan", ""],
                ));
            } else if matching == "Exact" && version == "0" {
                forbid(
                    FIELD,
                    "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
                );
            }
        }
        (false, None) => {}
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(Status::invalid("meta.k8s.io", "ListOptions", "", &errors))
    }
}

fn version(query: &Query, limited: bool, watch: bool) -> Result<RequestedVersion> {
    let text = query.text("resourceVersion");
    if !watch && !query.text("continue").is_empty() && !matches!(text, "" | "0") {
        return Err(Status::bad_request(
            "specifying resource version is not allowed when using continue",
        ));
    }
    Ok(match (text, query.text("resourceVersionMatch")) {
        ("", _) => RequestedVersion::Newest,
        ("0", _) => RequestedVersion::Any,
        (version, matching) => {
            let revision = parse_revision(version, watch)?;
            match matching {
                "Exact" => RequestedVersion::Exact(revision),
                "NotOlderThan" => RequestedVersion::NotOlderThan(revision),
                // All pages of a list need the same version.
                _ if limited && !watch => RequestedVersion::Exact(revision),
                _ => RequestedVersion::NotOlderThan(revision),
            }
        }
    })
}

/// Parses a resource version. Lists and watches have different error messages.
pub(crate) fn parse_revision(text: &str, watch: bool) -> Result<u64> {
    parse_unsigned(text).map_err(|why| {
        let why = format!("resourceVersion: Invalid value: {text:?}: {why}");
        if watch {
            Status::new(500, "", why)
        } else {
            Status::bad_request(format!("invalid resource version: {why}"))
        }
    })
}
