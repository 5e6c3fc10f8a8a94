//! Functions of strings.

use super::super::eval::{Budget, EvalError};
use super::super::value::Value;
use super::{Entry, Evaluated, no_overload, tenth};

pub(super) const TABLE: &[Entry] = &[
    ("contains", "string.(string) bool", contains),
    ("startsWith", "string.(string) bool", |b, args| {
        test(b, args, |text, other| text.starts_with(other))
    }),
    ("endsWith", "string.(string) bool", |b, args| {
        test(b, args, |text, other| text.ends_with(other))
    }),
    ("matches", "string.(string) bool; (string, string) bool", matches),
    ("find", "string.(string) string", find),
    (
        "findAll",
        "string.(string) list<string>; string.(string, int) list<string>",
        find_all,
    ),
    ("charAt", "string.(int) string", char_at),
    (
        "indexOf",
        "string.(string) int; string.(string, int) int; list<A>.(A) int",
        index_of,
    ),
    (
        "lastIndexOf",
        "string.(string) int; string.(string, int) int; list<A>.(A) int",
        last_index_of,
    ),
    ("lowerAscii", "string.() string", |b, args| {
        change(b, args, str::to_ascii_lowercase)
    }),
    ("upperAscii", "string.() string", |b, args| {
        change(b, args, str::to_ascii_uppercase)
    }),
    ("trim", "string.() string", |b, args| {
        change(b, args, |text| text.trim().to_owned())
    }),
    (
        "replace",
        "string.(string, string) string; string.(string, string, int) string",
        replace,
    ),
    (
        "split",
        "string.(string) list<string>; string.(string, int) list<string>",
        split,
    ),
    (
        "substring",
        "string.(int) string; string.(int, int) string",
        substring,
    ),
    (
        "join",
        "list<string>.() string; list<string>.(string) string",
        join,
    ),
    ("strings.quote", "(string) string", quote),
];

fn contains(budget: &mut Budget, args: &[Value]) -> Evaluated {
    let [Value::String(text), Value::String(part)] = args else {
        return Err(no_overload());
    };
    budget.charge(tenth(text.len()) * tenth(part.len()))?;
    Ok(Value::Bool(text.contains(&**part)))
}

fn test(budget: &mut Budget, args: &[Value], test: fn(&str, &str) -> bool) -> Evaluated {
    let [Value::String(text), Value::String(other)] = args else {
        return Err(no_overload());
    };
    budget.charge(tenth(other.len()))?;
    Ok(Value::Bool(test(text, other)))
}

fn change(budget: &mut Budget, args: &[Value], change: fn(&str) -> String) -> Evaluated {
    let [Value::String(text)] = args else {
        return Err(no_overload());
    };
    budget.charge(tenth(text.len()))?;
    Ok(Value::from(change(text)))
}

fn regex_cost(text: &str, pattern: &str) -> u64 {
    tenth(text.len() + 1) * (pattern.len() as u64).div_ceil(4)
}

fn matches(budget: &mut Budget, args: &[Value]) -> Evaluated {
    let [Value::String(text), Value::String(pattern)] = args else {
        return Err(no_overload());
    };
    budget.charge(regex_cost(text, pattern))?;
    Ok(Value::Bool(budget.regex(pattern)?.is_match(text)))
}

fn find(budget: &mut Budget, args: &[Value]) -> Evaluated {
    let [Value::String(text), Value::String(pattern)] = args else {
        return Err(no_overload());
    };
    budget.charge(regex_cost(text, pattern))?;
    let found = budget.regex(pattern)?.find(text).map_or("", |m| m.as_str());
    Ok(Value::from(found))
}

fn find_all(budget: &mut Budget, args: &[Value]) -> Evaluated {
    let (text, pattern, limit) = match args {
        [Value::String(text), Value::String(pattern)] => (text, pattern, usize::MAX),
        [Value::String(text), Value::String(pattern), Value::Int(limit)] => {
            (text, pattern, usize::try_from(*limit).unwrap_or(usize::MAX))
        }
        _ => return Err(no_overload()),
    };
    budget.charge(regex_cost(text, pattern) + text.len() as u64)?;
    let regex = budget.regex(pattern)?;
    let found: Vec<Value> = regex
        .find_iter(text)
        .take(limit)
        .map(|m| Value::from(m.as_str()))
        .collect();
    Ok(Value::from(found))
}

fn out_of_range(index: i64) -> EvalError {
    EvalError::message(format!("index out of range: {index}"))
}

fn char_at(budget: &mut Budget, args: &[Value]) -> Evaluated {
    let [Value::String(text), Value::Int(at)] = args else {
        return Err(no_overload());
    };
    budget.charge(tenth(text.len()))?;
    let size = text.chars().count();
    match usize::try_from(*at) {
        Ok(at) if at <= size => {
            let c: String = text.chars().skip(at).take(1).collect();
            Ok(Value::from(c))
        }
        _ => Err(out_of_range(*at)),
    }
}

fn position(found: Option<usize>) -> Value {
    found.map_or(Value::Int(-1), super::count)
}

fn index_of(budget: &mut Budget, args: &[Value]) -> Evaluated {
    let (text, part, from) = match args {
        [Value::List(list), value] => {
            budget.charge(list.items.len() as u64)?;
            return Ok(position(list.items.iter().position(|item| item.equals(value))));
        }
        [Value::String(text), Value::String(part)] => (text, part, 0),
        [Value::String(text), Value::String(part), Value::Int(from)] => (text, part, *from),
        _ => return Err(no_overload()),
    };
    budget.charge(tenth(text.len()) * tenth(part.len()).max(1))?;
    let chars: Vec<char> = text.chars().collect();
    if part.is_empty() {
        return Ok(Value::Int(from));
    }
    let start = usize::try_from(from).ok().filter(|at| *at < chars.len());
    let Some(start) = start else {
        return if from < 0 {
            Err(out_of_range(from))
        } else {
            Ok(Value::Int(-1))
        };
    };
    let rest: String = chars[start..].iter().collect();
    let found = rest.find(&**part).map(|at| start + rest[..at].chars().count());
    Ok(position(found))
}

