//! A parser for the grammar of `labelSelector`, with one token of lookahead. It runs in linear time.

use super::ParseSelectorError;
use super::requirement::{Condition, Requirement, check_key, value_list};

/// Parses the requirements in their order of appearance.
pub(super) fn requirements(text: &str) -> Result<Vec<Requirement>, ParseSelectorError> {
    let mut rest = Lexer { text };
    let next = rest.token();
    Parser { rest, next }
        .selector()
        .map_err(|error| ParseSelectorError::new(format!("unable to parse requirement: {error}")))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
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

impl<'a> Token<'a> {
    fn text(self) -> &'a str {
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

    fn unexpected<T>(self, expected: &str) -> Result<T, ParseSelectorError> {
        Err(ParseSelectorError::new(format!(
            "found '{}'{expected}",
            self.text()
        )))
    }
}

struct Lexer<'a> {
    text: &'a str,
}

impl<'a> Lexer<'a> {
    fn token(&mut self) -> Token<'a> {
        const SPACES: [char; 4] = [' ', '\t', '\r', '\n'];
        const SIGNS: [(&str, Token<'_>); 9] = [
            ("!=", Token::NotEquals),
            ("!", Token::Not),
            ("==", Token::DoubleEquals),
            ("=", Token::Equals),
            (">", Token::Greater),
            ("<", Token::Less),
            ("(", Token::Open),
            (")", Token::Close),
            (",", Token::Comma),
        ];
        self.text = self.text.trim_start_matches(SPACES);
        if self.text.is_empty() {
            return Token::End;
        }
        for (sign, token) in SIGNS {
            if let Some(rest) = self.text.strip_prefix(sign) {
                self.text = rest;
                return token;
            }
        }
        let ends_word = |c| SPACES.contains(&c) || "!=><(),".contains(c);
        let (word, rest) = self
            .text
            .split_at(self.text.find(ends_word).unwrap_or(self.text.len()));
        self.text = rest;
        Token::Word(word)
    }
}

struct Parser<'a> {
    /// The tokens after `next`.
    rest: Lexer<'a>,
    next: Token<'a>,
}

impl<'a> Parser<'a> {
    fn take(&mut self) -> Token<'a> {
        std::mem::replace(&mut self.next, self.rest.token())
    }

    fn selector(&mut self) -> Result<Vec<Requirement>, ParseSelectorError> {
        let mut requirements = Vec::new();
        if self.next == Token::End {
            return Ok(requirements);
        }
        if !self.begins_requirement() {
            return self
                .next
                .unexpected(", expected: !, identifier, or 'end of string'");
        }
        loop {
            requirements.push(self.requirement()?);
            match self.take() {
                Token::End => return Ok(requirements),
                Token::Comma if self.begins_requirement() => {}
                Token::Comma => return self.next.unexpected(", expected: identifier after ','"),
                other => return other.unexpected(", expected: ',' or 'end of string'"),
            }
        }
    }

    fn begins_requirement(&self) -> bool {
        matches!(self.next, Token::Word(_) | Token::Not)
    }

    fn requirement(&mut self) -> Result<Requirement, ParseSelectorError> {
        let absent = self.next == Token::Not;
        if absent {
            self.take();
        }
        let key = match self.take() {
            Token::Word(key) => key,
            other => return other.unexpected(", expected: identifier"),
        };
        // Check the key before the rest is parsed, so that the first of several mistakes is reported.
        check_key(key)?;
        let condition = if absent {
            Condition::Absent
        } else {
            self.condition()?
        };
        Requirement::new(key.to_owned(), condition)
    }

    /// Parses the operator and the values after a key.
    fn condition(&mut self) -> Result<Condition, ParseSelectorError> {
        if matches!(self.next, Token::End | Token::Comma) {
            return Ok(Condition::Exists);
        }
        Ok(match self.take() {
            Token::Word("in") => Condition::OneOf(self.values()?),
            Token::Word("notin") => Condition::NoneOf(self.values()?),
            Token::Equals | Token::DoubleEquals => Condition::Equal(self.value()?.to_owned()),
            Token::NotEquals => Condition::NotEqual(self.value()?.to_owned()),
            Token::Greater => Condition::GreaterThan(self.number()?),
            Token::Less => Condition::LessThan(self.number()?),
            other => return other.unexpected(", expected: in, notin, =, ==, !=, gt, lt"),
        })
    }

    fn value(&mut self) -> Result<&'a str, ParseSelectorError> {
        match self.next {
            Token::End | Token::Comma => Ok(""),
            Token::Word(word) => {
                self.take();
                Ok(word)
            }
            other => other.unexpected(", expected: identifier"),
        }
    }

    fn number(&mut self) -> Result<i64, ParseSelectorError> {
        let value = self.value()?;
        value.parse().map_err(|_| {
            ParseSelectorError::new(format!(
                "values[0]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer"
            ))
        })
    }

    /// Parses a list in parentheses. Missing values are empty strings.
    fn values(&mut self) -> Result<Vec<String>, ParseSelectorError> {
        match self.take() {
            Token::Open => {}
            other => return other.unexpected(" expected: '('"),
        }
        let mut values = Vec::new();
        loop {
            let value = match self.next {
                Token::Word(word) => {
                    self.take();
                    word
                }
                _ => "",
            };
            values.push(value.to_owned());
            match self.take() {
                Token::Comma => {}
                Token::Close => return value_list(values),
                other => return other.unexpected(", expected: ',' or ')'"),
            }
        }
    }
}
