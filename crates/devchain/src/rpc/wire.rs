//! Conversions to the JSON-RPC types of blocks, transactions and receipts.

use alloy_consensus::{Header, TxEnvelope, transaction::Recovered};
use alloy_primitives::U256;
use alloy_rpc_types_eth as rpc;

use crate::block::{MinedBlock, MinedTransaction};

pub(super) type Block = rpc::Block;
pub(super) type Receipt = rpc::TransactionReceipt;
pub(super) type Transaction = rpc::Transaction;

pub(super) fn header(block: &MinedBlock) -> rpc::Header<Header> {
    rpc::Header::from_consensus(block.header.clone(), Some(U256::ZERO), Some(U256::from(block.size)))
}

pub(super) fn full_block(block: &MinedBlock) -> Block {
    let transactions = (0..block.transactions.len()).map(|index| transaction(block, index)).collect();
    block_with(block, rpc::BlockTransactions::Full(transactions))
}

pub(super) fn block_of_hashes(block: &MinedBlock) -> Block {
    let hashes = block.transactions.iter().map(MinedTransaction::hash).collect();
    block_with(block, rpc::BlockTransactions::Hashes(hashes))
}

fn block_with(block: &MinedBlock, transactions: rpc::BlockTransactions<Transaction>) -> Block {
    rpc::Block {
        header: header(block),
        uncles: Vec::new(),
        transactions,
        withdrawals: Some(rpc::Withdrawals::default()),
    }
}

#[expect(clippy::indexing_slicing, reason = "callers pass the index of a transaction of the block")]
pub(super) fn transaction(block: &MinedBlock, index: usize) -> Transaction {
    let mined = &block.transactions[index];
    rpc::Transaction {
        inner: mined.transaction.clone(),
        block_hash: Some(block.hash()),
        block_number: Some(block.number()),
        transaction_index: Some(index as u64),
        effective_gas_price: Some(mined.effective_gas_price),
        block_timestamp: Some(block.header.timestamp),
    }
}

pub(super) fn pending_transaction(transaction: Recovered<TxEnvelope>) -> Transaction {
    rpc::Transaction {
        inner: transaction,
        block_hash: None,
        block_number: None,
        transaction_index: None,
        effective_gas_price: None,
        block_timestamp: None,
    }
}

pub(super) fn receipts(block: &MinedBlock) -> Vec<Receipt> {
    (0..block.transactions.len()).map(|index| receipt(block, index)).collect()
}

#[expect(clippy::indexing_slicing, reason = "callers pass the index of a transaction of the block")]
pub(super) fn receipt(block: &MinedBlock, index: usize) -> Receipt {
    use alloy_consensus::Transaction as _;

    let mined = &block.transactions[index];
    let mut log_index = mined.first_log_index;
    let inner = mined.receipt.clone().map_logs(|inner| {
        let log = log(block, index, log_index, inner);
        log_index += 1;
        log
    });
    rpc::TransactionReceipt {
        inner,
        transaction_hash: mined.hash(),
        transaction_index: Some(index as u64),
        block_hash: Some(block.hash()),
        block_number: Some(block.number()),
        gas_used: mined.gas_used,
        effective_gas_price: mined.effective_gas_price,
        blob_gas_used: None,
        blob_gas_price: None,
        from: mined.sender(),
        to: mined.transaction.to(),
        contract_address: mined.created,
    }
}

/// A log of the transaction at `index`, with its block fields.
#[expect(clippy::indexing_slicing, reason = "callers pass the index of a transaction of the block")]
pub(super) fn log(block: &MinedBlock, index: usize, log_index: u64, inner: alloy_primitives::Log) -> rpc::Log {
    rpc::Log {
        inner,
        block_hash: Some(block.hash()),
        block_number: Some(block.number()),
        block_timestamp: Some(block.header.timestamp),
        transaction_hash: Some(block.transactions[index].hash()),
        transaction_index: Some(index as u64),
        log_index: Some(log_index),
        removed: false,
    }
}
