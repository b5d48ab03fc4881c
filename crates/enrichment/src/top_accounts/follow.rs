//! Reads balances: of all addresses in passes, and of those that new blocks touch.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use domain::{Address, AddressOrigin, BlockId, BlockNumber, BlockRef, U256};
use node::{BALANCES_PER_CALL, NodeClient, NodeError};
use store::{ChainReader, StoreError};
use tokio::time::Instant;

use super::{
    listing::{AccountListing, LISTED, RankedAccount},
    ranking::Ranking,
    touched,
    unknown::Unknown,
};

/// Accounts that are kept, so that some may become poor before another pass is needed.
const KEPT: usize = 10_000;
/// Between updates: on a chain with faster blocks, one call is for several of them.
const UPDATE_EVERY: Duration = Duration::from_secs(3);
/// More new blocks than these are not followed: another pass costs less.
const MAX_NEW_BLOCKS: u64 = 256;
/// How far before the first block that is read a reorg may go back.
const DEPTH_AT_START: u64 = 64;
/// Updates and touched addresses that are remembered for reorgs.
const REMEMBERED_UPDATES: usize = 256;
const REMEMBERED_ADDRESSES: usize = 200_000;
/// A node without access lists of blocks is asked for one again after as many: forks bring them.
const ASK_FOR_LISTS_AFTER: u64 = 100;
/// Balances also change in ways that the index does not see, such as withdrawals of validators.
const PASS_EVERY: Duration = Duration::from_secs(7 * 86_400);
/// Without traces, payments by contracts are among them.
const UNTRACED_PASS_EVERY: Duration = Duration::from_secs(86_400);

#[derive(Debug, thiserror::Error)]
pub(super) enum FollowError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error("the chain changed while its blocks were read")]
    Reorg,
}

/// What a step did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Balances at a new block.
    Updated,
    /// A part of a pass.
    Read,
    Nothing,
}

/// A pass over all addresses.
#[derive(Debug, Clone)]
struct Pass {
    ranking: Ranking,
    /// The next positions.
    blocks: u64,
    internal: u64,
    /// Addresses that are only known from internal transactions.
    internal_read: u64,
    started: Instant,
}

impl Pass {
    fn new() -> Self {
        Self { ranking: Ranking::new(KEPT), blocks: 0, internal: 0, internal_read: 0, started: Instant::now() }
    }

    fn set(&mut self, balances: &[(Address, U256)]) {
        balances.iter().for_each(|(address, balance)| self.ranking.set(*address, *balance));
    }
}

/// A block, and where the addresses up to it end.
#[derive(Debug, Clone, Copy)]
struct Mark {
    block: BlockRef,
    addresses: u64,
}

/// An update, and what has to be read again if its block is reverted.
#[derive(Debug)]
struct Update {
    mark: Mark,
    touched: Vec<Address>,
}

pub(super) struct Follower {
    node: NodeClient,
    chain: Arc<dyn ChainReader>,
    /// Shown.
    current: Pass,
    /// Replaces the current pass once it is complete.
    next: Option<Pass>,
    is_complete: bool,
    /// The kept accounts were read at a block that is too old.
    is_stale: bool,
    /// The newest is the block at which all kept accounts have their balances; empty before the first block.
    updates: VecDeque<Update>,
    updated: Option<Instant>,
    /// Whose internal transactions were followed.
    internal_to: BlockNumber,
    is_traced: bool,
    /// How many addresses there are in internal transactions.
    internal_end: u64,
    unknown: Unknown,
    /// The node had no access lists at this block.
    without_lists: Option<BlockNumber>,
}

impl Follower {
    pub(super) fn new(node: NodeClient, chain: Arc<dyn ChainReader>) -> Self {
        Self {
            node,
            chain,
            current: Pass::new(),
            next: None,
            is_complete: false,
            is_stale: false,
            updates: VecDeque::new(),
            updated: None,
            internal_to: 0,
            is_traced: false,
            internal_end: 0,
            unknown: Unknown::default(),
            without_lists: None,
        }
    }

    /// Updates the balances if there is a new block, otherwise continues a pass.
    pub(super) async fn step(&mut self) -> Result<Step, FollowError> {
        let Some(tip) = self.chain.find_tip().await? else { return Ok(Step::Nothing) };
        let is_due = self.updated.is_none_or(|updated| updated.elapsed() >= UPDATE_EVERY);
        match self.updates.back().filter(|_| self.updated.is_some()) {
            Some(last) if last.mark.block == tip || !is_due => {
                let listed = last.mark.block;
                self.continue_pass_or_complete(listed).await
            }
            _ => self.update(tip).await.map(|()| Step::Updated),
        }
    }

