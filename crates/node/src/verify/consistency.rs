//! Joins a block with its receipts, and rejects those that do not belong together.

use alloy_primitives::{B256, U256};
use domain::{Block, BlockNumber, CreditEvent, CreditSource, FetchedBlock, Log, Transaction};

use super::{
    charges::{UnknownCharge, charges},
    transaction::is_deposit,
    withdrawals,
};
use crate::decode::{RawBlock, RawLog, RawReceipt, RawTransaction};

/// Why a block or its receipts are inconsistent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CheckError {
    #[error("requested block {requested}, got block {got}")]
    WrongNumber { requested: BlockNumber, got: BlockNumber },
    #[error("the header has no miner")]
    NoMiner,
    #[error("transaction {index} belongs to another block")]
    StrayTransaction { index: usize },
    #[error("{transactions} transactions, but {receipts} receipts")]
    ReceiptCount { transactions: usize, receipts: usize },
    #[error("receipt {index} belongs to another block")]
    StrayReceipt { index: usize },
    #[error("receipt {index} belongs to another transaction")]
    MismatchedReceipt { index: usize },
    #[error("receipt {index} has no status")]
    NoStatus { index: usize },
    #[error("neither transaction {index} nor its receipt tells the gas price")]
    NoGasPrice { index: usize },
    #[error("receipt {index} of a transaction with blobs has no blobGasPrice")]
    NoBlobPrice { index: usize },
    #[error("the feeCurrency of transaction {index} is no address")]
    FeeCurrency { index: usize },
    #[error("a log of transaction {index} belongs to another block or transaction")]
    StrayLog { index: usize },
    #[error("a log of transaction {index} is marked as removed")]
    RemovedLog { index: usize },
    #[error("a transaction or log index exceeds 32 bits")]
    Position,
}

/// Checks a block without its receipts.
pub(crate) fn check_block(requested: BlockNumber, block: &RawBlock) -> Result<(), CheckError> {
    if block.number.0 != requested {
        return Err(CheckError::WrongNumber { requested, got: block.number.0 });
    }
    for (index, tx) in block.transactions.iter().enumerate() {
        let belongs = tx.block_hash == Some(block.hash)
            && tx.block_number.is_none_or(|number| number.0 == requested)
            && tx.transaction_index.is_none_or(|position| usize::try_from(position.0) == Ok(index));
        if !belongs {
            return Err(CheckError::StrayTransaction { index });
        }
    }
    Ok(())
}

/// Sorts the receipts of a block that passed [`check_block`] into the order of its transactions.
pub(crate) fn arrange_receipts(block: &RawBlock, receipts: &mut [RawReceipt]) -> Result<(), CheckError> {
    if receipts.len() != block.transactions.len() {
        return Err(CheckError::ReceiptCount { transactions: block.transactions.len(), receipts: receipts.len() });
    }
    receipts.sort_by_key(|receipt| receipt.transaction_index);
    for (index, (tx, receipt)) in block.transactions.iter().zip(receipts).enumerate() {
        check_receipt(index, tx, receipt, block.hash.0)?;
    }
    Ok(())
}

/// Joins a block with receipts that passed [`arrange_receipts`].
pub(crate) fn join_receipts(block: RawBlock, receipts: Vec<RawReceipt>) -> Result<FetchedBlock, CheckError> {
    let header = header(&block)?;
    let mut transactions = Vec::with_capacity(receipts.len());
    let mut logs = Logs::of(&receipts);
    for (index, (tx, receipt)) in block.transactions.iter().zip(receipts).enumerate() {
        transactions.push(transaction(index, tx, &receipt, &header)?);
        logs.take(index, receipt)?;
    }
    let credits = mints(&block, &transactions).chain(withdrawals::credits(&block)).collect();
    Ok(FetchedBlock { block: header, transactions, logs: logs.list, credits })
}

/// Coins that deposits brought from the chain below.
fn mints(block: &RawBlock, transactions: &[Transaction]) -> impl Iterator<Item = CreditEvent> {
    block.transactions.iter().zip(transactions).filter_map(|(raw, tx)| {
        let amount = minted(raw, tx.succeeded).filter(|amount| !amount.is_zero())?;
        Some(CreditEvent { to: tx.from, amount, source: CreditSource::Mint { tx_index: tx.index } })
    })
}

