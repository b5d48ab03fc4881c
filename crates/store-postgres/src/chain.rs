//! The row of the chain: its binding, its tip and its totals.

use domain::{BlockNumber, BlockRef, ChainIdentity};
use store::{ChainTotals, StoreError};

use crate::{
    database::{Connection, execute, get},
    numeric::Numeric,
    rows::{RowExt, int8},
};

/// The columns of [`ChainTotals`], of a block or of the chain.
pub(crate) const TOTALS: &str = "transactions, transfers, trades, addresses, tokens, filled_blocks, untraced_blocks, gas_prices, logs, \
     log_topics, log_sources, nfts, approvals, total_gas, fees, burnt_fees, contracts, active_addresses, \
     unpriced_transactions, credits";

/// The number of these columns.
pub(crate) const TOTALS_COUNT: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chain {
    pub(crate) identity: Option<ChainIdentity>,
    /// The first block to index, if the data is bound to a chain.
    pub(crate) start_block: Option<BlockNumber>,
    pub(crate) first_block: Option<BlockNumber>,
    pub(crate) tip: Option<BlockRef>,
    /// The lowest block that can be reverted.
    pub(crate) undo_first: Option<BlockNumber>,
    pub(crate) totals: ChainTotals,
}

impl Chain {
    pub(crate) async fn read(client: &dyn Connection) -> Result<Self, StoreError> {
        let sql = format!(
            "select chain_id, genesis_hash, start_block, first_block, tip_number, tip_hash, undo_first, {TOTALS} from chain"
        );
        let row = get(client, &sql, &[]).await?;
        Ok(Self {
            identity: row.option_chain(0)?,
            start_block: row.option_u64(2)?,
            first_block: row.option_u64(3)?,
            tip: row.option_block(4)?,
            undo_first: row.option_u64(6)?,
            totals: row.totals(7)?,
        })
    }

    /// Writes the tip and what belongs to it.
    pub(crate) async fn write(&self, client: &dyn Connection) -> Result<(), StoreError> {
        let ChainTotals {
            transactions,
            transfers,
            trades,
            addresses,
            tokens,
            filled_blocks,
            untraced_blocks,
            gas_prices,
            unpriced_transactions,
            logs,
            log_topics,
            log_sources,
            nfts,
            approvals,
            credits,
            gas_used,
            fees,
            burnt_fees,
            contracts,
            active_addresses,
        } = self.totals;
        execute(
            client,
            "update chain set first_block = $1, tip_number = $2, tip_hash = $3, undo_first = $4, transactions = $5,
                transfers = $6, trades = $7, addresses = $8, tokens = $9, filled_blocks = $10, untraced_blocks = $11,
                gas_prices = $12, logs = $13, log_topics = $14, log_sources = $15, nfts = $16, approvals = $17,
                total_gas = $18, fees = $19, burnt_fees = $20, contracts = $21, active_addresses = $22,
                unpriced_transactions = $23, credits = $24",
            &[
                &self.first_block.map(int8),
                &self.tip.map(|tip| int8(tip.number)),
                &self.tip.map(|tip| tip.hash.to_vec()),
                &self.undo_first.map(int8),
                &int8(transactions),
                &int8(transfers),
                &int8(trades),
                &int8(addresses),
                &int8(tokens),
                &int8(filled_blocks),
                &int8(untraced_blocks),
                &Numeric::from(gas_prices),
                &int8(logs),
                &int8(log_topics),
                &int8(log_sources),
                &int8(nfts),
                &int8(approvals),
                &int8(gas_used),
                &Numeric::from(fees),
                &Numeric::from(burnt_fees),
                &int8(contracts),
                &int8(active_addresses),
                &int8(unpriced_transactions),
                &int8(credits),
            ],
        )
        .await?;
        Ok(())
    }

    /// The lowest block that a revert can go to.
    pub(crate) fn oldest_revertible(&self) -> Option<BlockNumber> {
        let tip = self.tip?.number;
        let oldest = self.undo_first.map_or(tip, |first| first.saturating_sub(1));
        Some(oldest.max(self.first_block.unwrap_or_default()))
    }
}
