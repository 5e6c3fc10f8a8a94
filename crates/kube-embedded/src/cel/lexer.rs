//! Splits an expression into tokens.

use super::issue::Issue;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Identifier(String),
    Int(String),
    Uint(String),
    Double(String),
    Text(String),
    Bytes(Vec<u8>),
    /// An operator, a bracket or a keyword.
    Symbol(&'static str),
    End,
}

/// A token, where it begins, and its source text.
#[derive(Debug, Clone)]
pub(super) struct Lexeme {
    pub(super) token: Token,
    pub(super) at: usize,
    pub(super) text: String,
}

/// Longer symbols first.
const SYMBOLS: [&str; 25] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":",
    "+", "*", "/", "%", "`",
];
const KEYWORDS: [&str; 4] = ["true", "false", "null", "in"];

/// Returns the tokens, the last of which is [`Token::End`], and what could not be read.
pub(super) fn tokens(source: &str) -> (Vec<Lexeme>, Vec<Issue>) {
    let mut lexer = Lexer {
        chars: source.chars().collect(),
        at: 0,
        issues: Vec::new(),
    };
    let mut lexemes = Vec::new();
    loop {
        lexer.skip_blanks();
        let at = lexer.at;
        if at >= lexer.chars.len() {
            lexemes.push(Lexeme {
                token: Token::End,
                at,
                text: "<EOF>".into(),
            });
            return (lexemes, lexer.issues);
        }
        if let Some(token) = lexer.token() {
            let text = lexer.chars[at..lexer.at].iter().collect();
            lexemes.push(Lexeme { token, at, text });
        }
    }
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    issues: Vec<Issue>,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn starts_with(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(i, c)| self.peek(i) == Some(c))
    }

    fn skip_blanks(&mut self) {
        loop {
            match self.peek(0) {
                Some(' ' | '\t' | '\r' | '\n' | '\u{c}') => self.at += 1,
                Some('/') if self.peek(1) == Some('/') => {
                    while self.peek(0).is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    fn token(&mut self) -> Option<Token> {
        let first = self.peek(0)?;
        if let Some((prefix, bytes, raw)) = self.string_prefix() {
            return self.string(prefix, bytes, raw);
        }
        if first.is_ascii_digit() || (first == '.' && self.peek(1).is_some_and(|c| c.is_ascii_digit())) {
            return Some(self.number());
        }
        if first.is_ascii_alphabetic() || first == '_' {
            let mut name = String::new();
            while let Some(c) = self.peek(0).filter(|c| c.is_ascii_alphanumeric() || *c == '_') {
                name.push(c);
                self.at += 1;
            }
            return Some(match KEYWORDS.iter().find(|k| **k == name) {
                Some(keyword) => Token::Symbol(keyword),
                None => Token::Identifier(name),
            });
        }
        if let Some(symbol) = SYMBOLS.iter().find(|s| self.starts_with(s)) {
            self.at += symbol.chars().count();
            return Some(Token::Symbol(symbol));
        }
        // A lone `=`, `&` or `|` is reported together with the character after it.
        let mut width = 1;
        if matches!(first, '=' | '&' | '|') && self.peek(1).is_some() {
            width = 2;
        }
        self.unrecognized(width);
        None
    }

    fn unrecognized(&mut self, width: usize) {
        let end = (self.at + width).min(self.chars.len());
        let text: String = self.chars[self.at..end].iter().collect();
        let message = format!("Syntax error: token recognition error at: '{text}'");
        self.issues.push(Issue::new(self.at, message));
        self.at = end;
    }

    /// Returns the length of the prefix before a quote, and whether it makes the text bytes and raw.
    fn string_prefix(&self) -> Option<(usize, bool, bool)> {
        let is_quote = |ahead| matches!(self.peek(ahead), Some('"' | '\''));
        let lower = |ahead: usize| self.peek(ahead).map(|c| c.to_ascii_lowercase());
        match (lower(0), lower(1)) {
            _ if is_quote(0) => Some((0, false, false)),
            (Some('r'), _) if is_quote(1) => Some((1, false, true)),
            (Some('b'), _) if is_quote(1) => Some((1, true, false)),
            (Some('b'), Some('r')) if is_quote(2) => Some((2, true, true)),
            _ => None,
        }
    }

    fn string(&mut self, prefix: usize, bytes: bool, raw: bool) -> Option<Token> {
        let begin = self.at;
        let quote = self.peek(prefix)?;
        let is_long = self.peek(prefix + 1) == Some(quote) && self.peek(prefix + 2) == Some(quote);
        let width = if is_long { 3 } else { 1 };
        let mut scan = self.at + prefix + width;
        let mut body = Vec::new();
        loop {
            let Some(c) = self.chars.get(scan).copied() else {
                self.unrecognized(self.chars.len() - begin);
                return None;
            };
            if self.chars[scan..]
                .iter()
                .take(width)
                .filter(|c| **c == quote)
                .count()
                == width
            {
                self.at = scan + width;
                break;
            }
            if !is_long && matches!(c, '\n' | '\r') {
                self.unrecognized(scan - begin);
                return None;
            }
            if c == '\\' && !raw {
                let Some((unit, used)) = escape(&self.chars[scan..], bytes) else {
                    self.unrecognized((scan + 2).min(self.chars.len()) - begin);
                    return None;
                };
                body.push(unit);
                scan += used;
            } else {
                body.push(Unit::Char(c));
                scan += 1;
            }
        }
        if !bytes {
            let text = body.iter().map(|unit| match unit {
                Unit::Char(c) => *c,
                Unit::Byte(b) => char::from(*b),
            });
            return Some(Token::Text(text.collect()));
        }
        let mut out = Vec::new();
        for unit in body {
            match unit {
                Unit::Byte(byte) => out.push(byte),
                Unit::Char(c) => out.extend(c.to_string().bytes()),
            }
        }
        Some(Token::Bytes(out))
    }

    fn number(&mut self) -> Token {
        let begin = self.at;
        if self.starts_with("0x") && self.peek(2).is_some_and(|c| c.is_ascii_hexdigit()) {
            self.at += 2;
            self.skip_while(|c| c.is_ascii_hexdigit());
            return self.integer(begin);
        }
        self.skip_while(|c| c.is_ascii_digit());
        let mut is_double = false;
        if self.peek(0) == Some('.') && self.peek(1).is_some_and(|c| c.is_ascii_digit()) {
            is_double = true;
            self.at += 1;
            self.skip_while(|c| c.is_ascii_digit());
        }
        let sign = usize::from(matches!(self.peek(1), Some('+' | '-')));
        if matches!(self.peek(0), Some('e' | 'E')) && self.peek(1 + sign).is_some_and(|c| c.is_ascii_digit())
        {
            is_double = true;
            self.at += 1 + sign;
            self.skip_while(|c| c.is_ascii_digit());
        }
        if is_double {
            return Token::Double(self.chars[begin..self.at].iter().collect());
        }
        self.integer(begin)
    }

    fn integer(&mut self, begin: usize) -> Token {
        let digits: String = self.chars[begin..self.at].iter().collect();
        if matches!(self.peek(0), Some('u' | 'U')) {
            self.at += 1;
            return Token::Uint(digits);
        }
        Token::Int(digits)
    }

    fn skip_while(&mut self, is: impl Fn(char) -> bool) {
        while self.peek(0).is_some_and(&is) {
            self.at += 1;
        }
    }
}

enum Unit {
    Char(char),
    Byte(u8),
}

/// Reads an escape sequence; returns what it stands for and how many characters it has.
fn escape(chars: &[char], bytes: bool) -> Option<(Unit, usize)> {
    let digits = |from: usize, count: usize, radix: u32| {
        let digits = chars.get(from..from + count)?;
        digits
            .iter()
            .try_fold(0u32, |sum, c| Some(sum * radix + c.to_digit(radix)?))
    };
    let numbered = |number: u32, used: usize| {
        let unit = if bytes {
            Unit::Byte(u8::try_from(number).ok()?)
        } else {
            Unit::Char(char::from_u32(number)?)
        };
        Some((unit, used))
    };
    let c = match chars.get(1)? {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        same @ ('"' | '\'' | '\\' | '?' | '`') => *same,
        'x' | 'X' => return numbered(digits(2, 2, 16)?, 4),
        'u' if !bytes => return numbered(digits(2, 4, 16)?, 6),
        'U' if !bytes => return numbered(digits(2, 8, 16)?, 10),
        '0'..='3' => return numbered(digits(1, 3, 8)?, 4),
        _ => return None,
    };
    Some((Unit::Char(c), 2))
}
