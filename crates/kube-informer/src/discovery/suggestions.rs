//! Suggests resources for a misspelled name.

use super::DiscoveredResource;

const MAX_SUGGESTIONS: usize = 3;
/// Longer words are not names of resources.
const MAX_WORD: usize = 63;
/// Shorter words are similar to too many names.
const MIN_WORD: usize = 3;
const MAX_EDITS: usize = 3;

/// Returns resources with a name similar to a word, the most similar first.
pub(super) fn suggestions<'a>(
    word: &str,
    resources: impl Iterator<Item = &'a DiscoveredResource>,
) -> Vec<String> {
    if word.len() > MAX_WORD {
        return Vec::new();
    }
    let mut similar: Vec<(usize, String)> = Vec::new();
    for resource in resources {
        let Some(distance) = distance(word, resource) else {
            continue;
        };
        let name = resource.to_string();
        match similar.iter_mut().find(|(_, known)| *known == name) {
            Some((known, _)) => *known = distance.min(*known),
            None => similar.push((distance, name)),
        }
    }
    similar.sort_by_key(|(distance, _)| *distance);
    similar
        .into_iter()
        .take(MAX_SUGGESTIONS)
        .map(|(_, name)| name)
        .collect()
}

/// Returns the distance of a word from the most similar name of a resource; none if no name is similar.
fn distance(word: &str, resource: &DiscoveredResource) -> Option<usize> {
    let kind = resource.names.kind.to_lowercase();
    let names = [&resource.names.plural, &resource.singular, &kind];
    let names = names.into_iter().chain(&resource.short_names);
    let max_edits = if word.len() < MIN_WORD {
        0
    } else {
        (word.len() / 3).min(MAX_EDITS)
    };
    names
        .filter_map(|name| {
            let edits = edits(word, name);
            if edits <= max_edits {
                Some(edits)
            } else {
                // It may be the beginning of a name.
                (word.len() >= MIN_WORD && name.starts_with(word)).then_some(max_edits + 1)
            }
        })
        .min()
}

/// Returns the number of letters to insert, delete, replace, or swap with their neighbor (optimal string alignment).
fn edits(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().collect();
    let to: Vec<char> = to.chars().collect();
    let mut row_before_last: Vec<usize> = Vec::new();
    let mut last_row: Vec<usize> = (0..=to.len()).collect();
    for (i, letter) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, expected) in to.iter().enumerate() {
            let replaced = last_row[j] + usize::from(letter != expected);
            let mut least = replaced.min(last_row[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *letter == to[j - 1] && from[i - 1] == *expected {
                least = least.min(row_before_last[j - 1] + 1);
            }
            row.push(least);
        }
        row_before_last = std::mem::replace(&mut last_row, row);
    }
    last_row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::edits;

    #[test]
    fn edits_are_counted() {
        for (from, to, count) in [
            ("", "", 0),
            ("pods", "pods", 0),
            ("", "pod", 3),
            ("pod", "", 3),
            ("pods", "pod", 1),
            ("deploymnets", "deployments", 1),
            ("kitten", "sitting", 3),
            ("ab", "ba", 1),
        ] {
            assert_eq!(edits(from, to), count, "{from} {to}");
        }
    }
}
