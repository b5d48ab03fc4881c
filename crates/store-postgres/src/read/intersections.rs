//! Ids that several lists have in common. A range of blocks with few entries is walked for each query. A longer walk leaves what it found,
//! so that the next page is a seek: lists only grow, unless blocks are reverted.

use std::sync::Arc;

use domain::{BlockRange, BlockRef, Page, PageRequest};
use quick_cache::{Weighter, sync::Cache};
use store::{CacheUse, StoreError};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::{
    common::{Common, MISCOUNTED},
    spans::{Numbering, span},
    walk::Walk,
};
use crate::{
    database::find,
    rows::{RowExt, int8},
};

/// What is kept over all filters, in 32 MB.
const MAX_CACHED_IDS: u64 = 4_000_000;
const EXPECTED_FILTERS: usize = 1_000;
/// Blocks below the tip whose ids are not kept: a reorg seldom reverts more.
const UNKEPT_BLOCKS: i64 = 12;

/// Common ids, by filter.
#[derive(Debug)]
pub(crate) struct Intersections {
    found: Cache<String, Arc<CachedIntersection>, ByIds>,
    /// One long walk at a time, so that others have the connections.
    turn: Semaphore,
    step: i64,
}

/// Whether a query may walk far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LongWalks {
    /// It returns None instead.
    No,
    /// It has its turn.
    Yes,
}

/// The intersections, for one query.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lists<'a> {
    pub(crate) intersections: &'a Intersections,
    pub(crate) long_walks: LongWalks,
}

/// The common ids up to a block, from the beginning of the lists or of a range.
#[derive(Debug)]
struct CachedIntersection {
    upto: BlockRef,
    common: Common,
}

#[derive(Debug, Clone)]
struct ByIds;

impl Weighter<String, Arc<CachedIntersection>> for ByIds {
    fn weight(&self, filter: &String, found: &Arc<CachedIntersection>) -> u64 {
        // A filter without common ids takes memory, too.
        (filter.len() / size_of::<i64>() + 32 + found.common.weight()) as u64
    }
}

/// The state that a snapshot sees.
struct Now {
    end: i64,
    /// Whether the block of what was found before is still there.
    is_same_chain: bool,
    /// A block that is hardly reverted, and the end of its ids.
    settled: Option<(BlockRef, i64)>,
}

impl Intersections {
    /// `step`: entries of a list that are read at a time.
    pub(crate) fn new(step: u32) -> Self {
        let found = Cache::with_weighter(EXPECTED_FILTERS, MAX_CACHED_IDS, ByIds);
        Self { found, turn: Semaphore::new(1), step: step.into() }
    }

    pub(crate) fn uses(&self) -> CacheUse {
        CacheUse { cache: "intersections", hits: self.found.hits(), misses: self.found.misses() }
    }

    /// The memory of all that is kept, in ids.
    pub(crate) fn weight(&self) -> u64 {
        self.found.weight()
    }

    pub(crate) fn step(&self) -> i64 {
        self.step
    }

    /// Waits for the turn to walk far, without a connection.
    pub(crate) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.turn.acquire().await.ok()
    }
}

impl Lists<'_> {
    /// A page of the ids in a range of blocks; None if that takes a long walk. `filter` names what they have in common.
    pub(super) async fn page(
        self,
        walk: &Walk<'_>,
        numbering: Numbering,
        filter: String,
        blocks: BlockRange,
        page: PageRequest,
    ) -> Result<Option<Page<i64>>, StoreError> {
        let (low, high) = match blocks {
            BlockRange { from: None, to: None } => (0, i64::MAX),
            blocks => span(walk.client, numbering, blocks).await?.unwrap_or_default(),
        };
        let (filter, known) = self.known(filter, low);
        let Some(now) = Now::read(walk, numbering, known.as_deref()).await? else { return Ok(Some(Page::empty(0))) };
        let (mut known, high) = (known.filter(|_| now.is_same_chain), high.min(now.end));
        let end =
            |known: &Option<Arc<CachedIntersection>>| known.as_ref().map_or(low, |known| known.common.end().max(low));
        if !walk.is_short(end(&known), high).await? {
            if self.long_walks == LongWalks::No {
                return Ok(None);
            }
            while let Some((upto, settled)) = now.settled.filter(|(_, settled)| end(&known) < high.min(*settled)) {
                let mut common = known.map_or_else(|| Common::before(low), |known| known.common.clone());
                common.extend(walk, high.min(settled)).await?;
                let found = Arc::new(CachedIntersection { upto, common });
                // A walk that is cancelled is continued by the next query.
                self.intersections.found.insert(filter.clone(), Arc::clone(&found));
                known = Some(found);
            }
        }
        let new = walk.all(end(&known), high).await?;
        let Some(known) = known else { return Ok(Some(cut_page(&new, page))) };
        let (first, last) = (known.common.rank(walk, low).await?, known.common.rank(walk, high).await?);
        let old = last.saturating_sub(first);
        let total = old + new.len() as u64;
        let ranks: Vec<u64> = page.ranks(total).collect();
        let of_old = || ranks.iter().copied().filter(|rank| *rank < old);
        let (start, stop) = (of_old().min().unwrap_or(0), of_old().max().map_or(0, |rank| rank + 1));
        let listed = known.common.at(walk, first + start, first + stop).await?;
        let item = |rank: u64| match rank.checked_sub(old) {
            Some(rank) => new.get(usize::try_from(rank).ok()?).copied(),
            None => listed.get(usize::try_from(rank - start).ok()?).copied(),
        };
        let items = ranks.into_iter().map(|rank| item(rank).ok_or(MISCOUNTED)).collect::<Result<_, _>>()?;
        Ok(Some(Page { items, total }))
    }

    /// What was found from the beginning of the lists, if that leads to a range, or else from where it begins.
    fn known(self, filter: String, low: i64) -> (String, Option<Arc<CachedIntersection>>) {
        let found = &self.intersections.found;
        match found.get(&filter) {
            known if low == 0 => (filter, known),
            Some(whole) if whole.common.end() >= low => (filter, Some(whole)),
            _ => {
                let filter = format!("{filter} from {low}");
                let known = found.get(&filter);
                (filter, known)
            }
        }
    }
}

impl Now {
    /// None for an empty index.
    async fn read(
        walk: &Walk<'_>,
        numbering: Numbering,
        known: Option<&CachedIntersection>,
    ) -> Result<Option<Self>, StoreError> {
        let sql = format!(
            "select c.{0}s, exists (select 1 from block where number = $1 and hash = $2), s.number, s.hash, n.{0}s
            from chain c left join block s on s.number = c.tip_number - $3 left join block n on n.number = s.number + 1
            where c.tip_number is not null",
            numbering.name()
        );
        let (number, hash) = known.map(|known| (int8(known.upto.number), known.upto.hash.to_vec())).unzip();
        let Some(row) = find(walk.client, &sql, &[&number, &hash, &UNKEPT_BLOCKS]).await? else { return Ok(None) };
        let settled = row.option_block(2)?.zip(row.value(4)?);
        Ok(Some(Self { end: row.value(0)?, is_same_chain: row.value(1)?, settled }))
    }
}

/// A page of an ascending list.
pub(super) fn cut_page(ids: &[i64], page: PageRequest) -> Page<i64> {
    let total = ids.len() as u64;
    let item = |rank: u64| ids.get(usize::try_from(rank).ok()?).copied();
    Page { items: page.ranks(total).filter_map(item).collect(), total }
}
