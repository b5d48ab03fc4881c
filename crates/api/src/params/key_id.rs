use domain::ApiKeyId;

use super::{path::FromPathSegment, whole_number::parse_whole_number};
use crate::error::ApiError;

/// The id of a key in a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyIdParam(pub(crate) ApiKeyId);

impl FromPathSegment for KeyIdParam {
    const FIELD: &'static str = "id";

    fn from_segment(segment: &str) -> Result<Self, ApiError> {
        let id = parse_whole_number(segment);
        id.map(Self).ok_or(ApiError::InvalidParameter { field: Self::FIELD, rule: "must be a whole number" })
    }
}
