//! A token: its transfers from and to an address.

use std::collections::BTreeSet;

use domain::{
    Address, Balance, BalanceKey, BalanceSource, BlockId, BlockNumber, BlockRange, Page, PageRequest, Token,
    TokenBalanceAt, Transfer, TransferFilter,
};
use futures::future::BoxFuture;
use store::{ChainReader, StoreError};

use super::{
    ATTEMPTS, Attempt, BalanceHistory, HistoryError, Inexact, Parts, READ_ENTRIES, movements::of_transfer, read_from,
};

/// The transfers of an address and those of a token are intersected if neither list is longer: stores take time in proportion.
const SHORT_LIST: u64 = 50_000;

/// The balance of an address in a token over time; None if the token is unknown.
pub fn token_history(
    chain: &dyn ChainReader,
    key: BalanceKey,
) -> BoxFuture<'_, Result<Option<BalanceHistory>, HistoryError>> {
    Box::pin(async move {
        for _ in 0..ATTEMPTS {
            if let Some(result) = attempt(chain, key).await?.result() {
                return Ok(result);
            }
        }
        Err(HistoryError::Reorg)
    })
}

async fn attempt(chain: &dyn ChainReader, key: BalanceKey) -> Result<Attempt, HistoryError> {
    let Some(TokenBalanceAt { token, balance, block: tip }) = chain.find_token_balance(key).await? else {
        return Ok(Attempt::NotFound);
    };
    let Some(end) = chain.find_block(BlockId::Hash(tip.hash)).await? else { return Ok(Attempt::Reorged) };
    let coverage = chain.coverage().await?;
    let mut inexact = BTreeSet::new();
    if token.balance_source == BalanceSource::Calls {
        inexact.insert(Inexact::BalancesFromContract);
    }
    if !coverage.is_complete() {
        inexact.insert(Inexact::PartialIndex);
    }
    let first = coverage.first_block.unwrap_or(end.number);
    let (complete_from, movements) = if key.holder == Address::ZERO {
        inexact.insert(Inexact::ZeroAddress);
        (end.number, Vec::new())
    } else {
        let read = read_transfers(chain, key, &token, end.number, first).await?;
        let movements = read.transfers.iter().map(|transfer| of_transfer(key.holder, transfer));
        (read.complete_from, movements.collect())
    };
    let balance = if key.holder == Address::ZERO { Balance::ZERO } else { balance };
    let token = Some(token);
    Parts { tip, token, balance, end, complete_from, movements, inexact, coverage }.history(chain).await
}

struct ReadTransfers {
    transfers: Vec<Transfer>,
    complete_from: BlockNumber,
    /// Length of the list.
    total: u64,
}

/// The newest transfers of a token from or to an address, as far back as a fixed number of entries reaches.
async fn read_transfers(
    chain: &dyn ChainReader,
    key: BalanceKey,
    token: &Token,
    end: BlockNumber,
    first: BlockNumber,
) -> Result<ReadTransfers, StoreError> {
    let blocks = BlockRange { from: None, to: Some(end) };
    let of_holder = TransferFilter { blocks, ..TransferFilter::touching(key.holder) };
    let by_holder = read_list(chain, key, of_holder, first).await?;
    if by_holder.total <= u64::from(READ_ENTRIES) {
        return Ok(by_holder);
    }
    if by_holder.total.max(token.transfer_count) <= SHORT_LIST {
        return read_list(chain, key, TransferFilter { token: Some(key.token), ..of_holder }, first).await;
    }
    let of_token = TransferFilter { token: Some(key.token), blocks, ..TransferFilter::default() };
    let by_token = read_list(chain, key, of_token, first).await?;
    Ok(if by_token.complete_from < by_holder.complete_from { by_token } else { by_holder })
}

/// The wanted ones among the newest transfers of a list.
async fn read_list(
    chain: &dyn ChainReader,
    key: BalanceKey,
    filter: TransferFilter,
    first: BlockNumber,
) -> Result<ReadTransfers, StoreError> {
    let Page { mut items, total } = chain.list_transfers(&filter, PageRequest::newest(READ_ENTRIES)).await?;
    let oldest = items.last().map(|transfer| transfer.block_number);
    let complete_from = read_from(oldest, items.len(), total, first);
    let wanted = TransferFilter { token: Some(key.token), ..TransferFilter::touching(key.holder) };
    items.retain(|transfer| wanted.matches(&transfer.event, transfer.block_number));
    Ok(ReadTransfers { transfers: items, complete_from, total })
}
