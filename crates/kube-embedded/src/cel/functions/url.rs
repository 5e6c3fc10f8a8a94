//! URLs.

use std::collections::BTreeMap;
use std::sync::Arc;

use percent_encoding::percent_decode_str;

use super::super::eval::{Budget, EvalError};
use super::super::value::{Key, Value};
use super::{Entry, Evaluated, no_overload, tenth};

pub(super) const TABLE: &[Entry] = &[
    ("url", "(string) kubernetes.URL", |b, args| {
        let url = Url::parse(text(b, args)?);
        url.map(|url| Value::Url(Arc::new(url))).map_err(|why| {
            EvalError::message(format!("URL parse error during conversion from string: {why}"))
        })
    }),
    ("isURL", "(string) bool", |b, args| {
        text(b, args).map(|text| Value::Bool(Url::parse(text).is_ok()))
    }),
    ("getScheme", "kubernetes.URL.() string", |_, args| {
        part(args, |url| url.scheme.clone())
    }),
    ("getHost", "kubernetes.URL.() string", |_, args| {
        part(args, |url| url.host.clone())
    }),
    ("getHostname", "kubernetes.URL.() string", |_, args| {
        part(args, |url| url.hostname().to_owned())
    }),
    ("getPort", "kubernetes.URL.() string", |_, args| {
        part(args, |url| url.port().to_owned())
    }),
    ("getEscapedPath", "kubernetes.URL.() string", |_, args| {
        part(args, |url| url.path.clone())
    }),
    ("getQuery", "kubernetes.URL.() map<string, list<string>>", query),
];

/// A URL, split into its parts.
#[derive(Debug, PartialEq)]
pub(crate) struct Url {
    scheme: String,
    host: String,
    path: String,
    query: String,
    fragment: String,
    user: String,
}

fn text<'a>(budget: &mut Budget, args: &'a [Value]) -> Result<&'a str, EvalError> {
    match args {
        [Value::String(text)] => {
            budget.charge(tenth(text.len()))?;
            Ok(text)
        }
        _ => Err(no_overload()),
    }
}

fn part(args: &[Value], part: fn(&Url) -> String) -> Evaluated {
    match args {
        [Value::Url(url)] => Ok(Value::from(part(url))),
        _ => Err(no_overload()),
    }
}

fn query(budget: &mut Budget, args: &[Value]) -> Evaluated {
    let [Value::Url(url)] = args else {
        return Err(no_overload());
    };
    budget.charge(tenth(url.query.len()))?;
    let mut map: BTreeMap<Key, Vec<Value>> = BTreeMap::new();
    for (name, value) in form_urlencoded::parse(url.query.as_bytes()) {
        let key = Key::String(name.into_owned().into());
        map.entry(key).or_default().push(Value::from(value.into_owned()));
    }
    let map = map.into_iter().map(|(key, values)| (key, Value::from(values)));
    Ok(Value::Map(Arc::new(map.collect())))
}

/// Returns why a text is no URL.
pub(super) fn problem(text: &str) -> Option<String> {
    Url::parse(text).err()
}

impl Url {
    /// Reads an absolute URL or an absolute path.
    fn parse(text: &str) -> Result<Url, String> {
        let refuse = |why: &str| format!("parse {text:?}: {why}");
        if text.is_empty() {
            return Err(refuse("empty url"));
        }
        if text.chars().any(|c| c.is_ascii_control()) {
            return Err(refuse("net/url: invalid control character in URL"));
        }
        let (rest, fragment) = text.split_once('#').unwrap_or((text, ""));
        let (scheme, rest) = match rest.split_once(':') {
            Some((scheme, rest)) if is_scheme(scheme) => (scheme.to_ascii_lowercase(), rest),
            _ if rest.starts_with(':') => return Err(refuse("missing protocol scheme")),
            _ => (String::new(), rest),
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        if !rest.starts_with('/') && scheme.is_empty() {
            return Err(refuse("invalid URI for request"));
        }
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) if !scheme.is_empty() => rest.split_at(rest.find('/').unwrap_or(rest.len())),
            _ => ("", rest),
        };
        let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        if let Some(escape) = bad_escape(path) {
            return Err(refuse(&format!("invalid URL escape {escape:?}")));
        }
        if host.contains(' ') {
            return Err(refuse("invalid character \" \" in host name"));
        }
        let after = host.rsplit_once(']').map_or(host, |(_, after)| after);
        if let Some((_, port)) = after.rsplit_once(':')
            && !port.bytes().all(|b| b.is_ascii_digit())
        {
            return Err(refuse(&format!(
                "invalid port {:?} after host",
                format!(":{port}")
            )));
        }
        Ok(Url {
            scheme,
            host: percent_decode_str(host).decode_utf8_lossy().into_owned(),
            path: path.replace(' ', "%20"),
            query: query.to_owned(),
            fragment: fragment.to_owned(),
            user: user.to_owned(),
        })
    }

    fn hostname(&self) -> &str {
        match self.host.strip_prefix('[').and_then(|h| h.split_once(']')) {
            Some((inner, _)) => inner,
            None => self.host.split(':').next().unwrap_or_default(),
        }
    }

    fn port(&self) -> &str {
        let after = self.host.rsplit_once(']').map_or(&*self.host, |(_, after)| after);
        after.rsplit_once(':').map_or("", |(_, port)| port)
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

fn bad_escape(path: &str) -> Option<&str> {
    path.match_indices('%').find_map(|(at, _)| {
        let digits = path.get(at + 1..at + 3).unwrap_or_default();
        let is_good = digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        (!is_good).then(|| path.get(at..at + 3).or_else(|| path.get(at..)).unwrap_or("%"))
    })
}
