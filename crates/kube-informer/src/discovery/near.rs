//! What a misspelt name may have meant.

use super::DiscoveredResource;

/// So many are told.
const MOST: usize = 3;
/// Longer names are not names of resources.
const LONGEST: usize = 63;
/// Below this length everything is near to everything.
const SHORTEST: usize = 3;

/// The resources whose names are spelt almost like a word, the nearest first.
pub(super) fn near_misses<'a>(
    word: &str,
    resources: impl Iterator<Item = &'a DiscoveredResource>,
) -> Vec<String> {
    if word.len() > LONGEST {
        return Vec::new();
    }
    let mut near: Vec<(usize, String)> = Vec::new();
    for resource in resources {
        let Some(distance) = distance(word, resource) else {
            continue;
        };
        let name = resource.to_string();
        match near.iter_mut().find(|(_, known)| *known == name) {
            Some((known, _)) => *known = distance.min(*known),
            None => near.push((distance, name)),
        }
    }
    near.sort_by_key(|(distance, _)| *distance);
    near.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// How far the nearest of a resource's names is, if that is near.
fn distance(word: &str, resource: &DiscoveredResource) -> Option<usize> {
    let kind = resource.names.kind.to_lowercase();
    let names = [&resource.names.plural, &resource.singular, &kind];
    let names = names.into_iter().chain(&resource.short_names);
    let most = if word.len() < SHORTEST {
        0
    } else {
        (word.len() / 3).min(3)
    };
    names
        .filter_map(|name| {
            let edits = edits(word, name);
            if edits <= most {
                Some(edits)
            } else {
                // The beginning of a name may have been meant for a short name.
                (word.len() >= SHORTEST && name.starts_with(word)).then_some(most + 1)
            }
        })
        .min()
}

/// How many letters have to be put in, left out, replaced, or swapped with their neighbour.
fn edits(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().collect();
    let to: Vec<char> = to.chars().collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (i, letter) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, wanted) in to.iter().enumerate() {
            let replaced = last[j] + usize::from(letter != wanted);
            let mut least = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *letter == to[j - 1] && from[i - 1] == *wanted {
                least = least.min(before_last[j - 1] + 1);
            }
            row.push(least);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[to.len()]
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
