use std::fmt;

use alloy_primitives::{Address, B256, Bytes, U256, hex};
use serde::{
    Deserialize, Deserializer,
    de::{Error, Visitor},
};

/// A number of at most 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Quantity(pub(crate) u64);

/// A number of at most 128 bits: gas prices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Price(pub(crate) u128);

/// A number of at most 256 bits: values, balances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Wide(pub(crate) U256);

/// 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hash(pub(crate) B256);

/// 20 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Account20(pub(crate) Address);

/// Bytes of any length.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct HexBytes(pub(crate) Bytes);

/// Bytes returned by a contract. More than [`CappedBytes::MAX`] are skipped without decoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CappedBytes {
    Bytes(Bytes),
    TooMany,
}

impl CappedBytes {
    pub(crate) const MAX: usize = 64 << 10;
}

/// Bytes that a block does not depend on: unreadable ones count as missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct LooseBytes(Option<Bytes>);

impl LooseBytes {
    pub(crate) fn get(&self) -> Option<&Bytes> {
        self.0.as_ref()
    }
}

/// Records that a field exists, whatever its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Present;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
enum HexError {
    #[error("missing 0x prefix")]
    NoPrefix,
    #[error("invalid hex digit")]
    Digit,
    #[error("wrong number of hex digits")]
    Length,
    #[error("number too large for its field")]
    TooBig,
}

fn digits(text: &str) -> Result<&[u8], HexError> {
    let text = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).ok_or(HexError::NoPrefix)?;
    Ok(text.as_bytes())
}

/// Accepts leading zeros, which the standard forbids but nodes send, and a bare `0x` as zero.
fn significant(text: &str) -> Result<&[u8], HexError> {
    let digits = digits(text)?;
    let first = digits.iter().position(|digit| *digit != b'0');
    Ok(first.and_then(|first| digits.get(first..)).unwrap_or_default())
}

fn nibble(digit: u8) -> Result<u8, HexError> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        b'A'..=b'F' => Ok(digit - b'A' + 10),
        _ => Err(HexError::Digit),
    }
}

fn parse_u128(text: &str, max_digits: usize) -> Result<u128, HexError> {
    let digits = significant(text)?;
    if digits.len() > max_digits {
        return Err(HexError::TooBig);
    }
    digits.iter().try_fold(0, |number, digit| Ok((number << 4) | u128::from(nibble(*digit)?)))
}

fn parse_u64(text: &str) -> Result<u64, HexError> {
    u64::try_from(parse_u128(text, 16)?).map_err(|_| HexError::TooBig)
}

fn parse_u256(text: &str) -> Result<U256, HexError> {
    let digits = significant(text)?;
    if digits.len() > 64 {
        return Err(HexError::TooBig);
    }
    if digits.len() <= 16 {
        return digits
            .iter()
            .try_fold(0u64, |number, digit| Ok((number << 4) | u64::from(nibble(*digit)?)))
            .map(U256::from);
    }
    let mut padded = [b'0'; 64];
    for (place, digit) in padded.iter_mut().rev().zip(digits.iter().rev()) {
        *place = *digit;
    }
    let mut bytes = [0; 32];
    hex::decode_to_slice(padded, &mut bytes).map_err(|_| HexError::Digit)?;
    Ok(U256::from_be_bytes(bytes))
}

fn parse_fixed<const N: usize>(text: &str) -> Result<[u8; N], HexError> {
    let digits = digits(text)?;
    if digits.len() != 2 * N {
        return Err(HexError::Length);
    }
    let mut bytes = [0; N];
    hex::decode_to_slice(digits, &mut bytes).map_err(|_| HexError::Digit)?;
    Ok(bytes)
}

fn parse_bytes(text: &str) -> Result<Bytes, HexError> {
    let digits = digits(text)?;
    if digits.len() % 2 != 0 {
        return Err(HexError::Length);
    }
    // The decoder would skip a second 0x.
    if digits.starts_with(b"0x") {
        return Err(HexError::Digit);
    }
    hex::decode(digits).map(Bytes::from).map_err(|_| HexError::Digit)
}

fn parse_capped(text: &str) -> Result<CappedBytes, HexError> {
    if digits(text)?.len() > 2 * CappedBytes::MAX {
        return Ok(CappedBytes::TooMany);
    }
    parse_bytes(text).map(CappedBytes::Bytes)
}

fn parse_loosely(text: &str) -> Result<Option<Bytes>, HexError> {
    Ok(parse_bytes(text).ok())
}