    /// What was missing may become known without a new block: internal transactions are indexed behind the tip.
    async fn continue_pass_or_complete(&mut self, listed: BlockRef) -> Result<Step, FollowError> {
        let step = self.continue_pass().await?;
        let missing = self.unknown.accounts();
        if step != Step::Nothing || missing.is_empty() {
            return Ok(step);
        }
        self.unknown.find(&self.node, self.chain.as_ref(), listed).await?;
        Ok(if self.unknown.accounts() == missing { Step::Nothing } else { Step::Updated })
    }

    pub(super) fn listing(&self) -> AccountListing {
        let accounts = self.current.ranking.accounts().take(LISTED).zip(1..);
        let pass = self.next.as_ref().filter(|_| !self.is_complete).unwrap_or(&self.current);
        let all = self.updates.back().map_or(0, |last| last.mark.addresses) + self.internal_end;
        let percent = ((pass.blocks + pass.internal) * 100).checked_div(all).unwrap_or_default();
        AccountListing {
            accounts: accounts.map(|((address, balance), rank)| RankedAccount { rank, address, balance }).collect(),
            block: self.updates.back().filter(|_| self.updated.is_some()).map(|last| last.mark.block),
            is_complete: self.is_complete,
            unknown: self.unknown.accounts(),
            addresses_read: pass.blocks + pass.internal_read,
            percent: if self.is_complete { 100 } else { u8::try_from(percent.min(99)).unwrap_or_default() },
        }
    }

    /// Reads the next addresses of a pass at the block of the last update.
    async fn continue_pass(&mut self) -> Result<Step, FollowError> {
        let Some(mark) = self.updates.back().map(|last| last.mark) else { return Ok(Step::Nothing) };
        let pass = self.next.as_ref().unwrap_or(&self.current);
        let (origin, from, limit) = if pass.blocks < mark.addresses {
            // Not beyond the block: what is newer is touched by a later one.
            (AddressOrigin::Blocks, pass.blocks, limit(mark.addresses - pass.blocks))
        } else {
            (AddressOrigin::InternalTransactions, pass.internal, limit(u64::MAX))
        };
        let found = self.chain.list_known_addresses(origin, from, limit).await?;
        let balances = self.read(found.addresses, mark.block).await?;
        let pass = match &mut self.next {
            Some(next) => {
                self.current.set(&balances);
                next
            }
            None => &mut self.current,
        };
        pass.set(&balances);
        match origin {
            AddressOrigin::Blocks => pass.blocks = found.next,
            AddressOrigin::InternalTransactions => {
                pass.internal = found.next;
                pass.internal_read += balances.len() as u64;
                self.internal_end = found.end;
            }
        }
        let is_done = origin == AddressOrigin::InternalTransactions && found.next >= found.end;
        let was_done = self.is_complete && self.next.is_none();
        if is_done && !was_done {
            self.finish_pass();
            return Ok(Step::Read);
        }
        Ok(if found.next > from { Step::Read } else { Step::Nothing })
    }

    fn finish_pass(&mut self) {
        if let Some(next) = self.next.take() {
            self.current = next;
        }
        self.is_complete = true;
        let (addresses, elapsed) = (self.listing().addresses_read, self.current.started.elapsed());
        tracing::info!(addresses, ?elapsed, "read the balances of all addresses");
    }

