//! `fieldPath` of a rule: the field that is reported.

use super::super::structure::{Additional, Schema};

/// Returns whether a path such as `.a.b['c']` leads to a field of the schema.
pub(in super::super) fn is_field_path(schema: Schema<'_>, path: &str) -> bool {
    walk(schema, path).is_some()
}

/// Returns the path as it is printed behind that of the object.
pub(super) fn parse(schema: Schema<'_>, path: &str) -> Option<String> {
    let printed = walk(schema, path)?;
    (!printed.is_empty()).then_some(printed)
}

fn walk(schema: Schema<'_>, path: &str) -> Option<String> {
    let mut schema = schema;
    let mut rest = path;
    let mut printed = String::new();
    while !rest.is_empty() {
        let (name, after) = if let Some(quoted) = rest.strip_prefix("['") {
            quoted_name(quoted)?
        } else {
            let plain = rest.strip_prefix('.')?;
            let end = plain.find(['.', '[', ']']).unwrap_or(plain.len());
            let (name, after) = plain.split_at(end);
            (name.to_owned(), after)
        };
        if name.is_empty() {
            return None;
        }
        rest = after;
        schema = match schema.additional() {
            Additional::Schema(value) if !schema.has_properties() => {
                printed.extend(["[", &name, "]"]);
                value
            }
            _ => {
                if !printed.is_empty() {
                    printed.push('.');
                }
                printed += &name;
                schema.property(&name)?
            }
        };
    }
    Some(printed)
}

/// Parses the rest of `['…']`. Returns the name and the text after it.
fn quoted_name(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' => return Some((name, text.get(at + 1..)?.strip_prefix(']')?)),
            '\\' => name.push(match chars.next()?.1 {
                'a' => '\u{7}',
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'v' => '\u{b}',
                same @ ('\'' | '\\') => same,
                _ => return None,
            }),
            c => name.push(c),
        }
    }
    None
}
