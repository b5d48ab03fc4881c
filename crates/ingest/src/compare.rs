//! Compares an indexed block with the node's version.
//!
//! Compares data that follows from the block alone: header, transactions with their outcome, logs, transfers, and trades of
//! known pools. Derived data (balances, holders, names) is not compared.

use std::{
    collections::{HashMap, HashSet},
    fmt,
};

use alloy_primitives::U256;
use domain::{
    B256, Block, BlockId, BlockNumber, BlockRange, CreditEvent, CreditFilter, CreditSource, FetchedBlock, LogEvent,
    LogFilter, Order, Page, PageRequest, TokenKind, TradeEvent, TradeFilter, Transaction, TransactionFilter,
    TransferEvent, TransferFilter,
};
use node::{NodeClient, NodeError};
use store::{ChainReader, StoreError};

use crate::decode::{DecodedBlock, Transfers, decode_block};

/// Rows read per page.
const PAGE: u32 = 1_000;

#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("new blocks come faster than the comparison: try again")]
    Moving,
}

/// A difference between the index and the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    NotInIndex,
    NotAtNode,
    OtherBlock {
        stored: B256,
        node: B256,
    },
    /// A field of the header.
    Header(&'static str),
    TransactionCount {
        stored: usize,
        node: usize,
    },
    Transaction {
        index: u32,
        field: &'static str,
    },
    LogCount {
        stored: usize,
        node: usize,
    },
    Log {
        log_index: u32,
    },
    TransferCount {
        stored: usize,
        node: usize,
    },
    Transfer {
        log_index: u32,
    },
    Trade {
        log_index: u32,
    },
    /// Withdrawals, rewards, or what deposits brought.
    Credits,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInIndex => f.write_str("it is missing from the index"),
            Self::NotAtNode => f.write_str("it is missing at the node"),
            Self::OtherBlock { stored, node } => write!(f, "the index has block {stored}, the node {node}"),
            Self::Header(field) => write!(f, "the block's {field} differs"),
            Self::TransactionCount { stored, node } => {
                write!(f, "the index has {stored} transactions, the node {node}")
            }
            Self::Transaction { index, field } => write!(f, "the {field} of transaction {index} differs"),
            Self::LogCount { stored, node } => write!(f, "the index has {stored} logs, the node {node}"),
            Self::Log { log_index } => write!(f, "log {log_index} differs"),
            Self::TransferCount { stored, node } => write!(f, "the index has {stored} transfers, the node {node}"),
            Self::Transfer { log_index } => write!(f, "the transfer of log {log_index} differs"),
            Self::Trade { log_index } => write!(f, "the trade of log {log_index} differs"),
            Self::Credits => f.write_str("what the protocol paid differs"),
        }
    }
}

/// A block as indexed.
#[derive(Debug)]
struct StoredBlock {
    block: Block,
    transactions: Vec<Transaction>,
    logs: Vec<LogEvent>,
    transfers: Vec<TransferEvent>,
    trades: Vec<TradeEvent>,
    credits: Vec<CreditEvent>,
}

/// Compares one block. An empty list means that the index matches the node.
///
/// # Errors
/// If the node does not answer or returns invalid data, or if the store fails.
pub async fn compare_block(
    node: &NodeClient,
    reader: &dyn ChainReader,
    number: BlockNumber,
) -> Result<Vec<Difference>, CompareError> {
    let Some(stored) = stored_block(reader, number).await? else { return Ok(vec![Difference::NotInIndex]) };
    let Some(fetched) = node.find_block(number).await? else { return Ok(vec![Difference::NotAtNode]) };
    let FetchedBlock { block, .. } = &fetched;
    if block.hash != stored.block.hash {
        return Ok(vec![Difference::OtherBlock { stored: stored.block.hash, node: block.hash }]);
    }
    let decoded = decode_block(fetched, None);
    let mut differences: Vec<Difference> =
        stored.block.differences(&decoded.block).into_iter().map(Difference::Header).collect();
    differences.extend(transaction_differences(&stored.transactions, &decoded.transactions));
    differences.extend(log_differences(&stored.logs, &decoded.logs));
    differences.extend(transfer_differences(&stored.transfers, &decoded.transfers));
    if !are_same_credits(&stored.credits, &decoded.credits) {
        differences.push(Difference::Credits);
    }
    differences.extend(trade_differences(reader, &stored.trades, decoded).await?);
    Ok(differences)
}

