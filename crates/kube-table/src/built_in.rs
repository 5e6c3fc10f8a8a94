//! The columns of built-in kinds, parsed once from `columns.txt`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

use crate::Column;

const TEXT: &str = include_str!("columns.txt");

struct Tables {
    by_group: HashMap<&'static str, HashMap<&'static str, Vec<Column>>>,
    name: String,
    created: String,
}

/// Group, kind and columns of a built-in kind.
pub(crate) type KnownKind = (&'static str, &'static str, &'static [Column]);

/// Returns the columns of a built-in kind, or `None` for kinds that have no table, for example `Binding` and
/// reviews. A kube-apiserver responds with 406 for these.
pub(crate) fn columns(group: &str, kind: &str) -> Option<KnownKind> {
    let (group, kinds) = tables().by_group.get_key_value(group)?;
    let (kind, columns) = kinds.get_key_value(kind)?;
    Some((group, kind, columns))
}

/// Returns the description of the name column, which all kinds share.
pub(crate) fn name_description() -> &'static str {
    &tables().name
}

/// Returns the description of the age column, which all kinds share.
pub(crate) fn created_description() -> &'static str {
    &tables().created
}

fn tables() -> &'static Tables {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    TABLES.get_or_init(|| parse(TEXT))
}

fn parse(text: &'static str) -> Tables {
    let mut tables = Tables {
        by_group: HashMap::new(),
        name: String::new(),
        created: String::new(),
    };
    let (mut group, mut kind) = ("", "");
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if let Some(description) = line.strip_prefix("=name\t") {
            tables.name = description.replace("\\n", "\n");
        } else if let Some(description) = line.strip_prefix("=created\t") {
            tables.created = description.replace("\\n", "\n");
        } else if let Some(column) = line.strip_prefix('\t') {
            let column = parse_column(column, &tables);
            let kinds = tables.by_group.entry(group).or_default();
            kinds.entry(kind).or_default().push(column);
        } else if let Some((in_group, name)) = line.split_once(' ') {
            (group, kind) = (if in_group == "-" { "" } else { in_group }, name);
        }
    }
    tables
}

fn parse_column(line: &'static str, tables: &Tables) -> Column {
    let mut parts = line.splitn(5, '\t');
    let mut next = || parts.next().unwrap_or_default();
    let (name, type_, format, priority) = (next(), next(), next(), next());
    let description = match next() {
        "=name" => Cow::Owned(tables.name.clone()),
        "=created" => Cow::Owned(tables.created.clone()),
        text if text.contains("\\n") => Cow::Owned(text.replace("\\n", "\n")),
        text => Cow::Borrowed(text),
    };
    Column {
        name: name.into(),
        type_: type_.into(),
        format: format.into(),
        description,
        priority: priority.parse().unwrap_or_default(),
    }
}
