//! Reads an expression; macros become nodes of their own.

use std::sync::Arc;

use super::ast::{Comprehension, Element, Entry, Expr, Form, Kind, Selection};
use super::issue::Issue;
use super::lexer::{Lexeme, Token, tokens};
use super::value::Value;

/// The longest expression, in characters.
const LONGEST: usize = 100_000;
/// The deepest nesting.
const DEEPEST: usize = 250;

const EXPRESSION: &str = "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

/// Words that cannot be names of variables.
const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Returns whether a word cannot be the name of a variable.
pub(crate) fn is_reserved(word: &str) -> bool {
    matches!(word, "true" | "false" | "null" | "in") || RESERVED.contains(&word)
}

/// Returns the tree of an expression.
pub(super) fn parse(source: &str) -> Result<Expr, Vec<Issue>> {
    let size = source.chars().count();
    if size > LONGEST {
        let message = format!("expression code point size exceeds limit: size: {size}, limit {LONGEST}");
        return Err(vec![Issue::new(0, message)]);
    }
    let (lexemes, issues) = tokens(source);
    let mut parser = Parser {
        lexemes,
        next: 0,
        depth: 0,
        issues,
    };
    match parser.whole() {
        Ok(expr) if parser.issues.is_empty() => Ok(expr),
        Ok(_) => Err(parser.issues),
        Err(issue) => {
            parser.issues.push(issue);
            Err(parser.issues)
        }
    }
}

type Parsed<T = Expr> = Result<T, Issue>;

struct Parser {
    lexemes: Vec<Lexeme>,
    next: usize,
    depth: usize,
    /// Errors that do not end the parsing.
    issues: Vec<Issue>,
}

/// Binary operators, with how tightly they bind.
fn binary(symbol: &str) -> Option<(u8, &'static str)> {
    Some(match symbol {
        "<" => (1, "_<_"),
        "<=" => (1, "_<=_"),
        ">" => (1, "_>_"),
        ">=" => (1, "_>=_"),
        "==" => (1, "_==_"),
        "!=" => (1, "_!=_"),
        "in" => (1, "@in"),
        "+" => (2, "_+_"),
        "-" => (2, "_-_"),
        "*" => (3, "_*_"),
        "/" => (3, "_/_"),
        "%" => (3, "_%_"),
        _ => return None,
    })
}

impl Parser {
    fn current(&self) -> &Lexeme {
        // The last lexeme is the end, and `bump` stops there.
        &self.lexemes[self.next.min(self.lexemes.len() - 1)]
    }

    fn bump(&mut self) -> Lexeme {
        let lexeme = self.current().clone();
        self.next = (self.next + 1).min(self.lexemes.len() - 1);
        lexeme
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(self.current().token, Token::Symbol(s) if s == symbol)
    }

    fn accept(&mut self, symbol: &str) -> Option<usize> {
        self.is(symbol).then(|| self.bump().at)
    }

    fn expect(&mut self, symbol: &str, expected: &str) -> Parsed<usize> {
        self.accept(symbol).ok_or_else(|| self.mismatch(expected))
    }

    fn mismatch(&self, expected: &str) -> Issue {
        let found = self.current();
        let message = format!(
            "Syntax error: mismatched input '{}' expecting {expected}",
            found.text
        );
        Issue::new(found.at, message)
    }

    fn too_deep(at: usize) -> Issue {
        Issue::new(at, format!("expression recursion limit exceeded: {DEEPEST}"))
    }

    fn node(at: usize, kind: Kind) -> Parsed {
        let expr = Expr::new(at, kind);
        if expr.height > DEEPEST {
            return Err(Parser::too_deep(at));
        }
        Ok(expr)
    }

    fn call(at: usize, name: &str, args: Vec<Expr>) -> Parsed {
        let expr = Expr::call(at, name, args);
        if expr.height > DEEPEST {
            return Err(Parser::too_deep(at));
        }
        Ok(expr)
    }