/// A deposit of an OP-stack chain brings its coins also if its call fails, and so does a ticket of Arbitrum, whatever becomes of it. A
/// deposit of Arbitrum pays them to its receiver at once, or brings nothing.
fn minted(tx: &RawTransaction, succeeded: bool) -> Option<U256> {
    const ARBITRUM_DEPOSIT: u64 = 0x64;
    const ARBITRUM_TICKET: u64 = 0x69;
    let wide = match tx.tx_type?.0 {
        _ if is_deposit(tx) => tx.mint,
        ARBITRUM_DEPOSIT if succeeded && tx.request_id.is_some() => tx.value,
        ARBITRUM_TICKET if tx.request_id.is_some() => tx.deposit_value,
        _ => None,
    };
    Some(wide?.0)
}

fn header(block: &RawBlock) -> Result<Block, CheckError> {
    Ok(Block {
        number: block.number.0,
        hash: block.hash.0,
        parent_hash: block.parent_hash.0,
        timestamp: block.timestamp.0,
        miner: block.miner.or(block.author).ok_or(CheckError::NoMiner)?.0,
        tx_count: position(block.transactions.len())?,
        gas_used: block.gas_used.0,
        gas_limit: block.gas_limit.0,
        base_fee_per_gas: block.base_fee_per_gas.map(|fee| fee.0),
        // No block has this size: the node did not tell it.
        size: block.size.map_or(0, |size| size.0),
    })
}

fn check_receipt(index: usize, tx: &RawTransaction, receipt: &RawReceipt, block_hash: B256) -> Result<(), CheckError> {
    if receipt.block_hash.0 != block_hash {
        return Err(CheckError::StrayReceipt { index });
    }
    if receipt.transaction_hash != tx.hash || usize::try_from(receipt.transaction_index.0) != Ok(index) {
        return Err(CheckError::MismatchedReceipt { index });
    }
    Ok(())
}

fn transaction(
    index: usize,
    tx: &RawTransaction,
    receipt: &RawReceipt,
    block: &Block,
) -> Result<Transaction, CheckError> {
    let status = receipt.succeeded();
    if status.is_none() && receipt.root.is_none() && !may_precede_byzantium(block, tx) {
        return Err(CheckError::NoStatus { index });
    }
    let (succeeded, status_known) = (status.unwrap_or(true), status.is_some());
    let to = tx.to.map(|to| to.0);
    let told = receipt.effective_gas_price.map(|price| price.0);
    let gas_price = told.or_else(|| tx.price_at(block.base_fee_per_gas)).ok_or(CheckError::NoGasPrice { index })?;
    // Nodes also return the address of a failed creation.
    let created = receipt.contract_address.filter(|_| to.is_none() && succeeded).map(|address| address.0);
    Ok(Transaction {
        hash: tx.hash.0,
        block_number: block.number,
        block_hash: block.hash,
        index: position(index)?,
        timestamp: block.timestamp,
        from: tx.from.0,
        to,
        created,
        // A type of transaction without these fields moves no coins, and has no sequence.
        value: tx.value.unwrap_or_default().0,
        nonce: tx.nonce.unwrap_or_default().0,
        gas_used: receipt.gas_used.0,
        gas_limit: tx.gas.map(|gas| gas.0),
        cumulative_gas_used: receipt.cumulative_gas_used.map(|gas| gas.0),
        gas_price,
        charges: charges(tx, receipt, gas_price, block).map_err(|unknown| unknown_charge(index, unknown))?.boxed(),
        succeeded,
        status_known,
        method: to.and(tx.call_data().first_chunk().copied()),
        input: Transaction::kept_input(&tx.input()),
    })
}

fn unknown_charge(index: usize, unknown: UnknownCharge) -> CheckError {
    match unknown {
        UnknownCharge::BlobPrice => CheckError::NoBlobPrice { index },
        UnknownCharge::FeeCurrency => CheckError::FeeCurrency { index },
    }
}

/// Receipts without a status are possible only before the fork that brought base fees, and typed transactions.
fn may_precede_byzantium(block: &Block, tx: &RawTransaction) -> bool {
    block.base_fee_per_gas.is_none() && tx.tx_type.is_none_or(|tx_type| tx_type.0 == 0)
}

/// The logs of a block collected so far, in order.
struct Logs {
    list: Vec<Log>,
    numbering: Numbering,
}

/// How a node numbers the logs of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbering {
    /// Upwards. Gaps are allowed: some chains number logs that they do not serve.
    Block,
    /// From zero for every transaction, as ganache does.
    Transaction,
    /// Any other: a fault of the node.
    Wrong,
}

