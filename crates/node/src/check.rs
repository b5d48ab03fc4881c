//! Puts a block and its receipts together, and refuses what does not belong together.

use alloy_primitives::B256;
use domain::{Block, BlockNumber, FetchedBlock, Log, Transaction};

use crate::decode::{RawBlock, RawLog, RawReceipt, RawTransaction};

/// Why an answer is not believed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Doubt {
    #[error("asked for block {asked}, got block {got}")]
    OtherNumber { asked: BlockNumber, got: BlockNumber },
    #[error("the header names no miner")]
    NoMiner,
    #[error("transaction {index} is of another block")]
    StrayTransaction { index: usize },
    #[error("{transactions} transactions, but {receipts} receipts")]
    ReceiptCount { transactions: usize, receipts: usize },
    #[error("receipt {index} is of another block")]
    StrayReceipt { index: usize },
    #[error("receipt {index} is of another transaction")]
    MismatchedReceipt { index: usize },
    #[error("receipt {index} has neither a status nor a state root")]
    NoStatus { index: usize },
    #[error("a log of transaction {index} is of another block or transaction")]
    StrayLog { index: usize },
    #[error("a log of transaction {index} is marked as removed")]
    RemovedLog { index: usize },
    #[error("log {found} comes after log {before}")]
    LogOrder { before: u64, found: u64 },
    #[error("a position is too big to be one")]
    Position,
}

/// Checks what can be checked of a block without its receipts.
pub(crate) fn check_block(asked: BlockNumber, block: &RawBlock) -> Result<(), Doubt> {
    if block.number.0 != asked {
        return Err(Doubt::OtherNumber { asked, got: block.number.0 });
    }
    for (index, tx) in block.transactions.iter().enumerate() {
        let at_home = tx.block_hash == Some(block.hash)
            && tx.block_number.is_none_or(|number| number.0 == asked)
            && tx.transaction_index.is_none_or(|position| usize::try_from(position.0) == Ok(index));
        if !at_home {
            return Err(Doubt::StrayTransaction { index });
        }
    }
    Ok(())
}

/// Puts the receipts of a block that [`check_block`] let pass in order: after that each stands beside its transaction.
pub(crate) fn arrange_receipts(block: &RawBlock, receipts: &mut [RawReceipt]) -> Result<(), Doubt> {
    if receipts.len() != block.transactions.len() {
        return Err(Doubt::ReceiptCount { transactions: block.transactions.len(), receipts: receipts.len() });
    }
    receipts.sort_by_key(|receipt| receipt.transaction_index);
    for (index, (tx, receipt)) in block.transactions.iter().zip(receipts).enumerate() {
        check_receipt(index, tx, receipt, block.hash.0)?;
    }
    Ok(())
}

/// Joins a block with the receipts that [`arrange_receipts`] let pass.
pub(crate) fn join_receipts(block: RawBlock, receipts: Vec<RawReceipt>) -> Result<FetchedBlock, Doubt> {
    let header = header(&block)?;
    let mut transactions = Vec::with_capacity(receipts.len());
    let mut logs = Logs::of(&receipts);
    for (index, (tx, receipt)) in block.transactions.iter().zip(receipts).enumerate() {
        transactions.push(transaction(index, tx, &receipt, &header)?);
        logs.take(index, receipt)?;
    }
    Ok(FetchedBlock { block: header, transactions, logs: logs.list })
}

fn header(block: &RawBlock) -> Result<Block, Doubt> {
    Ok(Block {
        number: block.number.0,
        hash: block.hash.0,
        parent_hash: block.parent_hash.0,
        timestamp: block.timestamp.0,
        miner: block.miner.or(block.author).ok_or(Doubt::NoMiner)?.0,
        tx_count: position(block.transactions.len())?,
        gas_used: block.gas_used.0,
        gas_limit: block.gas_limit.0,
        base_fee_per_gas: block.base_fee_per_gas.map(|fee| fee.0),
        size: block.size.unwrap_or_default().0,
    })
}

