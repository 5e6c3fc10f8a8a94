//! The query parameters of a request, parsed like Kubernetes' option types.

use super::path::has_broken_escape;
use crate::golang::parse_signed;
use crate::status::{FieldError, Result, Status};

/// The parameters of a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query {
    pairs: Vec<(String, String)>,
}

impl Query {
    pub(crate) fn parse(text: &str) -> Query {
        // Like Go, ignores invalid parameters and those with semicolons.
        let readable = text
            .split('&')
            .filter(|pair| !pair.contains(';') && !has_broken_escape(pair));
        let pairs = readable
            .flat_map(|pair| form_urlencoded::parse(pair.as_bytes()).into_owned())
            .collect();
        Query { pairs }
    }

    /// Returns the first value of a parameter, or an empty text.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.pairs.iter().find(|(n, _)| n == name).map_or("", |(_, v)| v)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.pairs.iter().any(|(n, _)| n == name)
    }

    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.pairs
            .iter()
            .filter(move |(n, _)| n == name)
            .map(|(_, v)| v.as_str())
    }

    pub(crate) fn pairs(&self) -> &[(String, String)] {
        &self.pairs
    }

    /// Returns whether a parameter is set, and neither `false` nor `0`.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.optional_flag(name).unwrap_or(false)
    }

    pub(crate) fn optional_flag(&self, name: &str) -> Option<bool> {
        let (_, value) = self.pairs.iter().find(|(n, _)| n == name)?;
        Some(!matches!(value.to_ascii_lowercase().as_str(), "false" | "0"))
    }

    pub(crate) fn integer(&self, name: &str) -> Result<Option<i64>> {
        match self.text(name) {
            "" => Ok(None),
            text => parse_signed(text).map(Some).map_err(Status::bad_request),
        }
    }

    /// Returns whether the request is a dry run (`dryRun=All`).
    pub(crate) fn dry_run(&self, options: &str) -> Result<bool> {
        let values: Vec<&str> = self.all("dryRun").filter(|v| !v.is_empty()).collect();
        check_dry_run(options, &values)
    }
}

/// Returns whether the request is a dry run. `options` is the option type in error messages.
pub(crate) fn check_dry_run(options: &str, values: &[&str]) -> Result<bool> {
    if values.iter().any(|v| *v != "All") {
        let error = FieldError::not_supported("dryRun", values.to_vec(), &["All"]);
        return Err(Status::invalid("meta.k8s.io", options, "", &[error]));
    }
    Ok(!values.is_empty())
}

/// How unknown and duplicate fields are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

impl FieldValidation {
    pub(crate) fn parse(query: &Query, options: &str) -> Result<FieldValidation> {
        match query.text("fieldValidation") {
            "" | "Warn" => Ok(FieldValidation::Warn),
            "Ignore" => Ok(FieldValidation::Ignore),
            "Strict" => Ok(FieldValidation::Strict),
            other => {
                let error =
                    FieldError::not_supported("fieldValidation", other, &["", "Ignore", "Strict", "Warn"]);
                Err(Status::invalid("meta.k8s.io", options, "", &[error]))
            }
        }
    }
}