/// What the first block grants is compared only if both know it, since it is in no block: an operator gives it.
fn are_same_credits(stored: &[CreditEvent], node: &[CreditEvent]) -> bool {
    let knows_genesis = |credits: &[CreditEvent]| credits.iter().any(|credit| credit.source == CreditSource::Genesis);
    let of_both = knows_genesis(stored) && knows_genesis(node);
    let is_compared = |credit: &&CreditEvent| of_both || credit.source != CreditSource::Genesis;
    stored.iter().filter(is_compared).eq(node.iter().filter(is_compared))
}

async fn stored_block(reader: &dyn ChainReader, number: BlockNumber) -> Result<Option<StoredBlock>, StoreError> {
    let Some(block) = reader.find_block(BlockId::Number(number)).await? else { return Ok(None) };
    let blocks = BlockRange::only(number);
    let filter = TransactionFilter { blocks, ..TransactionFilter::default() };
    let transactions = whole(async |page| reader.list_transactions(&filter, page).await).await?;
    let filter = LogFilter { blocks, ..LogFilter::default() };
    let logs = whole(async |page| Ok(reader.list_logs(&filter, page).await?.page)).await?;
    let filter = TransferFilter { blocks, ..TransferFilter::default() };
    let transfers = whole(async |page| reader.list_transfers(&filter, page).await).await?;
    let filter = TradeFilter { blocks, ..TradeFilter::default() };
    let trades = whole(async |page| reader.list_trades(&filter, page).await).await?;
    let filter = CreditFilter { blocks, ..CreditFilter::default() };
    let credits = whole(async |page| reader.list_credits(&filter, page).await).await?;
    Ok(Some(StoredBlock {
        block,
        transactions,
        logs: logs.into_iter().map(|log| log.event).collect(),
        transfers: transfers.into_iter().map(|transfer| transfer.event).collect(),
        trades: trades.into_iter().map(|trade| trade.event).collect(),
        credits: credits.into_iter().map(|credit| credit.event).collect(),
    }))
}

/// Reads all pages of a list.
async fn whole<T>(list: impl AsyncFn(PageRequest) -> Result<Page<T>, StoreError>) -> Result<Vec<T>, StoreError> {
    let mut all = Vec::new();
    loop {
        let page = list(PageRequest { offset: all.len() as u64, limit: PAGE, order: Order::OldestFirst }).await?;
        let is_last = page.items.is_empty();
        all.extend(page.items);
        if is_last || all.len() as u64 >= page.total {
            return Ok(all);
        }
    }
}

fn transaction_differences(stored: &[Transaction], node: &[Transaction]) -> Vec<Difference> {
    if stored.len() != node.len() {
        return vec![Difference::TransactionCount { stored: stored.len(), node: node.len() }];
    }
    let pairs = stored.iter().zip(node);
    let of_one = |(stored, node): (&Transaction, &Transaction)| {
        let index = node.index;
        stored.differences(node).into_iter().map(move |field| Difference::Transaction { index, field })
    };
    pairs.flat_map(of_one).collect()
}

fn log_differences(stored: &[LogEvent], node: &[LogEvent]) -> Vec<Difference> {
    if stored.len() != node.len() {
        return vec![Difference::LogCount { stored: stored.len(), node: node.len() }];
    }
    let differs = stored.iter().zip(node).filter(|(stored, node)| stored != node);
    differs.map(|(_, node)| Difference::Log { log_index: node.log_index }).collect()
}