fn check_receipt(index: usize, tx: &RawTransaction, receipt: &RawReceipt, block_hash: B256) -> Result<(), Doubt> {
    if receipt.block_hash.0 != block_hash {
        return Err(Doubt::StrayReceipt { index });
    }
    if receipt.transaction_hash != tx.hash || usize::try_from(receipt.transaction_index.0) != Ok(index) {
        return Err(Doubt::MismatchedReceipt { index });
    }
    Ok(())
}

fn transaction(index: usize, tx: &RawTransaction, receipt: &RawReceipt, block: &Block) -> Result<Transaction, Doubt> {
    let succeeded = receipt.succeeded().ok_or(Doubt::NoStatus { index })?;
    let to = tx.to.map(|to| to.0);
    // Nodes name the address of a failed creation too, where nothing was created.
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
        value: tx.value.unwrap_or_default().0,
        nonce: tx.nonce.unwrap_or_default().0,
        gas_used: receipt.gas_used.0,
        gas_price: receipt.effective_gas_price.map_or_else(|| tx.price_at(block.base_fee_per_gas), |price| price.0),
        succeeded,
        method: to.and(tx.call_data().first_chunk().copied()),
    })
}

/// The logs of a block so far, in order.
struct Logs {
    list: Vec<Log>,
    last: Option<u64>,
    numbering: Numbering,
}

/// What the numbers of logs count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Numbering {
    Block,
    /// Ganache begins anew with every transaction. Nothing commits to the numbers: they are made up from the order.
    Transaction,
}

impl Numbering {
    fn of(receipts: &[RawReceipt]) -> Self {
        let mut with_logs = receipts.iter().map(|receipt| &receipt.logs).filter(|logs| !logs.is_empty());
        let from_nought = |logs: &Vec<RawLog>| (0..).zip(logs).all(|(place, log)| log.log_index.0 == place);
        if with_logs.clone().nth(1).is_some() && with_logs.all(from_nought) { Self::Transaction } else { Self::Block }
    }
}

impl Logs {
    /// Room for the logs of all these.
    fn of(receipts: &[RawReceipt]) -> Self {
        let capacity = receipts.iter().map(|receipt| receipt.logs.len()).sum();
        Self { list: Vec::with_capacity(capacity), last: None, numbering: Numbering::of(receipts) }
    }

    /// Holes between the numbers are let pass: some chains number logs that they do not serve.
    fn take(&mut self, index: usize, receipt: RawReceipt) -> Result<(), Doubt> {
        for log in receipt.logs {
            let at_home = log.block_hash.is_none_or(|hash| hash == receipt.block_hash)
                && log.transaction_hash.is_none_or(|hash| hash == receipt.transaction_hash);
            if !at_home {
                return Err(Doubt::StrayLog { index });
            }
            if log.removed == Some(true) {
                return Err(Doubt::RemovedLog { index });
            }
            let found = match self.numbering {
                Numbering::Block => log.log_index.0,
                Numbering::Transaction => self.list.len() as u64,
            };
            if let Some(before) = self.last.filter(|before| *before >= found) {
                return Err(Doubt::LogOrder { before, found });
            }
            self.last = Some(found);
            self.list.push(Log {
                tx_index: position(index)?,
                log_index: u32::try_from(found).map_err(|_| Doubt::Position)?,
                address: log.address.0,
                topics: log.topics.into_iter().map(|topic| topic.0).collect(),
                data: log.data.0,
            });
        }
        Ok(())
    }
}

