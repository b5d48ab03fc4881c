use super::sanitize_text;

/// The reason of a failure as a sentence of its own. Contracts choose it, so it is untrusted.
pub(crate) fn shown_reason(reason: &str, max: usize) -> String {
    let is_fragment = reason.starts_with("with the data ") || reason == "without a reason";
    let sentence = if is_fragment { format!("Reverted {reason}") } else { reason.to_owned() };
    sanitize_text(&sentence, max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_a_sentence_of_its_own() {
        assert_eq!(shown_reason("too late", 99), "too late");
        assert_eq!(shown_reason("without a reason", 99), "Reverted without a reason");
        assert_eq!(shown_reason("with the data 0x12", 20), "Reverted with the da…");
    }
}