impl Numbering {
    /// No hash covers log indexes, so all but the first kind are derived from the order of the logs, which the receipts root covers.
    pub(crate) fn of(receipts: &[RawReceipt]) -> Self {
        let logs = receipts.iter().flat_map(|receipt| &receipt.logs).map(|log| log.log_index.0);
        if logs.clone().is_sorted_by(|before, after| before < after)
            && logs.max().is_none_or(|last| u32::try_from(last).is_ok())
        {
            return Self::Block;
        }
        let starts_at_zero = |logs: &Vec<RawLog>| (0..).zip(logs).all(|(index, log)| log.log_index.0 == index);
        let restarts = receipts.iter().map(|receipt| &receipt.logs).all(starts_at_zero);
        if restarts { Self::Transaction } else { Self::Wrong }
    }
}

impl Logs {
    fn of(receipts: &[RawReceipt]) -> Self {
        let capacity = receipts.iter().map(|receipt| receipt.logs.len()).sum();
        Self { list: Vec::with_capacity(capacity), numbering: Numbering::of(receipts) }
    }

    fn take(&mut self, index: usize, receipt: RawReceipt) -> Result<(), CheckError> {
        for log in receipt.logs {
            let belongs = log.block_hash.is_none_or(|hash| hash == receipt.block_hash)
                && log.transaction_hash.is_none_or(|hash| hash == receipt.transaction_hash);
            if !belongs {
                return Err(CheckError::StrayLog { index });
            }
            if log.removed == Some(true) {
                return Err(CheckError::RemovedLog { index });
            }
            let found = match self.numbering {
                Numbering::Block => log.log_index.0,
                Numbering::Transaction | Numbering::Wrong => self.list.len() as u64,
            };
            self.list.push(Log {
                tx_index: position(index)?,
                log_index: u32::try_from(found).map_err(|_| CheckError::Position)?,
                address: log.address.0,
                topics: log.topics.into_iter().map(|topic| topic.0).collect(),
                data: log.data.0,
            });
        }
        Ok(())
    }
}

