use domain::{BlockNumber, BlockRange};
use utoipa::IntoParams;

use super::{FromQuery, Query};
use crate::error::ApiError;

/// The blocks that a list is about.
#[derive(Debug, Clone, Copy, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Blocks {
    #[param(rename = "blockFrom", value_type = Option<u64>, minimum = 0, example = 1)]
    from: Option<BlockNumber>,
    /// Inclusive.
    #[param(rename = "blockTo", value_type = Option<u64>, minimum = 0, example = 21_000_000)]
    to: Option<BlockNumber>,
}

impl Blocks {
    pub(crate) fn range(self) -> BlockRange {
        BlockRange { from: self.from, to: self.to }
    }
}

impl FromQuery for Blocks {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        Ok(Self { from: query.find_block_number("blockFrom")?, to: query.find_block_number("blockTo")? })
    }
}
