//! Email addresses and URIs, as parsed by Go's `net/mail` and `net/url`.

/// Returns whether text is an email address, with or without a name: `ann@example.org`, `Ann <ann@example.org>`.
pub(super) fn is_email(text: &str) -> bool {
    let start = skip_space(text);
    if addr_spec(start)
        .and_then(skip_comments)
        .is_some_and(str::is_empty)
    {
        return true;
    }
    let Some(rest) = display_name(start).strip_prefix('<') else {
        return false;
    };
    addr_spec(rest)
        .and_then(|rest| rest.strip_prefix('>'))
        .and_then(skip_comments)
        .is_some_and(str::is_empty)
}

fn skip_space(text: &str) -> &str {
    text.trim_start_matches([' ', '\t'])
}

fn skip_comments(text: &str) -> Option<&str> {
    let mut rest = skip_space(text);
    while rest.starts_with('(') {
        let mut depth = 0usize;
        let mut escaped = false;
        let end = rest.char_indices().find_map(|(at, c)| {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            (depth == 0).then_some(at + c.len_utf8())
        })?;
        rest = skip_space(rest.get(end..)?);
    }
    Some(rest)
}

/// Skips words and quoted words.
fn display_name(text: &str) -> &str {
    let mut rest = text;
    loop {
        rest = skip_space(rest);
        let after = quoted(rest).unwrap_or_else(|| rest.trim_start_matches(|c| is_atom_char(c) || c == '.'));
        if after.len() == rest.len() {
            return rest;
        }
        rest = after;
    }
}

fn addr_spec(text: &str) -> Option<&str> {
    let after_local = quoted(text).or_else(|| dot_atom(text))?;
    let domain = skip_space(skip_space(after_local).strip_prefix('@')?);
    match domain.strip_prefix('[') {
        Some(literal) => {
            let end = literal.find(']')?;
            let plain = literal
                .get(..end)?
                .chars()
                .all(|c| c.is_ascii_graphic() && !matches!(c, '[' | '\\'));
            plain.then(|| literal.get(end + 1..)).flatten()
        }
        None => dot_atom(domain),
    }
}

/// Returns the text after a quoted string.
fn quoted(text: &str) -> Option<&str> {
    let body = text.strip_prefix('"')?;
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return body.get(at + 1..),
            c if c.is_control() && c != '\t' => return None,
            _ => {}
        }
    }
    None
}

/// Returns the text after atoms that are joined by single dots.
fn dot_atom(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|c| is_atom_char(c) || c == '.');
    let atom = text.get(..text.len() - rest.len())?;
    let fine = !atom.is_empty() && !atom.starts_with('.') && !atom.ends_with('.') && !atom.contains("..");
    fine.then_some(rest)
}

fn is_atom_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c) || !c.is_ascii()
}

/// Returns whether text is an absolute URI or an absolute path.
pub(super) fn is_request_uri(text: &str) -> bool {
    if text == "*" {
        return true;
    }
    if text.is_empty() || text.bytes().any(|b| b < 0x20 || b == 0x7f) {
        return false;
    }
    let Some((scheme, rest)) = split_scheme(text) else {
        return false;
    };
    let rest = rest.split('?').next().unwrap_or(rest);
    if !rest.starts_with('/') {
        return !scheme.is_empty();
    }
    if let Some(after) = rest.strip_prefix("//").filter(|_| !scheme.is_empty()) {
        let end = after.find('/').unwrap_or(after.len());
        let (authority, path) = after.split_at(end);
        return is_authority(authority) && has_valid_escapes(path);
    }
    has_valid_escapes(rest)
}

/// Splits text into the scheme, which may be empty, and the rest; `None` if the text begins with a colon.
fn split_scheme(text: &str) -> Option<(&str, &str)> {
    for (at, c) in text.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at > 0 => return Some((text.get(..at)?, text.get(at + 1..)?)),
            ':' => return None,
            _ => break,
        }
    }
    Some(("", text))
}

fn is_authority(text: &str) -> bool {
    let (user, host) = match text.rsplit_once('@') {
        Some((user, host)) => (user, host),
        None => ("", text),
    };
    let user_fine = has_valid_escapes(user)
        && user
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&b));
    user_fine && is_host(host)
}

fn is_host(text: &str) -> bool {
    let is_port = |port: &str| {
        port.is_empty()
            || port
                .strip_prefix(':')
                .is_some_and(|p| p.bytes().all(|b| b.is_ascii_digit()))
    };
    if text.starts_with('[') {
        return text
            .rfind(']')
            .is_some_and(|end| is_port(text.get(end + 1..).unwrap_or_default()));
    }
    let port = text.rfind(':').and_then(|at| text.get(at..)).unwrap_or_default();
    let allowed = |b: u8| b >= 0x80 || b.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"%".contains(&b);
    is_port(port) && text.bytes().all(allowed) && has_valid_escapes(text)
}

fn has_valid_escapes(text: &str) -> bool {
    text.split('%')
        .skip(1)
        .all(|after| after.len() >= 2 && after.bytes().take(2).all(|b| b.is_ascii_hexdigit()))
}