/// Reads a hex string or, for numeric types, a JSON number, which a few nodes send.
macro_rules! from_hex {
    ($type:ident, $what:literal, $parse:expr $(, $number:expr)?) => {
        from_hex!($type as $type, $what, $parse $(, $number)?);
    };
    ($type:ident as $make:expr, $what:literal, $parse:expr $(, $number:expr)?) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Hex;
                impl Visitor<'_> for Hex {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($what)
                    }
                    fn visit_str<E: Error>(self, text: &str) -> Result<$type, E> {
                        $parse(text).map($make).map_err(|error| E::custom(format_args!("{error} in {}", $what)))
                    }
                    $(fn visit_u64<E: Error>(self, number: u64) -> Result<$type, E> {
                        Ok($type($number(number)))
                    })?
                }
                deserializer.deserialize_any(Hex)
            }
        }
    };
}

from_hex!(Quantity, "a quantity", parse_u64, std::convert::identity);
from_hex!(Price, "a price", |text| parse_u128(text, 32), u128::from);
from_hex!(Wide, "a big quantity", parse_u256, U256::from);
from_hex!(Hash, "a hash", |text| parse_fixed(text).map(B256::new));
from_hex!(Account20, "an address", |text| parse_fixed(text).map(Address::new));
from_hex!(HexBytes, "bytes", parse_bytes);
from_hex!(CappedBytes as std::convert::identity, "a contract's response", parse_capped);
from_hex!(LooseBytes, "bytes", parse_loosely, |_| None);

impl<'de> Deserialize<'de> for Present {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_zeros_and_a_bare_prefix_are_accepted() {
        assert_eq!(parse_u64("0x000000000000000000000000002a"), Ok(42));
        assert_eq!(parse_u64("0x"), Ok(0));
        assert_eq!(parse_u64("0x0"), Ok(0));
        assert_eq!(parse_u64("0xffffffffffffffff"), Ok(u64::MAX));
        assert_eq!(parse_u256(&format!("0x{}", "f".repeat(64))), Ok(U256::MAX));
        assert_eq!(parse_u256("0xfedcba9876543210"), Ok(U256::from(0xfedc_ba98_7654_3210_u64)));
        assert_eq!(parse_u256("0x1fedcba9876543210"), Ok(U256::from(0x1_fedc_ba98_7654_3210_u128)));
        assert_eq!(parse_u256("0x1000000000000000000000000000000ff"), Ok((U256::from(1) << 128) + U256::from(255)));
    }

    #[test]
    fn numbers_that_do_not_fit_are_rejected() {
        assert_eq!(parse_u64("0x10000000000000000"), Err(HexError::TooBig));
        assert_eq!(parse_u256(&format!("0x1{}", "0".repeat(64))), Err(HexError::TooBig));
    }

    #[test]
    fn invalid_hex_is_rejected() {
        assert_eq!(parse_u64("12"), Err(HexError::NoPrefix));
        assert_eq!(parse_u64("0x1g"), Err(HexError::Digit));
        for digits in [16, 17, 63, 64] {
            assert_eq!(parse_u256(&format!("0x{}g", "1".repeat(digits - 1))), Err(HexError::Digit), "{digits}");
            assert_eq!(parse_u256(&format!("0x0x{}", "1".repeat(digits - 2))), Err(HexError::Digit), "{digits}");
        }
        assert_eq!(parse_fixed::<2>("0x123"), Err(HexError::Length));
        assert_eq!(parse_bytes("0x123"), Err(HexError::Length));
        assert_eq!(parse_bytes("0xzz"), Err(HexError::Digit));
        assert_eq!(parse_bytes("0x0x12"), Err(HexError::Digit));
    }

    #[test]
    fn bytes_beyond_the_cap_are_skipped() {
        let hex = |bytes: usize| format!("0x{}", "ab".repeat(bytes));
        let max = CappedBytes::MAX;
        assert_eq!(parse_capped(&hex(max)), Ok(CappedBytes::Bytes(vec![0xab; max].into())));
        assert_eq!(parse_capped(&hex(max + 1)), Ok(CappedBytes::TooMany));
        assert_eq!(parse_capped("0x"), Ok(CappedBytes::Bytes(Bytes::new())));
    }

    #[test]
    fn unreadable_loose_bytes_count_as_missing() {
        assert_eq!(parse_loosely("0xab01"), Ok(Some(Bytes::from_static(&[0xab, 0x01]))));
        assert_eq!(parse_loosely("0x0"), Ok(None));
        assert_eq!(parse_loosely("none"), Ok(None));
    }
}
