//! Numbers with a check digit.

fn digits(text: &str) -> Vec<u32> {
    text.chars().filter_map(|c| c.to_digit(10)).collect()
}

/// A card number by its issuer's range and the Luhn sum; anything between the digits is skipped.
pub(super) fn is_credit_card(text: &str) -> bool {
    let digits = digits(text);
    let number = |count: usize| digits.iter().take(count).fold(0, |n, d| n * 10 + d);
    let issued = match digits.len() {
        13 => number(1) == 4,
        14 => matches!(number(3), 300..=305) || matches!(number(2), 36 | 38),
        15 => matches!(number(2), 34 | 37) || matches!(number(4), 2131 | 1800),
        16 => number(1) == 4 || matches!(number(2), 51..=55 | 35 | 65) || number(4) == 6011,
        _ => false,
    };
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, digit)| match at % 2 {
            0 => *digit,
            _ => digit * 2 / 10 + digit * 2 % 10,
        })
        .sum();
    issued && sum.is_multiple_of(10)
}

fn without_gaps(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_ascii_whitespace() && *c != '-')
        .collect()
}

pub(super) fn is_isbn10(text: &str) -> bool {
    let text = without_gaps(text);
    let value = |(at, c): (usize, char)| match c {
        'X' if at == 9 => Some(10),
        _ => c.to_digit(10),
    };
    let digits: Option<Vec<u32>> = text.chars().enumerate().map(value).collect();
    digits.is_some_and(|d| d.len() == 10 && (1..).zip(d).map(|(w, d)| w * d).sum::<u32>().is_multiple_of(11))
}

pub(super) fn is_isbn13(text: &str) -> bool {
    let text = without_gaps(text);
    let digits: Option<Vec<u32>> = text.chars().map(|c| c.to_digit(10)).collect();
    digits.is_some_and(|d| {
        d.len() == 13
            && [1, 3]
                .into_iter()
                .cycle()
                .zip(d)
                .map(|(w, d)| w * d)
                .sum::<u32>()
                .is_multiple_of(10)
    })
}