    /// Reads what changed since the last update, and everything that is shown, at a new block.
    async fn update(&mut self, tip: BlockRef) -> Result<(), FollowError> {
        let canonical = self.count_canonical().await?;
        let base = canonical.checked_sub(1).and_then(|last| self.updates.get(last)).map(|update| update.mark);
        let base = base.filter(|base| tip.number.saturating_sub(base.block.number) <= MAX_NEW_BLOCKS);
        let (base, canonical) = match base {
            Some(base) => (base, canonical),
            None => (self.start_over(tip).await?, 1),
        };
        let mark = self.mark(tip.number).await?.ok_or(FollowError::Reorg)?;

        let mut touched: BTreeSet<Address> =
            self.updates.iter().skip(canonical).flat_map(|update| &update.touched).copied().collect();
        if base.block.number < tip.number {
            touched.extend(touched::by_blocks(self.chain.as_ref(), base.block.number + 1, tip.number).await?);
        }
        let mut late = BTreeSet::new();
        let internal_to = self.follow_internal(base.block.number, tip.number, &mut late).await?;
        let mut current = self.current.clone();
        let is_reorg = canonical < self.updates.len();
        if is_reorg {
            current.blocks = current.blocks.min(base.addresses);
        }
        if self.is_complete {
            self.add_new(&mut current, mark, &mut late).await?;
        }
        let mut unknown = self.unknown.clone();
        unknown.find(&self.node, self.chain.as_ref(), tip).await?;
        // Otherwise some of it may be of another branch.
        if mark.block != tip || !self.is_canonical(tip).await? {
            return Err(FollowError::Reorg);
        }

        // Only from balances of the block before on.
        let is_known = self.updated.is_some() && !self.is_stale && !is_reorg;
        let listed = if is_known { self.listed_balances(base.block.number, tip).await? } else { None };
        let is_listed = listed.is_some();
        let shown = if is_listed { 0 } else { LISTED };
        let mut balances: Vec<(Address, U256)> = listed.into_iter().flatten().collect();
        let mut read: BTreeSet<Address> = balances.iter().map(|(address, _)| *address).collect();
        current.set(&balances);
        // With lists, no other account has changed, so that only those are read that are new to the index.
        let mut missing = if is_listed { late.clone() } else { &touched | &late };
        touched.extend(read.iter().chain(&late));
        if self.is_stale {
            missing.extend(current.ranking.accounts().map(|(address, _)| address));
        }
        // Accounts may become shown only by what was read.
        loop {
            missing.extend(current.ranking.accounts().take(shown).map(|(address, _)| address));
            let addresses: Vec<Address> = missing.difference(&read).copied().collect();
            if addresses.is_empty() {
                break;
            }
            let found = self.read(addresses, tip).await?;
            current.set(&found);
            read.append(&mut missing);
            balances.extend(found);
        }

        if let Some(next) = &mut self.next {
            next.set(&balances);
            if is_reorg {
                next.blocks = next.blocks.min(base.addresses);
            }
        }
        (self.current, self.unknown) = (current, unknown);
        self.internal_to = internal_to;
        self.updates.truncate(canonical);
        self.updates.push_back(Update { mark, touched: touched.into_iter().collect() });
        self.forget_old();
        (self.updated, self.is_stale) = (Some(Instant::now()), false);
        self.start_pass_if_due();
        Ok(())
    }

    /// The balances that the blocks after another one changed, by their access lists (EIP-7928); None if the node does not serve them.
    async fn listed_balances(
        &mut self,
        after: BlockNumber,
        tip: BlockRef,
    ) -> Result<Option<BTreeMap<Address, U256>>, FollowError> {
        if self.without_lists.is_some_and(|block| tip.number < block.saturating_add(ASK_FOR_LISTS_AFTER)) {
            return Ok(None);
        }
        let mut balances = BTreeMap::new();
        for number in after + 1..=tip.number {
            let block = self.chain.find_block(BlockId::Number(number)).await?.ok_or(FollowError::Reorg)?;
            let Some(changed) = self.node.find_balance_changes(block.id()).await? else {
                self.without_lists = Some(tip.number);
                return Ok(None);
            };
            balances.extend(changed);
        }
        Ok(Some(balances).filter(|_| after < tip.number))
    }

    /// How many of the updates are of blocks that are still indexed.
    async fn count_canonical(&self) -> Result<usize, FollowError> {
        let mut canonical = self.updates.len();
        while let Some(update) = canonical.checked_sub(1).and_then(|last| self.updates.get(last)) {
            if self.is_canonical(update.mark.block).await? {
                break;
            }
            canonical -= 1;
        }
        Ok(canonical)
    }

    async fn is_canonical(&self, block: BlockRef) -> Result<bool, FollowError> {
        let found = self.chain.find_block(BlockId::Number(block.number)).await?;
        Ok(found.is_some_and(|found| found.hash == block.hash))
    }

    async fn mark(&self, number: BlockNumber) -> Result<Option<Mark>, FollowError> {
        let addresses = self.chain.find_address_position(number).await?;
        let block = self.chain.find_block(BlockId::Number(number)).await?;
        Ok(block.zip(addresses).map(|(block, addresses)| Mark { block: block.id(), addresses }))
    }

