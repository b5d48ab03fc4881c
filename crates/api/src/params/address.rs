use alloy_primitives::hex;
use domain::Address;
use utoipa::IntoParams;

use super::{FromQuery, Query, path::FromPathSegment};
use crate::{error::ApiError, wire::AnyCaseAddress};

const FIELD: &str = "address";

/// Parses `0x` and 40 hex digits in any letter case. A wrong EIP-55 checksum is accepted.
pub(crate) fn parse_address(field: &'static str, text: &str) -> Result<Address, ApiError> {
    parse_bytes(text)
        .map(Address::new)
        .ok_or(ApiError::InvalidParameter { field, rule: "must be 0x and 40 hexadecimal digits" })
}

/// Parses `0x` and exactly the digits of `N` bytes.
pub(super) fn parse_bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    hex::decode_to_array(text.strip_prefix("0x").filter(|digits| digits.len() == 2 * N)?).ok()
}

/// The address in a path, for the OpenAPI document.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "only documentation: `ValidPath<Address>` parses the value")]
pub(crate) struct AddressInPath {
    #[param(value_type = AnyCaseAddress)]
    address: Address,
}

/// Parameters of routes that list an owner's resources.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct OwnerParams {
    #[param(value_type = AnyCaseAddress)]
    pub(crate) owner: Address,
}

impl FromQuery for OwnerParams {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        const OWNER: &str = "owner";
        let owner = query.find(OWNER)?.ok_or(ApiError::MissingField { field: OWNER })?;
        Ok(Self { owner: parse_address(OWNER, owner)? })
    }
}

impl FromPathSegment for Address {
    const FIELD: &'static str = FIELD;

    fn from_segment(segment: &str) -> Result<Self, ApiError> {
        parse_address(FIELD, segment)
    }
}

impl Query {
    pub(crate) fn find_address(&self) -> Result<Option<Address>, ApiError> {
        self.find_address_named(FIELD)
    }

    pub(crate) fn find_address_named(&self, field: &'static str) -> Result<Option<Address>, ApiError> {
        self.find(field)?.map(|text| parse_address(field, text)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letter_case_does_not_matter() {
        let lower = parse_address(FIELD, "0xd8da6bf26964af9d7eed9e03e53415d37aa96045").unwrap();
        let checksummed = parse_address(FIELD, "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045").unwrap();
        let badly_checksummed = parse_address(FIELD, "0xD8dA6BF26964aF9D7eEd9e03E53415D37aA96045").unwrap();
        let upper = parse_address(FIELD, "0xD8DA6BF26964AF9D7EED9E03E53415D37AA96045").unwrap();
        assert!([checksummed, badly_checksummed, upper].iter().all(|address| *address == lower));
    }

    #[test]
    fn an_invalid_address_is_rejected_by_name() {
        let digits = "d8da6bf26964af9d7eed9e03e53415d37aa96045";
        for text in [
            "",
            "0x",
            digits,
            &format!("0X{digits}"),
            &format!("0x{digits}0"),
            &format!("0x{}", &digits[1..]),
            &format!("0x{}g", &digits[1..]),
            &format!("0x0x{}", &digits[2..]),
            &format!(" 0x{digits}"),
            &format!("0x{}\u{e9}", &digits[2..]),
        ] {
            let problem = parse_address(FIELD, text).unwrap_err().problem();
            assert_eq!((problem.status, problem.field.as_deref()), (400, Some("address")), "{text:?}");
        }
    }
}
