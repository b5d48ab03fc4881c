/// Characters of an untrusted name that a message repeats.
const MAX_CHARACTERS: usize = 80;

/// A name truncated for use in a message.
#[must_use]
pub fn shortened(name: &str) -> String {
    match name.char_indices().nth(MAX_CHARACTERS) {
        None => name.to_owned(),
        Some((end, _)) => format!("{}...", name.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_truncated() {
        assert_eq!(shortened("Coin"), "Coin");
        assert_eq!(shortened(&"é".repeat(MAX_CHARACTERS)), "é".repeat(MAX_CHARACTERS));
        assert_eq!(shortened(&"é".repeat(MAX_CHARACTERS + 1)), format!("{}...", "é".repeat(MAX_CHARACTERS)));
    }
}