    fn whole(&mut self) -> Parsed {
        let expr = self.expression()?;
        let found = self.current();
        if found.token == Token::End {
            return Ok(expr);
        }
        let message = format!("Syntax error: extraneous input '{}' expecting <EOF>", found.text);
        Err(Issue::new(found.at, message))
    }

    fn expression(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Parser::too_deep(self.current().at));
        }
        let condition = self.either()?;
        let expr = match self.accept("?") {
            None => condition,
            Some(at) => {
                let then = self.either()?;
                self.expect(":", "':'")?;
                let otherwise = self.expression()?;
                Parser::node(at, Kind::Conditional(Box::new([condition, then, otherwise])))?
            }
        };
        self.depth -= 1;
        Ok(expr)
    }

    fn either(&mut self) -> Parsed {
        let mut terms = vec![self.both()?];
        let at = self.current().at;
        while self.accept("||").is_some() {
            terms.push(self.both()?);
        }
        match terms.len() {
            1 => Ok(terms.remove(0)),
            _ => Parser::node(at, Kind::Or(terms)),
        }
    }

    fn both(&mut self) -> Parsed {
        let mut terms = vec![self.binary(1)?];
        let at = self.current().at;
        while self.accept("&&").is_some() {
            terms.push(self.binary(1)?);
        }
        match terms.len() {
            1 => Ok(terms.remove(0)),
            _ => Parser::node(at, Kind::And(terms)),
        }
    }

    fn binary(&mut self, weakest: u8) -> Parsed {
        let mut left = self.unary()?;
        while let Token::Symbol(symbol) = self.current().token {
            let Some((strength, name)) = binary(symbol).filter(|(s, _)| *s >= weakest) else {
                break;
            };
            let at = self.bump().at;
            let right = self.binary(strength + 1)?;
            left = Parser::call(at, name, vec![left, right])?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed {
        for (symbol, name) in [("!", "!_"), ("-", "-_")] {
            let at = self.current().at;
            let mut times = 0;
            // A minus before a number belongs to the number.
            while self.is(symbol) && !(symbol == "-" && self.number_follows()) {
                self.bump();
                times += 1;
            }
            if times > 0 {
                let operand = self.member()?;
                // Two of them cancel each other out.
                return match times % 2 {
                    0 => Ok(operand),
                    _ => Parser::call(at, name, vec![operand]),
                };
            }
        }
        self.member()
    }

    fn number_follows(&self) -> bool {
        matches!(
            self.lexemes.get(self.next + 1).map(|l| &l.token),
            Some(Token::Int(_) | Token::Double(_))
        )
    }

    fn member(&mut self) -> Parsed {
        let mut expr = self.primary()?;
        loop {
            if let Some(at) = self.accept(".") {
                expr = self.field_or_call(expr, at)?;
            } else if let Some(at) = self.accept("[") {
                let name = if self.accept("?").is_some() {
                    "_[?_]"
                } else {
                    "_[_]"
                };
                let index = self.expression()?;
                self.expect("]", "']'")?;
                expr = Parser::call(at, name, vec![expr, index])?;
            } else if self.is("{") && expr.qualified_name().is_some() {
                let at = self.current().at;
                let name = expr.qualified_name().unwrap_or_default();
                let message = format!("undeclared reference to '{name}' (in container '')");
                return Err(Issue::new(at, message));
            } else {
                return Ok(expr);
            }
        }
    }

    fn field_or_call(&mut self, operand: Expr, at: usize) -> Parsed {
        let is_optional = self.accept("?").is_some();
        if self.is("`") {
            return Err(Issue::new(self.current().at, "unsupported syntax: '`'"));
        }
        let Token::Identifier(name) = self.current().token.clone() else {
            let found = self.current();
            let message = format!("Syntax error: no viable alternative at input '.{}'", found.text);
            return Err(Issue::new(found.at, message));
        };
        self.bump();
        if is_optional || !self.is("(") {
            let form = if is_optional {
                Selection::Optional
            } else {
                Selection::Required
            };
            let kind = Kind::Select {
                operand: Box::new(operand),
                field: name.into(),
                form,
            };
            return Parser::node(at, kind);
        }
        let at = self.bump().at;
        let args = self.arguments()?;
        Parser::member_call(at, operand, name, args)
    }

    fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        let mut args = Vec::new();
        if self.accept(")").is_some() {
            return Ok(args);
        }
        loop {
            args.push(self.expression()?);
            if self.accept(")").is_some() {
                return Ok(args);
            }
            self.expect(",", "{')', ','}")?;
        }
    }

    fn primary(&mut self) -> Parsed {
        let lexeme = self.current().clone();
        let at = lexeme.at;
        let literal = |value: Value| Parser::node(at, Kind::Literal(value));
        match lexeme.token {
            Token::Symbol("(") => {
                self.bump();
                let inner = self.expression()?;
                if self.accept(")").is_none() {
                    let found = self.current();
                    let message = format!("Syntax error: missing ')' at '{}'", found.text);
                    return Err(Issue::new(found.at, message));
                }
                Ok(inner)
            }
            Token::Symbol("[") => self.list(),
            Token::Symbol("{") => self.map(),
            Token::Symbol("-") => {
                self.bump();
                self.number("-", at)
            }
            Token::Int(_) | Token::Uint(_) | Token::Double(_) => self.number("", at),
            Token::Text(text) => {
                self.bump();
                literal(Value::from(text.as_str()))
            }
            Token::Bytes(bytes) => {
                self.bump();
                literal(Value::Bytes(bytes.into()))
            }
            Token::Symbol(word @ ("true" | "false")) => {
                self.bump();
                literal(Value::Bool(word == "true"))
            }
            Token::Symbol("null") => {
                self.bump();
                literal(Value::Null)
            }
            Token::Symbol(".") => {
                self.bump();
                self.identifier()
            }
            Token::Identifier(_) => self.identifier(),
            _ => Err(self.mismatch(EXPRESSION)),
        }
    }

    fn identifier(&mut self) -> Parsed {
        let lexeme = self.current().clone();
        let Token::Identifier(name) = lexeme.token else {
            return Err(self.mismatch("IDENTIFIER"));
        };
        if RESERVED.contains(&name.as_str()) {
            let message = format!("reserved identifier: {name}");
            return Err(Issue::new(lexeme.at, message));
        }
        self.bump();
        if !self.is("(") {
            return Parser::node(lexeme.at, Kind::Identifier(name.into()));
        }
        let at = self.bump().at;
        let mut args = self.arguments()?;
        if name == "has" && args.len() == 1 {
            return Parser::has(at, args.remove(0));
        }
        Parser::call(at, &name, args)
    }

    /// `has(x.y)` asks for a field and nothing else.
    fn has(at: usize, arg: Expr) -> Parsed {
        if let Kind::Select {
            operand,
            field,
            form: Selection::Required,
        } = arg.kind
        {
            let kind = Kind::Select {
                operand,
                field,
                form: Selection::Test,
            };
            return Parser::node(at, kind);
        }
        Err(Issue::new(arg.at, "invalid argument to has() macro"))
    }

    fn number(&mut self, sign: &str, at: usize) -> Parsed {
        let lexeme = self.bump();
        let value = match &lexeme.token {
            Token::Int(digits) => int(sign, digits).map(Value::Int).ok_or("invalid int literal"),
            Token::Uint(digits) => uint(digits).map(Value::Uint).ok_or("invalid uint literal"),
            Token::Double(digits) => format!("{sign}{digits}")
                .parse::<f64>()
                .ok()
                .filter(|d| d.is_finite())
                .map(Value::Double)
                .ok_or("invalid double literal"),
            _ => Err("invalid number"),
        };
        match value {
            Ok(value) => Parser::node(at, Kind::Literal(value)),
            Err(message) => Err(Issue::new(at, message)),
        }
    }

    fn list(&mut self) -> Parsed {
        let at = self.bump().at;
        let mut elements = Vec::new();
        while self.accept("]").is_none() {
            let is_optional = self.accept("?").is_some();
            let value = self.expression()?;
            elements.push(Element { is_optional, value });
            if !self.is("]") {
                self.expect(",", "{']', ','}")?;
            }
        }
        Parser::node(at, Kind::List(elements))
    }

    fn map(&mut self) -> Parsed {
        let at = self.bump().at;
        let mut entries = Vec::new();
        while self.accept("}").is_none() {
            let is_optional = self.accept("?").is_some();
            let key = self.expression()?;
            self.expect(":", "':'")?;
            let value = self.expression()?;
            entries.push(Entry {
                is_optional,
                key,
                value,
            });
            if !self.is("}") {
                self.expect(",", "{'}', ','}")?;
            }
        }
        Parser::node(at, Kind::Map(entries))
    }

    fn member_call(at: usize, target: Expr, name: String, mut args: Vec<Expr>) -> Parsed {
        let Some((form, variables, has_filter)) = macro_form(&name, args.len()) else {
            args.insert(0, target);
            let kind = Kind::Call {
                name,
                is_member: true,
                function: None,
                args,
            };
            return Parser::node(at, kind);
        };
        let mut args = args.into_iter();
        let mut names = Vec::new();
        for arg in args.by_ref().take(variables) {
            names.push(variable(arg, &name, variables)?);
        }
        let mut names = names.into_iter();
        let (first, second) = (names.next(), names.next());
        if let (Some((_, first)), Some((at, second))) = (&first, &second)
            && first == second
        {
            return Err(Issue::new(*at, format!("duplicate variable name: {second}")));
        }
        let filter = if has_filter { args.next() } else { None };
        let (Some((_, variable)), Some(body)) = (first, args.next()) else {
            return Err(Issue::new(at, format!("invalid arguments of {name}()")));
        };
        let comprehension = Comprehension {
            form,
            range: target,
            variable,
            second: second.map(|(_, name)| name),
            filter,
            body,
        };
        Parser::node(at, Kind::Comprehension(Box::new(comprehension)))
    }
}

