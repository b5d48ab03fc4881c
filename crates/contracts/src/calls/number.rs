use alloy_primitives::{I256, U256};

/// Parses a whole number: decimal digits, or 0x and hexadecimal digits. None if it is anything else or exceeds 256 bits.
pub(super) fn read_unsigned(text: &str) -> Option<U256> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        return plain.then(|| U256::from_str_radix(digits, 16).ok()).flatten();
    }
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| U256::from_str_radix(text, 10).ok()).flatten()
}

pub(super) fn read_signed(text: &str) -> Option<I256> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    if negative && digits.starts_with(['0', '-', '+']) && digits.contains(['x', 'X']) {
        return None;
    }
    let sign = if negative { alloy_primitives::Sign::Negative } else { alloy_primitives::Sign::Positive };
    I256::checked_from_sign_and_abs(sign, read_unsigned(digits)?)
}

/// Whether a number fits in `bits` bits.
pub(super) fn fits_unsigned(number: U256, bits: usize) -> bool {
    number.bit_len() <= bits
}

pub(super) fn fits_signed(number: I256, bits: usize) -> bool {
    // The complement of a negative number has the same magnitude bits, also for the minimum.
    let magnitude = if number.is_negative() { !number.into_raw() } else { number.into_raw() };
    magnitude.bit_len() < bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_of_any_size_are_parsed_exactly() {
        assert_eq!(
            read_unsigned("115792089237316195423570985008687907853269984665640564039457584007913129639935"),
            Some(U256::MAX)
        );
        assert_eq!(read_unsigned("0xff"), Some(U256::from(255)));
        assert_eq!(read_unsigned("0000007"), Some(U256::from(7)));
        for text in ["", "0x", "1.5", "1e18", "-1", "+1", " 1", "0xgg", "1_000", &"9".repeat(79)] {
            assert_eq!(read_unsigned(text), None, "{text}");
        }
        assert_eq!(read_signed("-1"), Some(I256::MINUS_ONE));
        assert_eq!(
            read_signed("-57896044618658097711785492504343953926634992332820282019728792003956564819968"),
            Some(I256::MIN)
        );
        assert_eq!(read_signed("57896044618658097711785492504343953926634992332820282019728792003956564819968"), None);
        assert_eq!(read_signed("-0x1"), None);
        assert_eq!(read_signed("--1"), None);
    }

    #[test]
    fn the_limits_of_a_type_fit_and_values_beyond_them_do_not() {
        assert!(fits_unsigned(U256::from(255), 8) && !fits_unsigned(U256::from(256), 8));
        let signed = |number: i64| I256::try_from(number).unwrap();
        assert!(fits_signed(signed(127), 8) && !fits_signed(signed(128), 8));
        assert!(fits_signed(signed(-128), 8) && !fits_signed(signed(-129), 8));
        assert!(fits_signed(I256::MIN, 256) && fits_signed(I256::MAX, 256));
    }
}