fn position(index: usize) -> Result<u32, CheckError> {
    u32::try_from(index).map_err(|_| CheckError::Position)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Quantity, decode};

    const BLOCK: &str = include_str!("../../fixtures/mainnet.block.json");
    const RECEIPTS: &str = include_str!("../../fixtures/mainnet.receipts.json");

    fn block(json: &str) -> RawBlock {
        decode(json.as_bytes()).unwrap().unwrap()
    }

    fn receipts() -> Vec<RawReceipt> {
        decode(RECEIPTS.as_bytes()).unwrap().unwrap()
    }

    fn check_error(change: impl FnOnce(&mut Vec<RawReceipt>)) -> CheckError {
        let mut receipts = receipts();
        change(&mut receipts);
        join(receipts).unwrap_err()
    }

    fn join(mut receipts: Vec<RawReceipt>) -> Result<FetchedBlock, CheckError> {
        arrange_receipts(&block(BLOCK), &mut receipts)?;
        join_receipts(block(BLOCK), receipts)
    }

    #[test]
    fn a_block_of_another_height_is_rejected() {
        let (requested, got) = (18_500_001, 18_500_000);
        assert_eq!(check_block(requested, &block(BLOCK)), Err(CheckError::WrongNumber { requested, got }));
        assert_eq!(check_block(got, &block(BLOCK)), Ok(()));
    }

    #[test]
    fn a_transaction_of_another_block_is_rejected() {
        let mut corrupted = block(BLOCK);
        corrupted.transactions[3].block_hash = Some(corrupted.parent_hash);
        assert_eq!(check_block(18_500_000, &corrupted), Err(CheckError::StrayTransaction { index: 3 }));
        let mut pending = block(BLOCK);
        pending.transactions[2].block_hash = None;
        assert_eq!(check_block(18_500_000, &pending), Err(CheckError::StrayTransaction { index: 2 }));
        let mut moved = block(BLOCK);
        moved.transactions.swap(0, 1);
        assert_eq!(check_block(18_500_000, &moved), Err(CheckError::StrayTransaction { index: 0 }));
    }

    #[test]
    fn receipts_of_another_block_are_rejected() {
        let parent = block(BLOCK).parent_hash;
        let count = CheckError::ReceiptCount { transactions: 7, receipts: 6 };
        assert_eq!(check_error(|receipts| drop(receipts.pop())), count);
        assert_eq!(check_error(|receipts| receipts[4].block_hash = parent), CheckError::StrayReceipt { index: 4 });
        assert_eq!(
            check_error(|receipts| receipts[1].transaction_hash = parent),
            CheckError::MismatchedReceipt { index: 1 }
        );
        assert_eq!(
            check_error(|receipts| receipts[2].transaction_index = receipts[1].transaction_index),
            CheckError::MismatchedReceipt { index: 2 }
        );
        assert_eq!(check_error(|receipts| receipts[0].status = None), CheckError::NoStatus { index: 0 });
    }

    #[test]
    fn logs_of_another_receipt_are_rejected() {
        let parent = block(BLOCK).parent_hash;
        assert_eq!(
            check_error(|receipts| receipts[1].logs[0].block_hash = Some(parent)),
            CheckError::StrayLog { index: 1 }
        );
        assert_eq!(
            check_error(|receipts| receipts[2].logs[1].transaction_hash = Some(parent)),
            CheckError::StrayLog { index: 2 }
        );
        assert_eq!(
            check_error(|receipts| receipts[5].logs[0].removed = Some(true)),
            CheckError::RemovedLog { index: 5 }
        );
    }

    #[test]
    fn logs_numbered_per_transaction_are_renumbered_per_block() {
        let number = |receipts: &mut Vec<RawReceipt>| {
            for receipt in receipts {
                (0..).zip(&mut receipt.logs).for_each(|(index, log)| log.log_index = Quantity(index));
            }
        };
        let mut by_transaction = receipts();
        number(&mut by_transaction);
        let logs = join(by_transaction).unwrap().logs;
        assert!(logs.len() > 2 && (0..).zip(&logs).all(|(index, log)| log.log_index == index), "{logs:?}");
    }

    #[test]
    fn wrong_log_indexes_are_derived_from_the_order() {
        type Change = fn(&mut Vec<RawReceipt>);
        let changes: [Change; 4] = [
            |receipts| receipts[2].logs[1].log_index = Quantity(0),
            |receipts| {
                receipts.iter_mut().flat_map(|receipt| &mut receipt.logs).for_each(|log| log.log_index = Quantity(7))
            },
            |receipts| receipts[2].logs[0].log_index = Quantity(u64::MAX),
            |receipts| receipts[2].logs.swap(0, 1),
        ];
        for change in changes {
            let mut wrong = receipts();
            change(&mut wrong);
            assert_eq!(Numbering::of(&wrong), Numbering::Wrong);
            let logs = join(wrong).unwrap().logs;
            assert!(logs.len() > 2 && (0..).zip(&logs).all(|(index, log)| log.log_index == index), "{logs:?}");
        }
        assert_eq!(Numbering::of(&receipts()), Numbering::Block);
    }

    #[test]
    fn a_receipt_without_a_status_leaves_the_outcome_unknown_before_byzantium() {
        let frontier = || block(include_str!("../../fixtures/frontier.block.json"));
        let of_frontier = || -> Vec<RawReceipt> {
            decode(include_str!("../../fixtures/frontier.receipts.json").as_bytes()).unwrap().unwrap()
        };
        for with_root in [true, false] {
            let mut receipts = of_frontier();
            receipts.iter_mut().filter(|_| !with_root).for_each(|receipt| receipt.root = None);
            let transactions = join_receipts(frontier(), receipts).unwrap().transactions;
            assert!(!transactions.is_empty() && transactions.iter().all(|tx| tx.succeeded && !tx.status_known));
        }
    }

    #[test]
    fn a_fee_in_an_unreadable_currency_is_not_one_in_the_coin() {
        let with_currency = |currency: &str| {
            let mut block = block(BLOCK);
            let text = format!(r#"{{"result":{currency}}}"#);
            block.transactions[2].fee_currency = decode(text.as_bytes()).unwrap();
            join_receipts(block, receipts())
                .map(|fetched| fetched.transactions[2].charges.as_ref().map(|paid| paid.payment))
        };
        assert_eq!(with_currency("null"), Ok(None));
        assert_eq!(with_currency(r#""0x""#), Ok(None));
        let dollar = alloy_primitives::Address::repeat_byte(7);
        assert_eq!(with_currency(&format!(r#""{dollar:#x}""#)), Ok(Some(domain::Payment::Token(dollar))));
        for unreadable in [r#""cUSD""#, r#""0x1234""#, "7"] {
            assert_eq!(with_currency(unreadable), Err(CheckError::FeeCurrency { index: 2 }), "{unreadable}");
        }
    }

    #[test]
    fn receipts_are_sorted_by_transaction_index() {
        let mut reversed = receipts();
        reversed.reverse();
        assert_eq!(join(reversed), join(receipts()));
    }

    #[test]
    fn a_header_without_parent_or_hash_is_unreadable() {
        for field in ["parentHash", "hash", "number", "transactions"] {
            let without = BLOCK.replacen(&format!("\"{field}\""), "\"other\"", 1);
            assert!(decode::<RawBlock>(without.as_bytes()).is_err(), "{field}");
        }
    }
}
