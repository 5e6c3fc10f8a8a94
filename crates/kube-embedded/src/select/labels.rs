//! Label selectors: the whole grammar of `labelSelector`.

use crate::status::{Result, Status};

/// A label selector; without requirements it selects everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector {
    requirements: Vec<Requirement>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Operator {
    Exists,
    DoesNotExist,
    In(Vec<String>),
    NotIn(Vec<String>),
    GreaterThan(i64),
    LessThan(i64),
}

impl LabelSelector {
    /// Reads a selector such as `app in (a, b), tier!=db, !legacy, generation>3`.
    pub(crate) fn parse(text: &str) -> Result<LabelSelector> {
        let mut parser = Parser {
            tokens: tokens(text),
            at: 0,
        };
        let requirements = parser
            .selector()
            .map_err(|why| Status::bad_request(format!("unable to parse requirement: {why}")))?;
        Ok(LabelSelector { requirements })
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether an object with these labels is selected.
    pub(crate) fn matches(&self, labels: &[(Box<str>, Box<str>)]) -> bool {
        self.requirements.iter().all(|r| r.matches(labels))
    }
}

impl Requirement {
    fn matches(&self, labels: &[(Box<str>, Box<str>)]) -> bool {
        let value = labels.iter().find(|(k, _)| **k == *self.key).map(|(_, v)| &**v);
        let number = || value.and_then(|v| v.parse::<i64>().ok());
        match &self.operator {
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::In(values) => value.is_some_and(|v| values.iter().any(|w| w == v)),
            // As in Kubernetes, an object without the label is "not in".
            Operator::NotIn(values) => value.is_none_or(|v| values.iter().all(|w| w != v)),
            Operator::GreaterThan(bound) => number().is_some_and(|n| n > *bound),
            Operator::LessThan(bound) => number().is_some_and(|n| n < *bound),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Not,
    Equals,
    DoubleEquals,
    NotEquals,
    Greater,
    Less,
    Open,
    Close,
    Comma,
    End,
}

impl Token {
    fn text(&self) -> &str {
        match self {
            Token::Word(word) => word,
            Token::Not => "!",
            Token::Equals => "=",
            Token::DoubleEquals => "==",
            Token::NotEquals => "!=",
            Token::Greater => ">",
            Token::Less => "<",
            Token::Open => "(",
            Token::Close => ")",
            Token::Comma => ",",
            Token::End => "",
        }
    }
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let mut followed_by_equals = || rest.next_if_eq(&'=').is_some();
        tokens.push(match c {
            ' ' | '\t' | '\r' | '\n' => continue,
            '!' if followed_by_equals() => Token::NotEquals,
            '!' => Token::Not,
            '=' if followed_by_equals() => Token::DoubleEquals,
            '=' => Token::Equals,
            '>' => Token::Greater,
            '<' => Token::Less,
            '(' => Token::Open,
            ')' => Token::Close,
            ',' => Token::Comma,
            first => {
                let mut word = String::from(first);
                while let Some(next) = rest.next_if(|c| !is_special(*c)) {
                    word.push(next);
                }
                Token::Word(word)
            }
        });
    }
    tokens
}

fn is_special(c: char) -> bool {
    matches!(
        c,
        ' ' | '\t' | '\r' | '\n' | '!' | '=' | '>' | '<' | '(' | ')' | ','
    )
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).unwrap_or(&Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn selector(&mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        if *self.peek() == Token::End {
            return Ok(requirements);
        }
        loop {
            match self.peek() {
                Token::Word(_) | Token::Not => requirements.push(self.requirement()?),
                other => {
                    return Err(format!(
                        "found '{}', expected: !, identifier, or 'end of string'",
                        other.text()
                    ));
                }
            }
            match self.next() {
                Token::End => return Ok(requirements),
                Token::Comma => match self.peek() {
                    Token::Word(_) | Token::Not => {}
                    other => {
                        return Err(format!(
                            "found '{}', expected: identifier after ','",
                            other.text()
                        ));
                    }
                },
                other => {
                    return Err(format!(
                        "found '{}', expected: ',' or 'end of string'",
                        other.text()
                    ));
                }
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let absent = *self.peek() == Token::Not;
        if absent {
            self.next();
        }
        let key = match self.next() {
            Token::Word(key) => key,
            other => return Err(format!("found '{}', expected: identifier", other.text())),
        };
        check_key(&key)?;
        if absent {
            return Ok(Requirement {
                key,
                operator: Operator::DoesNotExist,
            });
        }
        let operator = match self.peek().clone() {
            Token::End | Token::Comma => {
                return Ok(Requirement {
                    key,
                    operator: Operator::Exists,
                });
            }
            Token::Word(word) if word == "in" || word == "notin" => {
                self.next();
                let values = self.values()?;
                if word == "in" {
                    Operator::In(values)
                } else {
                    Operator::NotIn(values)
                }
            }
            Token::Equals | Token::DoubleEquals => {
                self.next();
                Operator::In(vec![self.exact_value()?])
            }
            Token::NotEquals => {
                self.next();
                Operator::NotIn(vec![self.exact_value()?])
            }
            Token::Greater => {
                self.next();
                Operator::GreaterThan(self.number()?)
            }
            Token::Less => {
                self.next();
                Operator::LessThan(self.number()?)
            }
            other => {
                return Err(format!(
                    "found '{}', expected: in, notin, =, ==, !=, gt, lt",
                    other.text()
                ));
            }
        };
        match &operator {
            Operator::In(values) | Operator::NotIn(values) => {
                for (i, value) in values.iter().enumerate() {
                    check_value(&key, i, value)?;
                }
            }
            _ => {}
        }
        Ok(Requirement { key, operator })
    }

    fn exact_value(&mut self) -> Result<String, String> {
        match self.peek() {
            Token::End | Token::Comma => Ok(String::new()),
            Token::Word(_) => Ok(self.next().text().to_owned()),
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    fn number(&mut self) -> Result<i64, String> {
        let value = self.exact_value()?;
        value.parse().map_err(|_| {
            format!(
                "values[0]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer"
            )
        })
    }

    fn values(&mut self) -> Result<Vec<String>, String> {
        match self.next() {
            Token::Open => {}
            other => return Err(format!("found '{}' expected: '('", other.text())),
        }
        let mut values = Vec::new();
        let mut expecting = true;
        loop {
            match self.next() {
                Token::Word(word) if expecting => {
                    values.push(word);
                    expecting = false;
                }
                Token::Comma => {
                    if expecting {
                        values.push(String::new());
                    }
                    expecting = true;
                }
                Token::Close => {
                    if expecting {
                        values.push(String::new());
                    }
                    values.sort();
                    values.dedup();
                    return Ok(values);
                }
                other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
            }
        }
    }
}

fn check_key(key: &str) -> Result<(), String> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let prefix_ok = prefix.is_none_or(|p| {
        !p.is_empty()
            && p.len() <= 253
            && p.split('.').all(|part| {
                !part.is_empty()
                    && part
                        .bytes()
                        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
                    && !part.starts_with('-')
                    && !part.ends_with('-')
            })
    });
    if prefix_ok && !name.is_empty() && is_qualified(name) {
        return Ok(());
    }
    Err(format!(
        "key: Invalid value: {key:?}: name part must consist of alphanumeric characters, '-', '_' or '.', and must \
         start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
         validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
    ))
}

fn check_value(key: &str, at: usize, value: &str) -> Result<(), String> {
    if value.is_empty() || is_qualified(value) {
        return Ok(());
    }
    Err(format!(
        "values[{at}][{key}]: Invalid value: {value:?}: a valid label must be an empty string or consist of \
         alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. \
         'MyValue',  or 'my_value',  or '12345', regex used for validation is \
         '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
    ))
}

/// At most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends.
fn is_qualified(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() <= 63
        && bytes
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
}
