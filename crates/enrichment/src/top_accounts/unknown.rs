//! Which accounts the index may not know.

use std::collections::BTreeSet;

use alloy_primitives::{Address, address};
use domain::{BlockId, BlockNumber, BlockRange, BlockRef, CreditFilter, CreditSource, Order, PageRequest, RewardRules};
use node::NodeClient;
use store::{ChainReader, StoreError};

use super::listing::UnknownAccounts;

/// Payments inside transactions are indexed behind the tip.
const RECENT_BLOCKS: u64 = 64;
/// Each block of an OP-stack chain begins with a deposit of this account. The fees go to vaults, which no transaction names.
const ROLLUP_DEPOSITOR: Address = address!("deaddeaddeaddeaddeaddeaddeaddeaddead0001");

/// What was found out so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Unknown {
    accounts: BTreeSet<UnknownAccounts>,
    /// These never change; None: not known yet.
    has_genesis: Option<bool>,
    is_found_by_work: Option<bool>,
}

impl Unknown {
    pub(super) fn accounts(&self) -> BTreeSet<UnknownAccounts> {
        self.accounts.clone()
    }

    /// For the list of the accounts of a block. Reads the index, and once the header of its first block.
    pub(super) async fn find(
        &mut self,
        node: &NodeClient,
        chain: &dyn ChainReader,
        listed: BlockRef,
    ) -> Result<(), StoreError> {
        let first = chain.coverage().await?.first_block.unwrap_or(listed.number);
        let is_traced = chain.stats().await?.traced_range.is_some_and(|range| {
            // The first block has no transactions.
            range.from <= first.max(1) && range.to.saturating_add(RECENT_BLOCKS) >= listed.number
        });
        if self.has_genesis.is_none() {
            self.has_genesis = Some(has_genesis(chain).await?);
        }
        if self.is_found_by_work.is_none() {
            self.is_found_by_work = is_found_by_work(node, chain, first).await?;
        }
        let is_rollup = chain.count_transactions(&[ROLLUP_DEPOSITOR]).await?.iter().any(|count| *count > 0);
        // A chain that does not tell may have any rules.
        let has_other_rewards =
            self.is_found_by_work != Some(false) && node.expected_chain().and_then(RewardRules::of).is_none();
        let found = [
            (UnknownAccounts::EarlierBlocks, first > 0),
            (UnknownAccounts::Genesis, self.has_genesis != Some(true)),
            (UnknownAccounts::InternalTransactions, !is_traced),
            (UnknownAccounts::ProtocolPayments, is_rollup || has_other_rewards),
        ];
        self.accounts = found.into_iter().filter_map(|(accounts, is_so)| is_so.then_some(accounts)).collect();
        Ok(())
    }
}

/// All of them are indexed with the first block, or none.
async fn has_genesis(chain: &dyn ChainReader) -> Result<bool, StoreError> {
    let filter = CreditFilter { blocks: BlockRange::only(0), ..CreditFilter::default() };
    let oldest = PageRequest { offset: 0, limit: 1, order: Order::OldestFirst };
    let found = chain.list_credits(&filter, oldest).await?.items;
    Ok(found.iter().any(|credit| credit.event.source == CreditSource::Genesis))
}

/// Whether the blocks of the index began with work, or with signatures in its place: None if the node does not tell.
async fn is_found_by_work(
    node: &NodeClient,
    chain: &dyn ChainReader,
    first: BlockNumber,
) -> Result<Option<bool>, StoreError> {
    // Block 0 may have any difficulty.
    let Some(block) = chain.find_block(BlockId::Number(first.max(1))).await? else { return Ok(None) };
    let header = node.find_block_header(block.id()).await.ok().flatten();
    Ok(header.and_then(|header| header.difficulty).map(|difficulty| !difficulty.is_zero()))
}
