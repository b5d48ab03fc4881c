/// Parses a whole number: only digits. A number too large for 64 bits becomes the largest one.
pub(super) fn parse_whole_number(text: &str) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_digits_is_a_whole_number() {
        assert_eq!(parse_whole_number("0"), Some(0));
        assert_eq!(parse_whole_number("0000000000000000000000000000007"), Some(7));
        assert_eq!(parse_whole_number("18446744073709551615"), Some(u64::MAX));
        assert_eq!(parse_whole_number("18446744073709551616"), Some(u64::MAX));
        assert_eq!(parse_whole_number(&"9".repeat(1000)), Some(u64::MAX));
    }

    #[test]
    fn anything_else_is_not_a_whole_number() {
        for text in ["", "-1", "+5", " 5", "5 ", "1.5", "1e3", "0x10", "abc", "\u{0665}", "1_000"] {
            assert_eq!(parse_whole_number(text), None, "{text:?}");
        }
    }
}
