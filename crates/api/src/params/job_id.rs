use domain::JobId;

use super::path::FromPathSegment;
use crate::error::ApiError;

impl FromPathSegment for JobId {
    const FIELD: &'static str = "id";

    fn from_segment(segment: &str) -> Result<Self, ApiError> {
        segment.parse().map_err(|_| ApiError::InvalidParameter { field: Self::FIELD, rule: "must be a UUID" })
    }
}
