//! Ids that several lists have in common. Found once, they are kept, so that the next page is a seek: lists only grow, unless
//! blocks are reverted.

use std::sync::Arc;

use domain::{BlockRange, BlockRef, Page, PageRequest};
use quick_cache::{Weighter, sync::Cache};
use store::{CacheUse, StoreError};

use super::spans::{Numbering, span};
use crate::{
    database::{Connection, find},
    rows::RowExt,
};

/// Ids that are kept over all filters, in 32 MB.
const KEPT_IDS: u64 = 4_000_000;
const EXPECTED_FILTERS: usize = 1_000;
/// New entries of lists are intersected with each query until there are this many; then their result is kept, too.
const UNKEPT_IDS: i64 = 10_000;

/// Common ids, by filter.
#[derive(Debug)]
pub(crate) struct Intersections(Cache<String, Arc<Found>, ByIds>);

/// The common ids up to a block.
#[derive(Debug)]
struct Found {
    upto: BlockRef,
    /// Ids from here on are those of later blocks.
    end: i64,
    ids: Vec<i64>,
}

#[derive(Debug, Clone)]
struct ByIds;

impl Weighter<String, Arc<Found>> for ByIds {
    fn weight(&self, filter: &String, found: &Arc<Found>) -> u64 {
        // A filter without common ids takes memory, too.
        (filter.len() / size_of::<i64>() + 32 + found.ids.len()) as u64
    }
}

impl Default for Intersections {
    fn default() -> Self {
        Self(Cache::with_weighter(EXPECTED_FILTERS, KEPT_IDS, ByIds))
    }
}

/// The state that a snapshot sees.
struct Now {
    tip: BlockRef,
    end: i64,
    /// Whether the block of what was found before is still there.
    is_same_chain: bool,
}

impl Intersections {
    pub(crate) fn uses(&self) -> CacheUse {
        CacheUse { cache: "intersections", hits: self.0.hits(), misses: self.0.misses() }
    }

    /// A page of the ids in a range of blocks. `filter` names what they have in common, and `find` returns all of a span.
    pub(super) async fn page(
        &self,
        client: &dyn Connection,
        numbering: Numbering,
        filter: String,
        blocks: BlockRange,
        page: PageRequest,
        find: impl AsyncFnOnce(i64, i64) -> Result<Vec<i64>, StoreError>,
    ) -> Result<Page<i64>, StoreError> {
        let known = self.0.get(&filter);
        let Some(now) = Now::read(client, numbering, known.as_deref()).await? else { return Ok(Page::empty(0)) };
        let known = known.filter(|_| now.is_same_chain);
        let start = known.as_ref().map_or(0, |known| known.end);
        let new = if start < now.end { find(start, now.end).await? } else { Vec::new() };
        let old = known.as_ref().map(|known| known.ids.as_slice()).unwrap_or_default();
        let (low, high) = match blocks {
            BlockRange { from: None, to: None } => (0, now.end),
            blocks => span(client, numbering, blocks).await?.unwrap_or_default(),
        };
        let found = cut_page([within(old, low, high), within(&new, low, high)], page);
        if known.is_none() || now.end - start >= UNKEPT_IDS {
            let ids = [old, &new].concat();
            self.0.insert(filter, Arc::new(Found { upto: now.tip, end: now.end, ids }));
        }
        Ok(found)
    }
}

impl Now {
    /// None for an empty index.
    async fn read(
        client: &dyn Connection,
        numbering: Numbering,
        known: Option<&Found>,
    ) -> Result<Option<Self>, StoreError> {
        let sql = format!(
            "select tip_number, tip_hash, {}s, exists (select 1 from block where number = $1 and hash = $2) from chain
            where tip_number is not null",
            numbering.name()
        );
        let (number, hash) = known.map(|known| (known.upto.number, known.upto.hash)).unzip();
        let (number, hash) = (number.map(crate::rows::int8), hash.map(|hash| hash.to_vec()));
        let Some(row) = find(client, &sql, &[&number, &hash]).await? else { return Ok(None) };
        let tip = row.option_block(0)?.ok_or(StoreError::Corrupt("a chain without a tip"))?;
        Ok(Some(Self { tip, end: row.value(2)?, is_same_chain: row.value(3)? }))
    }
}

/// The part of ascending ids in a span.
fn within(ids: &[i64], low: i64, high: i64) -> &[i64] {
    let (start, end) = (ids.partition_point(|id| *id < low), ids.partition_point(|id| *id < high));
    ids.get(start..end).unwrap_or_default()
}

/// A page of two ascending lists, the second of which follows the first.
pub(super) fn cut_page([first, second]: [&[i64]; 2], page: PageRequest) -> Page<i64> {
    let total = (first.len() + second.len()) as u64;
    let item = |rank: u64| {
        let rank = usize::try_from(rank).ok()?;
        first.get(rank).or_else(|| second.get(rank - first.len())).copied()
    };
    Page { items: page.ranks(total).filter_map(item).collect(), total }
}

/// The common ids of two ascending lists.
pub(super) fn intersection(one: &[i64], other: &[i64]) -> Vec<i64> {
    let mut other = other.iter().peekable();
    let mut common = Vec::new();
    for id in one {
        while other.next_if(|candidate| *candidate < id).is_some() {}
        if other.peek() == Some(&id) {
            common.push(*id);
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use domain::Order;

    use super::*;

    #[test]
    fn an_intersection_has_the_common_ids() {
        assert_eq!(intersection(&[1, 3, 5, 7], &[0, 3, 4, 7, 9]), [3, 7]);
        assert!(intersection(&[1], &[]).is_empty());
        assert!(intersection(&[], &[1]).is_empty());
    }

    #[test]
    fn a_page_spans_what_was_known_and_what_is_new() {
        let page = |offset, limit, order| cut_page([&[1, 4, 6], &[8, 9]], PageRequest { offset, limit, order });
        assert_eq!(page(1, 3, Order::OldestFirst), Page { items: vec![4, 6, 8], total: 5 });
        assert_eq!(page(1, 3, Order::NewestFirst), Page { items: vec![8, 6, 4], total: 5 });
        assert_eq!(page(4, 10, Order::NewestFirst).items, [1]);
        assert_eq!(page(5, 10, Order::NewestFirst).items, [0_i64; 0]);
    }

    #[test]
    fn a_span_contains_its_first_id_and_not_its_end() {
        assert_eq!(within(&[1, 4, 6, 8], 4, 8), [4, 6]);
        assert!(within(&[1, 4], 5, 9).is_empty() && within(&[1, 4], 9, 5).is_empty());
    }
}
