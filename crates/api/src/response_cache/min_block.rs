use axum::http::{HeaderMap, HeaderName};
use domain::BlockNumber;

/// The newest block that the response may show.
pub(crate) const BLOCK: HeaderName = HeaderName::from_static("x-explorer-block");

/// The oldest block that a response may stand for; None if any may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MinBlock(Option<BlockNumber>);

impl MinBlock {
    pub(crate) const ANY: Self = Self(None);

    pub(crate) fn at_least(block: BlockNumber) -> Self {
        Self(Some(block))
    }

    /// Whether a response with these headers stands for this block or a later one.
    pub(crate) fn is_met_by(self, headers: &HeaderMap) -> bool {
        let Self(Some(wanted)) = self else { return true };
        let block = headers.get(BLOCK).and_then(|block| block.to_str().ok()?.parse::<BlockNumber>().ok());
        block >= Some(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cached_response_must_have_the_block() {
        let headers = HeaderMap::from_iter([(BLOCK, 7.into())]);
        assert!(MinBlock(Some(7)).is_met_by(&headers) && !MinBlock(Some(8)).is_met_by(&headers));
        assert!(!MinBlock(Some(0)).is_met_by(&HeaderMap::new()) && MinBlock::ANY.is_met_by(&HeaderMap::new()));
    }
}