/// Returns what a macro does, the number of its variables, and whether it has a filter.
fn macro_form(name: &str, args: usize) -> Option<(Form, usize, bool)> {
    Some(match (name, args) {
        ("all", 2 | 3) => (Form::All, args - 1, false),
        ("exists", 2 | 3) => (Form::Exists, args - 1, false),
        ("exists_one", 2 | 3) | ("existsOne", 3) => (Form::ExistsOne, args - 1, false),
        ("map", 2) => (Form::Map, 1, false),
        ("map", 3) => (Form::Map, 1, true),
        ("filter", 2) => (Form::Filter, 1, false),
        ("transformList", 3) => (Form::Map, 2, false),
        ("transformList", 4) => (Form::Map, 2, true),
        ("transformMap", 3) => (Form::TransformMap, 2, false),
        ("transformMap", 4) => (Form::TransformMap, 2, true),
        ("transformMapEntry", 3) => (Form::TransformEntry, 2, false),
        ("transformMapEntry", 4) => (Form::TransformEntry, 2, true),
        ("sortBy", 2) => (Form::SortBy, 1, false),
        ("optMap", 2) => (Form::OptMap, 1, false),
        ("optFlatMap", 2) => (Form::OptFlatMap, 1, false),
        _ => return None,
    })
}

fn variable(arg: Expr, name: &str, variables: usize) -> Parsed<(usize, Arc<str>)> {
    match arg.kind {
        Kind::Identifier(name) => Ok((arg.at, name)),
        _ if variables == 2 || matches!(name, "all" | "exists" | "exists_one") => {
            Err(Issue::new(arg.at, "argument must be a simple name"))
        }
        _ => Err(Issue::new(arg.at, "argument is not an identifier")),
    }
}

fn int(sign: &str, digits: &str) -> Option<i64> {
    match digits.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(&format!("{sign}{hex}"), 16).ok(),
        None => format!("{sign}{digits}").parse().ok(),
    }
}

fn uint(digits: &str) -> Option<u64> {
    match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    }
}
