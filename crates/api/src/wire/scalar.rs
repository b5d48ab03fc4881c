use alloy_primitives::hex;
use domain::{B256, Balance, U256};
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

/// An address in lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(value_type = String, pattern = "^0x[0-9a-f]{40}$", example = "0x95222290dd7278aa3ddd389cc1e1d165cc4bafe5")]
pub struct Address(domain::Address);

impl From<domain::Address> for Address {
    fn from(address: domain::Address) -> Self {
        Self(address)
    }
}

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(hex::Buffer::<20, true>::new().format(&self.0))
    }
}

/// An address in any letter case.
#[derive(Debug, ToSchema)]
#[schema(value_type = String, pattern = "^0x[0-9a-fA-F]{40}$", example = "0x95222290dd7278aa3ddd389cc1e1d165cc4bafe5")]
pub struct AnyCaseAddress(pub domain::Address);

/// A hash in any letter case.
#[derive(Debug, ToSchema)]
#[schema(
    value_type = String,
    pattern = "^0x[0-9a-fA-F]{64}$",
    example = "0x88e96d4537bea4d9c05d12549907b32561d3bf31f45aae734cdc119f13406cb6"
)]
pub struct AnyCaseHash(pub B256);

/// The number of entries on all pages.
#[derive(Debug, ToSchema)]
#[schema(value_type = u64)]
pub struct Total(pub u64);

/// The receiver of a transaction in lower case; empty if it creates a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(value_type = String, pattern = "^(0x[0-9a-f]{40})?$", example = "0x95222290dd7278aa3ddd389cc1e1d165cc4bafe5")]
pub struct Receiver(Option<domain::Address>);

impl From<Option<domain::Address>> for Receiver {
    fn from(receiver: Option<domain::Address>) -> Self {
        Self(receiver)
    }
}

impl Serialize for Receiver {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(address) => Address(address).serialize(serializer),
            None => serializer.serialize_str(""),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(
    value_type = String,
    pattern = "^0x[0-9a-f]{64}$",
    example = "0x88e96d4537bea4d9c05d12549907b32561d3bf31f45aae734cdc119f13406cb6"
)]
pub struct Hash(B256);

impl From<B256> for Hash {
    fn from(hash: B256) -> Self {
        Self(hash)
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(hex::Buffer::<32, true>::new().format(&self.0))
    }
}

/// The first four bytes of the call data, which select a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(value_type = String, pattern = "^0x[0-9a-f]{8}$", example = "0xa9059cbb")]
pub struct Selector(domain::Selector);

impl From<domain::Selector> for Selector {
    fn from(selector: domain::Selector) -> Self {
        Self(selector)
    }
}

impl Serialize for Selector {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(hex::Buffer::<4, true>::new().format(&self.0))
    }
}

/// A whole number as a decimal string, since it may be too large for a JSON number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(value_type = String, pattern = "^(0|[1-9][0-9]*)$", example = "1000000000000000000")]
pub struct Decimal(Balance);

impl From<U256> for Decimal {
    fn from(number: U256) -> Self {
        Self(Balance::from(number))
    }
}

impl From<Balance> for Decimal {
    fn from(number: Balance) -> Self {
        Self(number)
    }
}

impl From<u64> for Decimal {
    fn from(number: u64) -> Self {
        Self(Balance::from(number))
    }
}

impl From<u128> for Decimal {
    fn from(number: u128) -> Self {
        Self(Balance::from(number))
    }
}

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The fast path: almost all numbers fit into 128 bits.
        match u128::try_from(self.0) {
            Ok(number) => serializer.serialize_str(itoa::Buffer::new().format(number)),
            Err(_) => serializer.collect_str(&self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{json, to_value};

    use super::*;

    #[test]
    fn addresses_and_hashes_are_lower_case_with_leading_zeros() {
        let address: domain::Address = "0x00000000219ab540356cBB839Cbe05303d7705Fa".parse().unwrap();
        assert_eq!(to_value(Address(address)).unwrap(), json!("0x00000000219ab540356cbb839cbe05303d7705fa"));
        assert_eq!(to_value(Hash(B256::ZERO)).unwrap(), json!(format!("0x{}", "0".repeat(64))));
        assert_eq!(to_value(Selector([0, 5, 0xab, 0xff])).unwrap(), json!("0x0005abff"));
    }

    #[test]
    fn the_receiver_of_a_creation_is_empty() {
        assert_eq!(to_value(Receiver(None)).unwrap(), json!(""));
        assert_eq!(
            to_value(Receiver(Some(domain::Address::ZERO))).unwrap(),
            json!("0x0000000000000000000000000000000000000000")
        );
    }

    #[test]
    fn large_numbers_are_exact_decimal_strings() {
        assert_eq!(
            to_value(Decimal::from(U256::MAX)).unwrap(),
            json!("115792089237316195423570985008687907853269984665640564039457584007913129639935")
        );
        assert_eq!(to_value(Decimal::from(0_u64)).unwrap(), json!("0"));
        assert_eq!(to_value(Decimal::from(u128::MAX)).unwrap(), json!(u128::MAX.to_string()));
    }
}
