//! Builds and seals blocks.

use alloy_consensus::{
    EMPTY_ROOT_HASH, Eip658Value, Header, Receipt, ReceiptEnvelope, Transaction, TxEnvelope, TxReceipt, proofs,
    transaction::Recovered,
};
use alloy_eips::{eip1559::BaseFeeParams, eip7685::EMPTY_REQUESTS_HASH};
use alloy_primitives::{Address, B256, Bloom, Bytes};
use revm::{
    ExecuteCommitEvm,
    context::result::{EVMError, ExecutionResult, InvalidTransaction},
};

use crate::{
    block::{MinedBlock, MinedTransaction},
    config::DevChainConfig,
    evm::{self, AncestorHashes, ChainEvm, ExecutionState},
    state::WorldState,
};

/// The header fields that are fixed before any transaction is added.
#[derive(Debug)]
pub(crate) struct BlockPlan {
    pub(crate) timestamp: u64,
    pub(crate) beneficiary: Address,
    pub(crate) randomness: B256,
    pub(crate) extra_data: Bytes,
}

/// Why a transaction cannot be added to the block.
#[derive(Debug)]
pub(crate) enum Rejection {
    /// It may fit in a later block: not enough gas is left, or the base fee is above its cap.
    NotNow,
    /// It cannot be executed on this state.
    Invalid(InvalidTransaction),
}

/// A block under construction.
pub(crate) struct BlockBuilder {
    header: Header,
    evm: ChainEvm,
    transactions: Vec<MinedTransaction>,
}

impl BlockBuilder {
    pub(crate) fn on(
        parent: &MinedBlock,
        world: WorldState,
        ancestors: AncestorHashes,
        plan: BlockPlan,
        config: &DevChainConfig,
    ) -> Self {
        let header = Header {
            parent_hash: parent.hash(),
            number: parent.number() + 1,
            timestamp: plan.timestamp,
            beneficiary: plan.beneficiary,
            mix_hash: plan.randomness,
            extra_data: plan.extra_data,
            base_fee_per_gas: Some(next_base_fee(&parent.header, config)),
            ..empty_header(config)
        };
        let state = ExecutionState { world, ancestors };
        Self { evm: evm::for_block(config.chain_id, evm::block_env(&header), state), header, transactions: Vec::new() }
    }

    pub(crate) fn world(&self) -> &WorldState {
        &self.evm.ctx.journaled_state.database.world
    }

    /// Executes a transaction as the next one of the block.
    pub(crate) fn push(&mut self, transaction: &Recovered<TxEnvelope>) -> Result<(), Rejection> {
        let room = self.header.gas_limit - self.header.gas_used;
        let base_fee = self.header.base_fee_per_gas.unwrap_or_default();
        if transaction.gas_limit() > room || transaction.max_fee_per_gas() < u128::from(base_fee) {
            return Err(Rejection::NotNow);
        }
        let result = match self.evm.transact_commit(evm::tx_env(transaction)) {
            Ok(result) => result,
            Err(EVMError::Transaction(reason)) => return Err(Rejection::Invalid(reason)),
            Err(other) => {
                let reason = InvalidTransaction::Str(other.to_string().into());
                return Err(Rejection::Invalid(reason));
            }
        };
        self.record(transaction, result, base_fee);
        Ok(())
    }

    fn record(&mut self, transaction: &Recovered<TxEnvelope>, result: ExecutionResult, base_fee: u64) {
        self.header.gas_used += result.gas().tx_gas_used();
        let succeeded = result.is_success();
        let receipt = Receipt {
            status: Eip658Value::Eip658(succeeded),
            cumulative_gas_used: self.header.gas_used,
            logs: if succeeded { result.into_logs() } else { Vec::new() },
        };
        let mined = MinedTransaction::new(transaction.clone(), receipt, self.transactions.last(), base_fee);
        self.transactions.push(mined);
    }

    /// Seals the block and returns it with the state after it.
    pub(crate) fn seal(mut self) -> (MinedBlock, WorldState) {
        let world = std::mem::take(&mut self.evm.ctx.journaled_state.database.world);
        let receipts: Vec<&ReceiptEnvelope> = self.transactions.iter().map(|mined| &mined.receipt).collect();
        let bodies: Vec<&TxEnvelope> = self.transactions.iter().map(|mined| mined.transaction.inner()).collect();
        self.header.state_root = world.root();
        self.header.transactions_root = proofs::calculate_transaction_root(&bodies);
        self.header.receipts_root = proofs::calculate_receipt_root(&receipts);
        self.header.logs_bloom = receipts.iter().fold(Bloom::ZERO, |bloom, receipt| bloom | receipt.bloom());
        (MinedBlock::new(self.header, self.transactions), world)
    }
}

/// The genesis block.
pub(crate) fn genesis(config: &DevChainConfig, world: &WorldState) -> MinedBlock {
    let header = Header {
        timestamp: config.genesis_timestamp,
        base_fee_per_gas: Some(config.base_fee.genesis),
        state_root: world.root(),
        ..empty_header(config)
    };
    MinedBlock::new(header, Vec::new())
}

/// The base fee of the block after `header`.
pub(crate) fn next_base_fee(header: &Header, config: &DevChainConfig) -> u64 {
    header.next_block_base_fee(BaseFeeParams::ethereum()).unwrap_or(config.base_fee.genesis).max(config.base_fee.floor)
}

/// The fields that are the same in every block.
fn empty_header(config: &DevChainConfig) -> Header {
    Header {
        gas_limit: config.block_gas_limit,
        withdrawals_root: Some(EMPTY_ROOT_HASH),
        blob_gas_used: Some(0),
        excess_blob_gas: Some(0),
        parent_beacon_block_root: Some(B256::ZERO),
        requests_hash: Some(EMPTY_REQUESTS_HASH),
        ..Header::default()
    }
}
