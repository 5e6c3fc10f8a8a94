//! Parses paths.

use serde_json::Value;

use super::{End, Filter, ParsePathError, Slice, Step};

/// Parses the first action of a template, that is, the text between its first pair of braces. The opening
/// brace and the last closing one are omitted, as in a column's declaration.
pub(super) fn steps(text: &str) -> Result<Vec<Step>, ParsePathError> {
    let mut scanner = Scanner {
        rest: text,
        steps: Vec::new(),
    };
    while scanner.step()? {}
    let first = std::mem::take(&mut scanner.steps);
    // Results of other actions are never shown, but they must be valid.
    while let Some((_, another)) = scanner.rest.split_once('{') {
        scanner.rest = another;
        while scanner.step()? {}
        scanner.steps.clear();
    }
    Ok(first)
}

struct Scanner<'a> {
    rest: &'a str,
    steps: Vec<Step>,
}

impl<'a> Scanner<'a> {
    /// Parses one step. Returns false at the end of the action.
    fn step(&mut self) -> Result<bool, ParsePathError> {
        let Some(next) = self.rest.chars().next() else {
            return Ok(false);
        };
        if next == '}' {
            return Ok(false);
        }
        if let Some(rest) = self.rest.strip_prefix("[?(") {
            self.rest = rest;
            self.filter()?;
        } else if let Some(rest) = self.rest.strip_prefix("..") {
            self.rest = rest;
            self.descent()?;
        } else {
            match next {
                ' ' | '@' | '$' => self.rest = &self.rest[next.len_utf8()..],
                '[' => self.brackets()?,
                '"' | '\'' => self.quoted(next)?,
                '.' => {
                    self.rest = &self.rest[1..];
                    self.field();
                }
                '+' | '-' => self.number()?,
                _ if next.is_numeric() => self.number()?,
                _ if next == '_' || next.is_alphabetic() => self.word(),
                _ => return Err(ParsePathError),
            }
        }
        Ok(true)
    }

    /// Consumes text up to a byte offset.
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn field(&mut self) {
        let mut escaped = false;
        let end = self.rest.find(|next: char| {
            if escaped {
                escaped = false;
                return false;
            }
            escaped = next == '\\';
            ends_word(next)
        });
        let name = self.take(end.unwrap_or(self.rest.len()));
        self.steps.push(if name == "*" {
            Step::Wildcard
        } else {
            Step::Field(name.replace('\\', ""))
        });
    }

    fn descent(&mut self) -> Result<(), ParsePathError> {
        if self.steps.last() == Some(&Step::Descent) {
            return Err(ParsePathError);
        }
        self.steps.push(Step::Descent);
        if self
            .rest
            .starts_with(|next: char| next == '_' || next.is_alphanumeric())
        {
            self.field();
        }
        Ok(())
    }

    fn word(&mut self) {
        let end = self.rest.find(ends_word).unwrap_or(self.rest.len());
        let word = self.take(end);
        self.steps.push(match word {
            "true" => Step::Literal(Value::Bool(true)),
            "false" => Step::Literal(Value::Bool(false)),
            _ => Step::Word,
        });
    }

    fn number(&mut self) -> Result<(), ParsePathError> {
        let unsigned = self.rest.trim_start_matches(['+', '-']);
        let sign = self.rest.len() - unsigned.len();
        let digits = unsigned
            .find(|next: char| next != '.' && !next.is_ascii_digit())
            .unwrap_or(unsigned.len());
        let text = self.take(sign + digits);
        let value = match text.parse::<i64>() {
            Ok(integer) => Value::from(integer),
            Err(_) => Value::from(text.parse::<f64>().map_err(|_| ParsePathError)?),
        };
        self.steps.push(Step::Literal(value));
        Ok(())
    }

    fn quoted(&mut self, quote: char) -> Result<(), ParsePathError> {
        let end = closing_quote(&self.rest[1..], quote).ok_or(ParsePathError)?;
        let inner = &self.take(end + 2)[1..=end];
        self.steps.push(Step::Literal(
            unescape(inner, quote).ok_or(ParsePathError)?.into(),
        ));
        Ok(())
    }