fn last_index_of(budget: &mut Budget, args: &[Value]) -> Evaluated {
    let (text, part, until) = match args {
        [Value::List(list), value] => {
            budget.charge(list.items.len() as u64)?;
            return Ok(position(list.items.iter().rposition(|item| item.equals(value))));
        }
        [Value::String(text), Value::String(part)] => (text, part, None),
        [Value::String(text), Value::String(part), Value::Int(until)] => (text, part, Some(*until)),
        _ => return Err(no_overload()),
    };
    budget.charge(tenth(text.len()) * tenth(part.len()).max(1))?;
    let size = text.chars().count();
    let until = match until {
        None => size,
        Some(until) => match usize::try_from(until) {
            Err(_) => return Err(out_of_range(until)),
            Ok(until) if until >= size => return Ok(Value::Int(-1)),
            Ok(until) => until,
        },
    };
    if part.is_empty() {
        return Ok(super::count(until));
    }
    let end = text
        .char_indices()
        .nth(until.saturating_add(part.chars().count()))
        .map_or(text.len(), |(at, _)| at);
    let found = text[..end].rfind(&**part).map(|at| text[..at].chars().count());
    Ok(position(found))
}

fn replace(budget: &mut Budget, args: &[Value]) -> Evaluated {
    let (text, from, to, limit) = match args {
        [Value::String(text), Value::String(from), Value::String(to)] => (text, from, to, -1),
        [
            Value::String(text),
            Value::String(from),
            Value::String(to),
            Value::Int(limit),
        ] => (text, from, to, *limit),
        _ => return Err(no_overload()),
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    budget.charge(tenth(text.len() * 2))?;
    let times = text.matches(&**from).count().min(limit);
    budget.charge(tenth(times.saturating_mul(to.len())))?;
    Ok(Value::from(text.replacen(&**from, to, times)))
}

fn split(budget: &mut Budget, args: &[Value]) -> Evaluated {
    let (text, separator, limit) = match args {
        [Value::String(text), Value::String(separator)] => (text, separator, -1),
        [Value::String(text), Value::String(separator), Value::Int(limit)] => (text, separator, *limit),
        _ => return Err(no_overload()),
    };
    budget.charge(tenth(text.len() * 2))?;
    let limit = match usize::try_from(limit) {
        Ok(0) => return Ok(Value::from(Vec::new())),
        Ok(limit) => limit,
        Err(_) => usize::MAX,
    };
    let parts: Vec<Value> = if separator.is_empty() {
        budget.charge(text.len() as u64)?;
        let mut ends: Vec<usize> = text.char_indices().map(|(at, _)| at).take(limit).collect();
        ends.push(text.len());
        ends.windows(2)
            .map(|pair| Value::from(&text[pair[0]..pair[1]]))
            .collect()
    } else {
        text.splitn(limit, &**separator).map(Value::from).collect()
    };
    Ok(Value::from(parts))
}

fn substring(budget: &mut Budget, args: &[Value]) -> Evaluated {
    let (text, from, to) = match args {
        [Value::String(text), Value::Int(from)] => (text, *from, None),
        [Value::String(text), Value::Int(from), Value::Int(to)] => (text, *from, Some(*to)),
        _ => return Err(no_overload()),
    };
    budget.charge(tenth(text.len()))?;
    let size = text.chars().count();
    let within = |at: i64| {
        usize::try_from(at)
            .ok()
            .filter(|at| *at <= size)
            .ok_or_else(|| out_of_range(at))
    };
    if let Some(to) = to
        && from > to
    {
        let message = format!("invalid substring range. start: {from}, end: {to}");
        return Err(EvalError::message(message));
    }
    let start = within(from)?;
    let end = to.map_or(Ok(size), within)?;
    let part: String = text.chars().skip(start).take(end - start).collect();
    Ok(Value::from(part))
}

fn join(budget: &mut Budget, args: &[Value]) -> Evaluated {
    let (list, separator) = match args {
        [Value::List(list)] => (list, ""),
        [Value::List(list), Value::String(separator)] => (list, &**separator),
        _ => return Err(no_overload()),
    };
    let mut out = String::new();
    for (at, item) in list.items.iter().enumerate() {
        let Value::String(item) = item else {
            return Err(EvalError::message(format!(
                "join: invalid input: {}",
                item.type_name()
            )));
        };
        budget.charge(tenth((item.len() + separator.len()) * 2))?;
        if at > 0 {
            out += separator;
        }
        out += item;
    }
    Ok(Value::from(out))
}

fn quote(budget: &mut Budget, args: &[Value]) -> Evaluated {
    let [Value::String(text)] = args else {
        return Err(no_overload());
    };
    budget.charge(tenth(text.len() * 2))?;
    Ok(Value::from(quoted(text)))
}

/// Returns a text in double quotes.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\u{7}' => out += "\\a",
            '\u{8}' => out += "\\b",
            '\u{c}' => out += "\\f",
            '\n' => out += "\\n",
            '\r' => out += "\\r",
            '\t' => out += "\\t",
            '\u{b}' => out += "\\v",
            '\\' => out += "\\\\",
            '"' => out += "\\\"",
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