fn transfer_differences(stored: &[TransferEvent], node: &Transfers) -> Vec<Difference> {
    if stored.len() != node.events.len() {
        return vec![Difference::TransferCount { stored: stored.len(), node: node.events.len() }];
    }
    let ambiguous: HashSet<usize> = node.ambiguous.iter().copied().collect();
    let differs = |(index, (stored, node)): (usize, (&TransferEvent, &TransferEvent))| {
        let same = stored == node || (ambiguous.contains(&index) && *stored == as_nft(node));
        (!same).then_some(Difference::Transfer { log_index: node.log_index })
    };
    stored.iter().zip(&node.events).enumerate().filter_map(differs).collect()
}

/// The same log decoded as an NFT transfer, which depends on a contract call that is not made here.
fn as_nft(amount: &TransferEvent) -> TransferEvent {
    TransferEvent { kind: TokenKind::Bep721, token_id: Some(amount.value), value: U256::ONE, ..*amount }
}

/// Every trade must be a swap of the block, and every swap of a known pool must be a trade. Unknown emitters are not
/// resolved.
async fn trade_differences(
    reader: &dyn ChainReader,
    stored: &[TradeEvent],
    decoded: DecodedBlock,
) -> Result<Vec<Difference>, StoreError> {
    let mut expected = HashMap::new();
    let mut missing = Vec::new();
    for swap in decoded.swaps {
        let known = stored.iter().any(|trade| trade.log_index == swap.log_index);
        if !known && reader.find_pool(swap.emitter).await?.is_some_and(|pool| pool.style == swap.style) {
            missing.push(Difference::Trade { log_index: swap.log_index });
        }
        expected.insert(swap.log_index, swap.into_trade());
    }
    let wrong = stored.iter().filter(|trade| expected.get(&trade.log_index) != Some(*trade));
    Ok(wrong.map(|trade| Difference::Trade { log_index: trade.log_index }).chain(missing).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::samples::{POOL, ROUTER, TOKEN};

    fn event(log_index: u32, value: u64) -> TransferEvent {
        TransferEvent {
            tx_index: 0,
            log_index,
            batch_index: 0,
            token: TOKEN,
            kind: TokenKind::Bep20,
            from: ROUTER,
            to: POOL,
            value: U256::from(value),
            token_id: None,
        }
    }

    #[test]
    fn an_ambiguous_transfer_matches_as_amount_or_nft() {
        let node = Transfers { events: vec![event(0, 7), event(1, 7)], ambiguous: vec![0] };
        assert_eq!(transfer_differences(&[event(0, 7), event(1, 7)], &node), []);
        assert_eq!(transfer_differences(&[as_nft(&event(0, 7)), event(1, 7)], &node), []);
        let differs = [Difference::Transfer { log_index: 1 }];
        assert_eq!(transfer_differences(&[event(0, 7), as_nft(&event(1, 7))], &node), differs);
        assert_eq!(transfer_differences(&[event(0, 7), event(1, 8)], &node), differs);
        assert_eq!(transfer_differences(&[event(0, 7)], &node), [Difference::TransferCount { stored: 1, node: 2 }]);
    }

    #[test]
    fn a_transaction_is_compared_field_by_field() {
        let tx = Transaction { index: 5, ..Transaction::sample() };
        assert_eq!(transaction_differences(std::slice::from_ref(&tx), std::slice::from_ref(&tx)), []);
        let failed = Transaction { succeeded: false, gas_used: 1, ..tx.clone() };
        let fields = ["status", "gas used"].map(|field| Difference::Transaction { index: 5, field });
        assert_eq!(transaction_differences(&[failed], std::slice::from_ref(&tx)), fields);
        assert_eq!(transaction_differences(&[], &[tx]), [Difference::TransactionCount { stored: 0, node: 1 }]);
    }
}
