//! Transfers and trades of one transaction. They are stored in the order of their transactions, so those of one are
//! found by binary search in the span of its block.

use std::ops::Range;

use domain::{B256, BlockRange, Page, TransactionEvents};
use store::StoreError;

use super::snapshot::ReadSnapshot;
use crate::keys::TxId;

impl ReadSnapshot {
    pub(crate) fn find_transaction_events(
        &self,
        hash: B256,
        offset: u64,
        limit: u32,
    ) -> Result<Option<TransactionEvents>, StoreError> {
        let Some((id, row)) = self.find_transaction_row(hash)? else { return Ok(None) };
        let block = BlockRange::only(row.block_number);
        let transfers = self.id_span(block, |totals| totals.transfers)?;
        let transfers = span_of(id, transfers, |transfer| Ok(self.transfer_row(transfer)?.tx))?;
        let trades = self.id_span(block, |totals| totals.trades)?;
        let trades = span_of(id, trades, |trade| Ok(self.trade_row(trade)?.tx))?;
        let part = |span: Range<u64>| {
            let start = span.start.saturating_add(offset).min(span.end);
            start..start.saturating_add(limit.into()).min(span.end)
        };
        Ok(Some(TransactionEvents {
            transfers: Page {
                total: transfers.end - transfers.start,
                items: part(transfers)
                    .map(|transfer| self.hydrate_transfer(self.transfer_row(transfer)?))
                    .collect::<Result<_, _>>()?,
            },
            trades: Page {
                total: trades.end - trades.start,
                items: part(trades)
                    .map(|trade| self.hydrate_trade(self.trade_row(trade)?))
                    .collect::<Result<_, _>>()?,
            },
        }))
    }
}

/// The part of a span that belongs to a transaction.
pub(super) fn span_of(
    tx: TxId,
    span: Range<u64>,
    tx_of: impl Fn(u64) -> Result<TxId, StoreError>,
) -> Result<Range<u64>, StoreError> {
    let first_after = |is_before: &dyn Fn(TxId) -> bool| {
        let (mut low, mut high) = (span.start, span.end);
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(tx_of(middle)?) { low = middle + 1 } else { high = middle }
        }
        Ok::<_, StoreError>(low)
    };
    Ok(first_after(&|other| other < tx)?..first_after(&|other| other <= tx)?)
}
