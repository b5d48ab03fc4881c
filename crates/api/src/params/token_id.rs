use axum::{
    extract::{FromRequestParts, Path},
    http::request::Parts,
};
use domain::{Address, U256};
use utoipa::IntoParams;

use super::path::FromPathSegment;
use crate::{
    error::ApiError,
    wire::{AnyCaseAddress, Decimal},
};

const FIELD: &str = "id";

/// A token and one of its ids in a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct TokenIdPath {
    #[param(rename = "address", value_type = AnyCaseAddress)]
    pub(crate) token: Address,
    /// Below 2^256
    #[param(value_type = Decimal, example = "1")]
    pub(crate) id: U256,
}

impl<S: Send + Sync> FromRequestParts<S> for TokenIdPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Ok(Path((token, id))) = Path::<(String, String)>::from_request_parts(parts, state).await else {
            return Err(ApiError::MalformedUrl { field: None });
        };
        let token = Address::from_segment(&token)?;
        let rule = "must be a whole number below 2^256";
        let id = parse_token_id(&id).ok_or(ApiError::InvalidParameter { field: FIELD, rule })?;
        Ok(Self { token, id })
    }
}

/// Parses a whole number of up to 256 bits: only digits.
fn parse_token_id(text: &str) -> Option<U256> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    U256::from_str_radix(text, 10).ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_whole_number_of_256_bits() {
        assert_eq!(parse_token_id("0"), Some(U256::ZERO));
        assert_eq!(parse_token_id("0007"), Some(U256::from(7)));
        assert_eq!(parse_token_id(&U256::MAX.to_string()), Some(U256::MAX));
        let above = "115792089237316195423570985008687907853269984665640564039457584007913129639936";
        for text in ["", "-1", "+1", " 1", "1.0", "1e3", "0x1", "1_0", "\u{0665}", above] {
            assert_eq!(parse_token_id(text), None, "{text:?}");
        }
    }
}
