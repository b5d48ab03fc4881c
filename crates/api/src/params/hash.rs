use domain::B256;
use utoipa::IntoParams;

use super::{Query, address::parse_bytes, path::FromPathSegment};
use crate::{error::ApiError, wire::AnyCaseHash};

pub(super) fn parse_hash(text: &str) -> Option<B256> {
    parse_bytes(text).map(B256::new)
}

const RULE: &str = "must be 0x and 64 hexadecimal digits";

impl Query {
    pub(crate) fn find_hash(&self, field: &'static str) -> Result<Option<B256>, ApiError> {
        let read = |text| parse_hash(text).ok_or(ApiError::InvalidParameter { field, rule: RULE });
        self.find(field)?.map(read).transpose()
    }
}

/// The hash of a transaction in a path, for the OpenAPI document.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "only documentation: `ValidPath<B256>` parses the value")]
pub(crate) struct TransactionInPath {
    #[param(value_type = AnyCaseHash)]
    hash: B256,
}

impl FromPathSegment for B256 {
    const FIELD: &'static str = "hash";

    fn from_segment(segment: &str) -> Result<Self, ApiError> {
        parse_hash(segment).ok_or(ApiError::InvalidParameter { field: Self::FIELD, rule: RULE })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_parsed_in_any_letter_case() {
        assert_eq!(B256::from_segment(&format!("0x{}", "aB".repeat(32))).unwrap(), B256::repeat_byte(0xab));
    }

    #[test]
    fn an_invalid_hash_is_rejected_by_name() {
        for text in ["", "17", "ab", &"ab".repeat(32), &format!("0x{}", "ab".repeat(31)), "0x"] {
            let problem = B256::from_segment(text).unwrap_err().problem();
            assert_eq!((problem.status, problem.field.as_deref()), (400, Some("hash")), "{text:?}");
        }
    }
}
