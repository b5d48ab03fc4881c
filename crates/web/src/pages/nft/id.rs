use domain::U256;

/// Parses a whole number of up to 256 bits.
pub(super) fn parse_id(text: &str) -> Option<U256> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    U256::from_str_radix(text, 10).ok().filter(|_| is_number)
}
