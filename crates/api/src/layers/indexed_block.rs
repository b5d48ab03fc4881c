//! Which block a response of the index stands for, and requests for a response of at least some block. With several
//! processes that serve, a client that passes on the block of its last response never sees the chain go back.

use std::{collections::BTreeSet, pin::Pin, sync::Arc, time::Duration};

use axum::http::{HeaderMap, HeaderName};
use domain::BlockNumber;
use store::{ChainReader, StoreError};
use tokio::time::Instant;

use crate::{
    error::ApiError,
    response_cache::{BLOCK, MinBlock},
};

/// The oldest block that the response may stand for.
pub(crate) const MIN_BLOCK: HeaderName = HeaderName::from_static("x-explorer-min-block");
/// How long a request waits for a block.
const MAX_WAIT: Duration = Duration::from_secs(1);
/// Between two lookups of the tip.
const POLL: Duration = Duration::from_millis(20);
const API: &str = "/api/v1/";
/// The resources that are read from the index, such as `blocks`.
#[derive(Debug, Default)]
pub(crate) struct IndexResources(BTreeSet<String>);

impl IndexResources {
    /// `patterns` are those of routes below `/api/v1`.
    pub(crate) fn of<'a>(patterns: impl Iterator<Item = &'a str>) -> Self {
        Self(patterns.filter_map(|pattern| pattern.split('/').nth(1).map(str::to_owned)).collect())
    }

    pub(crate) fn contain(&self, path: &str) -> bool {
        let resource = path.strip_prefix(API).and_then(|path| path.split('/').next());
        resource.is_some_and(|resource| self.0.contains(resource))
    }
}

type FoundTip = Pin<Box<dyn Future<Output = Result<Option<BlockNumber>, StoreError>> + Send>>;

pub(crate) struct IndexedBlock {
    resources: IndexResources,
    /// Of what was shown, or at least a block if any copy of the index has that one.
    find_tip: Box<dyn Fn(Option<BlockNumber>) -> FoundTip + Send + Sync>,
}

impl IndexedBlock {
    pub(crate) fn new(chain: Arc<dyn ChainReader>, resources: IndexResources) -> Self {
        let find_tip = move |wanted| -> FoundTip {
            let chain = Arc::clone(&chain);
            Box::pin(async move {
                match wanted {
                    Some(wanted) => Ok(chain.find_tip_at_least(wanted).await?.map(|tip| tip.number)),
                    None => chain.find_shown_tip().await,
                }
            })
        };
        Self { resources, find_tip: Box::new(find_tip) }
    }

    /// Of an empty index.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        let find_tip = |_| -> FoundTip { Box::pin(std::future::ready(Ok(None))) };
        Self { resources: IndexResources::default(), find_tip: Box::new(find_tip) }
    }

    pub(super) fn is_read_at(&self, path: &str) -> bool {
        self.resources.contain(path)
    }

    /// Waits until the index has the block that a request needs at least.
    pub(super) async fn wait_for_requested(&self, headers: &HeaderMap) -> Result<MinBlock, ApiError> {
        let Some(wanted) = requested(headers)? else { return Ok(MinBlock::ANY) };
        let started = Instant::now();
        while (self.find_tip)(Some(wanted)).await? < Some(wanted) {
            if started.elapsed() >= MAX_WAIT {
                return Err(ApiError::BlockNotReached { wanted });
            }
            tokio::time::sleep(POLL).await;
        }
        Ok(MinBlock::at_least(wanted))
    }

    /// Names the tip after the response was rendered, so that the response shows no newer block.
    pub(super) async fn write_header(&self, headers: &mut HeaderMap) {
        if let Ok(Some(tip)) = (self.find_tip)(None).await {
            headers.insert(BLOCK, tip.into());
        }
    }
}

fn requested(headers: &HeaderMap) -> Result<Option<BlockNumber>, ApiError> {
    let Some(value) = headers.get(MIN_BLOCK) else { return Ok(None) };
    let invalid = ApiError::InvalidParameter { field: "X-Explorer-Min-Block", rule: "must be a block number" };
    let digits = value.to_str().ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    match digits.and_then(|digits| digits.parse().ok()) {
        Some(number) => Ok(Some(number)),
        None => Err(invalid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_block_numbers_are_accepted() {
        let parse = |text: &'static str| requested(&HeaderMap::from_iter([(MIN_BLOCK, text.parse().unwrap())]));
        assert_eq!(parse("18446744073709551615").unwrap(), Some(u64::MAX));
        assert_eq!(requested(&HeaderMap::new()).unwrap(), None);
        for text in ["", "-1", "+1", "0x10", "1.5", "18446744073709551616"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
