use domain::BlockId;
use utoipa::IntoParams;

use super::{hash::parse_hash, path::FromPathSegment, whole_number::parse_whole_number};
use crate::error::ApiError;

/// The block in a path, for the OpenAPI document.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "only documentation: `ValidPath<BlockId>` parses the value")]
pub(crate) struct BlockInPath {
    /// A hash may be in any letter case
    #[param(rename = "numberOrHash", value_type = String, pattern = "^([0-9]+|0x[0-9a-fA-F]{64})$", example = "21000000")]
    id: BlockId,
}

impl FromPathSegment for BlockId {
    const FIELD: &'static str = "numberOrHash";

    fn from_segment(segment: &str) -> Result<Self, ApiError> {
        // A number beyond 64 bits becomes the largest one, which no chain reaches: not found.
        parse_whole_number(segment).map(Self::Number).or_else(|| parse_hash(segment).map(Self::Hash)).ok_or(
            ApiError::InvalidParameter {
                field: Self::FIELD,
                rule: "must be a block number, or 0x and 64 hexadecimal digits",
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use domain::B256;

    use super::*;

    #[test]
    fn a_block_id_is_a_number_or_a_hash() {
        assert_eq!(BlockId::from_segment("0").unwrap(), BlockId::Number(0));
        assert_eq!(BlockId::from_segment("21000000").unwrap(), BlockId::Number(21_000_000));
        assert_eq!(BlockId::from_segment("99999999999999999999999").unwrap(), BlockId::Number(u64::MAX));
        let hash = format!("0x{}", "Ab".repeat(32));
        assert_eq!(BlockId::from_segment(&hash).unwrap(), BlockId::Hash(B256::repeat_byte(0xab)));
    }

    #[test]
    fn anything_else_is_rejected_by_name() {
        for text in ["-1", "1.5", "latest", "0x10", "", "0x"] {
            let problem = BlockId::from_segment(text).unwrap_err().problem();
            assert_eq!((problem.status, problem.field.as_deref()), (400, Some("numberOrHash")), "{text:?}");
        }
    }
}