fn position(index: usize) -> Result<u32, Doubt> {
    u32::try_from(index).map_err(|_| Doubt::Position)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Quantity, decode};

    const BLOCK: &str = include_str!("../fixtures/mainnet.block.json");
    const RECEIPTS: &str = include_str!("../fixtures/mainnet.receipts.json");

    fn block(json: &str) -> RawBlock {
        decode(json.as_bytes()).unwrap().unwrap()
    }

    fn receipts() -> Vec<RawReceipt> {
        decode(RECEIPTS.as_bytes()).unwrap().unwrap()
    }

    fn doubt(spoil: impl FnOnce(&mut Vec<RawReceipt>)) -> Doubt {
        let mut receipts = receipts();
        spoil(&mut receipts);
        join(receipts).unwrap_err()
    }

    fn join(mut receipts: Vec<RawReceipt>) -> Result<FetchedBlock, Doubt> {
        arrange_receipts(&block(BLOCK), &mut receipts)?;
        join_receipts(block(BLOCK), receipts)
    }

    #[test]
    fn a_block_of_another_height_is_refused() {
        let (asked, got) = (18_500_001, 18_500_000);
        assert_eq!(check_block(asked, &block(BLOCK)), Err(Doubt::OtherNumber { asked, got }));
        assert_eq!(check_block(got, &block(BLOCK)), Ok(()));
    }

    #[test]
    fn a_transaction_of_another_block_is_refused() {
        let mut spoilt = block(BLOCK);
        spoilt.transactions[3].block_hash = Some(spoilt.parent_hash);
        assert_eq!(check_block(18_500_000, &spoilt), Err(Doubt::StrayTransaction { index: 3 }));
        let mut pending = block(BLOCK);
        pending.transactions[2].block_hash = None;
        assert_eq!(check_block(18_500_000, &pending), Err(Doubt::StrayTransaction { index: 2 }));
        let mut moved = block(BLOCK);
        moved.transactions.swap(0, 1);
        assert_eq!(check_block(18_500_000, &moved), Err(Doubt::StrayTransaction { index: 0 }));
    }

    #[test]
    fn receipts_that_are_not_those_of_the_block_are_refused() {
        let parent = block(BLOCK).parent_hash;
        let count = Doubt::ReceiptCount { transactions: 7, receipts: 6 };
        assert_eq!(doubt(|receipts| drop(receipts.pop())), count);
        assert_eq!(doubt(|receipts| receipts[4].block_hash = parent), Doubt::StrayReceipt { index: 4 });
        assert_eq!(doubt(|receipts| receipts[1].transaction_hash = parent), Doubt::MismatchedReceipt { index: 1 });
        assert_eq!(
            doubt(|receipts| receipts[2].transaction_index = receipts[1].transaction_index),
            Doubt::MismatchedReceipt { index: 2 }
        );
        assert_eq!(doubt(|receipts| receipts[0].status = None), Doubt::NoStatus { index: 0 });
    }

    #[test]
    fn logs_that_are_not_those_of_the_receipt_are_refused() {
        let parent = block(BLOCK).parent_hash;
        assert_eq!(doubt(|receipts| receipts[1].logs[0].block_hash = Some(parent)), Doubt::StrayLog { index: 1 });
        assert_eq!(doubt(|receipts| receipts[2].logs[1].transaction_hash = Some(parent)), Doubt::StrayLog { index: 2 });
        assert_eq!(doubt(|receipts| receipts[5].logs[0].removed = Some(true)), Doubt::RemovedLog { index: 5 });
        assert_eq!(doubt(|receipts| receipts[2].logs.swap(0, 1)), Doubt::LogOrder { before: 3, found: 1 });
    }

    #[test]
    fn logs_that_every_transaction_numbers_from_nought_get_numbers_of_the_block() {
        let number = |receipts: &mut Vec<RawReceipt>| {
            for receipt in receipts {
                (0..).zip(&mut receipt.logs).for_each(|(place, log)| log.log_index = Quantity(place));
            }
        };
        let mut by_transaction = receipts();
        number(&mut by_transaction);
        let logs = join(by_transaction).unwrap().logs;
        assert!(logs.len() > 2 && (0..).zip(&logs).all(|(place, log)| log.log_index == place), "{logs:?}");
        // Numbers that begin anew in one place alone are out of order.
        let spoilt = doubt(|receipts| {
            number(receipts);
            receipts[2].logs[1].log_index = Quantity(9);
        });
        assert!(matches!(spoilt, Doubt::LogOrder { .. }), "{spoilt:?}");
    }

    #[test]
    fn receipts_in_another_order_are_put_in_theirs() {
        let mut turned = receipts();
        turned.reverse();
        assert_eq!(join(turned), join(receipts()));
    }

    #[test]
    fn a_header_without_parent_or_hash_is_unreadable() {
        for field in ["parentHash", "hash", "number", "transactions"] {
            let without = BLOCK.replacen(&format!("\"{field}\""), "\"other\"", 1);
            assert!(decode::<RawBlock>(without.as_bytes()).is_err(), "{field}");
        }
    }
}