    /// Begins with a block before the tip, so that a reorg does not mean another pass. What is known is read again, and shown
    /// until a new pass is complete.
    async fn start_over(&mut self, tip: BlockRef) -> Result<Mark, FollowError> {
        let first = self.chain.coverage().await?.first_block.unwrap_or(tip.number);
        let start = tip.number.saturating_sub(DEPTH_AT_START).max(first);
        let mark = self.mark(start).await?.ok_or(FollowError::Reorg)?;
        if !self.updates.is_empty() {
            tracing::info!(block = tip.number, "reading the balances of all addresses again");
            (self.is_complete, self.is_stale, self.next) = (false, true, Some(Pass::new()));
        }
        let internal = self.chain.list_known_addresses(AddressOrigin::InternalTransactions, 0, 0).await?;
        self.updates = VecDeque::from([Update { mark, touched: Vec::new() }]);
        // Nothing is read at the first block: it is only for reorgs.
        self.updated = None;
        (self.internal_to, self.internal_end) = (start, internal.end);
        Ok(mark)
    }

    /// Adds the parties of internal transactions, which are indexed later than their blocks. Returns up to which block.
    async fn follow_internal(
        &mut self,
        base: BlockNumber,
        tip: BlockNumber,
        touched: &mut BTreeSet<Address>,
    ) -> Result<BlockNumber, FollowError> {
        let done = self.internal_to.min(base);
        let traced_range = self.chain.stats().await?.traced_range;
        // Without traces, blocks without transactions are known all the same, up to the first that has some.
        self.is_traced = traced_range.is_some_and(|range| range.to.saturating_add(MAX_NEW_BLOCKS) >= tip);
        let last = traced_range.map_or(done, |range| range.to.min(tip).min(done.saturating_add(MAX_NEW_BLOCKS)));
        if last <= done {
            return Ok(done);
        }
        touched.extend(touched::by_internal_transactions(self.chain.as_ref(), done + 1, last).await?);
        Ok(last)
    }

    /// Adds addresses that the index knows since the last update.
    async fn add_new(
        &mut self,
        pass: &mut Pass,
        mark: Mark,
        touched: &mut BTreeSet<Address>,
    ) -> Result<(), FollowError> {
        let new = limit(mark.addresses.saturating_sub(pass.blocks));
        let found = self.chain.list_known_addresses(AddressOrigin::Blocks, pass.blocks, new).await?;
        pass.blocks = found.next;
        touched.extend(found.addresses);
        let (internal, new) = (AddressOrigin::InternalTransactions, limit(u64::MAX));
        let found = self.chain.list_known_addresses(internal, pass.internal, new).await?;
        (pass.internal, self.internal_end) = (found.next, found.end);
        pass.internal_read += found.addresses.len() as u64;
        touched.extend(found.addresses);
        Ok(())
    }

    async fn read(&self, addresses: Vec<Address>, at: BlockRef) -> Result<Vec<(Address, U256)>, FollowError> {
        let mut balances = Vec::with_capacity(addresses.len());
        for part in addresses.chunks(BALANCES_PER_CALL) {
            let found = self.node.balances(part, at).await?;
            balances.extend(part.iter().copied().zip(found));
        }
        Ok(balances)
    }

    fn forget_old(&mut self) {
        let mut addresses: usize = self.updates.iter().map(|update| update.touched.len()).sum();
        while self.updates.len() > REMEMBERED_UPDATES || (addresses > REMEMBERED_ADDRESSES && self.updates.len() > 2) {
            addresses -= self.updates.pop_front().map_or(0, |update| update.touched.len());
        }
    }

    fn start_pass_if_due(&mut self) {
        let longest = if self.is_traced { PASS_EVERY } else { UNTRACED_PASS_EVERY };
        let is_due = self.current.ranking.is_shorter_than(LISTED) || self.current.started.elapsed() >= longest;
        if self.is_complete && self.next.is_none() && is_due {
            self.next = Some(Pass::new());
        }
    }
}

/// Addresses for one call.
fn limit(left: u64) -> u32 {
    u32::try_from(left).unwrap_or(u32::MAX).min(u32::try_from(BALANCES_PER_CALL).unwrap_or(u32::MAX))
}
