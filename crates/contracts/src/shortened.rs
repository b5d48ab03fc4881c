/// Characters of a name out of a request or off the chain that a message repeats.
const SHOWN: usize = 80;

/// A name cut to what a message can hold.
#[must_use]
pub fn shortened(name: &str) -> String {
    match name.char_indices().nth(SHOWN) {
        None => name.to_owned(),
        Some((end, _)) => format!("{}...", name.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_length_are_cut() {
        assert_eq!(shortened("Coin"), "Coin");
        assert_eq!(shortened(&"é".repeat(SHOWN)), "é".repeat(SHOWN));
        assert_eq!(shortened(&"é".repeat(SHOWN + 1)), format!("{}...", "é".repeat(SHOWN)));
    }
}