    fn brackets(&mut self) -> Result<(), ParsePathError> {
        let end = self.rest.find(']').ok_or(ParsePathError)?;
        let inner = &self.take(end + 1)[1..end];
        if inner.contains('\n') {
            return Err(ParsePathError);
        }
        if inner.contains(',') {
            let branches = inner
                .split(',')
                .map(|branch| steps(&format!("[{}]", branch.trim_matches(' '))))
                .collect::<Result<_, _>>()?;
            self.steps.push(Step::Union(branches));
        } else if let Some(key) = dictionary_key(inner) {
            self.steps.extend(steps(&format!(".{key}"))?);
        } else {
            self.steps.push(Step::Slice(slice(inner)?));
        }
        Ok(())
    }

    fn filter(&mut self) -> Result<(), ParsePathError> {
        let end = filter_end(self.rest).ok_or(ParsePathError)?;
        let inner = self.take(end);
        self.rest = self.rest.strip_prefix(")]").ok_or(ParsePathError)?;
        self.steps.push(Step::Filter(comparison(inner)?));
        Ok(())
    }
}

fn comparison(text: &str) -> Result<Filter, ParsePathError> {
    let is_operator = |next: char| matches!(next, '!' | '<' | '>' | '=');
    if let Some(at) = text.find(is_operator).filter(|at| *at > 0) {
        let (left, rest) = text.split_at(at);
        let length = rest
            .find(|next| !is_operator(next))
            // Nothing follows, so the last character belongs to the right side.
            .unwrap_or(rest.len() - 1);
        if length > 0 {
            let (operator, right) = rest.split_at(length);
            return Ok(Filter {
                left: steps(left)?,
                right: Some((operator.to_owned(), steps(right)?)),
            });
        }
    }
    Ok(Filter {
        left: steps(text)?,
        right: None,
    })
}

/// Returns the position of the filter's closing parenthesis, ignoring those in quoted text.
fn filter_end(text: &str) -> Option<usize> {
    let mut open = None;
    let mut closed = false;
    let mut before = '(';
    for (at, next) in text.char_indices() {
        match next {
            '\n' => return None,
            '"' | '\'' => match open {
                None => open = Some(next),
                Some(quote) => closed |= quote == next && before != '\\',
            },
            ')' if open.is_some() == closed => return Some(at),
            _ => {}
        }
        before = next;
    }
    None
}

/// Returns the key of `'key'`.
fn dictionary_key(text: &str) -> Option<&str> {
    let key = text.strip_prefix('\'')?.strip_suffix('\'')?;
    (!key.contains('\'')).then_some(key)
}

fn slice(text: &str) -> Result<Slice, ParsePathError> {
    let text = if text == "*" { ":" } else { text };
    let mut parts = text.split(':').map(|part| match part {
        "" => Ok(None),
        _ if part.starts_with('+') => Err(ParsePathError),
        _ => part.parse::<i64>().map(Some).map_err(|_| ParsePathError),
    });
    let start = parts.next().transpose()?.flatten();
    let end = match parts.next().transpose()? {
        None => End::OneAfterStart,
        Some(None) => End::Open,
        Some(Some(end)) => End::At(end),
    };
    let step = parts.next().transpose()?.flatten();
    if parts.next().is_some() {
        return Err(ParsePathError);
    }
    Ok(Slice { start, end, step })
}

fn closing_quote(text: &str, quote: char) -> Option<usize> {
    let mut before = quote;
    for (at, next) in text.char_indices() {
        if next == '\n' {
            return None;
        }
        if next == quote && before != '\\' {
            return Some(at);
        }
        before = next;
    }
    None
}

fn unescape(text: &str, quote: char) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(next) = chars.next() {
        if next != '\\' {
            out.push(next);
            continue;
        }
        out.push(match chars.next()? {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            '\\' => '\\',
            'u' => {
                let digits: String = chars.by_ref().take(4).collect();
                char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?
            }
            escaped if escaped == quote => quote,
            _ => return None,
        });
    }
    Some(out)
}

fn ends_word(next: char) -> bool {
    matches!(
        next,
        ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}'
    )
}
