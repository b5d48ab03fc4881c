//! The revm configuration of this chain.

use std::convert::Infallible;

use alloy_consensus::{BlockHeader, Header, Transaction, TxEnvelope, Typed2718, transaction::Recovered};
use alloy_primitives::{Address, B256, U256};
use revm::{
    Context, Database, DatabaseCommit, DatabaseRef, MainBuilder, MainContext, MainnetEvm,
    bytecode::Bytecode,
    context::{BlockEnv, CfgEnv, TxEnv},
    context_interface::{block::BlobExcessGasAndPrice, either::Either},
    handler::MainnetContext,
    primitives::{AddressMap, eip4844::BLOB_BASE_FEE_UPDATE_FRACTION_PRAGUE, hardfork::SpecId},
    state::{Account as ChangedAccount, AccountInfo},
};

use crate::state::WorldState;

/// The hard fork that is active from genesis.
pub(crate) const FORK: SpecId = SpecId::PRAGUE;

pub(crate) type ChainEvm = MainnetEvm<MainnetContext<ExecutionState>>;
pub(crate) type InspectedEvm<I> = MainnetEvm<MainnetContext<ExecutionState>, I>;

/// The hashes of the latest ancestors, for BLOCKHASH.
#[derive(Debug, Clone, Default)]
pub(crate) struct AncestorHashes {
    first: u64,
    hashes: Vec<B256>,
}

impl AncestorHashes {
    pub(crate) const MAX_LENGTH: usize = 256;

    pub(crate) fn new(first: u64, hashes: Vec<B256>) -> Self {
        Self { first, hashes }
    }

    fn get(&self, number: u64) -> B256 {
        number
            .checked_sub(self.first)
            .and_then(|offset| usize::try_from(offset).ok())
            .and_then(|offset| self.hashes.get(offset).copied())
            .unwrap_or_default()
    }
}

/// The state that an execution reads and changes.
#[derive(Debug)]
pub(crate) struct ExecutionState {
    pub(crate) world: WorldState,
    pub(crate) ancestors: AncestorHashes,
}

impl DatabaseRef for ExecutionState {
    type Error = Infallible;

    fn basic_ref(&self, address: Address) -> Result<Option<AccountInfo>, Infallible> {
        Ok(self.world.account(address).map(|account| account.info()))
    }

    fn code_by_hash_ref(&self, _: B256) -> Result<Bytecode, Infallible> {
        // Accounts are returned with their code, so this is called only for empty code.
        Ok(Bytecode::default())
    }

    fn storage_ref(&self, address: Address, slot: U256) -> Result<U256, Infallible> {
        Ok(self.world.account(address).map(|account| account.storage(slot)).unwrap_or_default())
    }

    fn block_hash_ref(&self, number: u64) -> Result<B256, Infallible> {
        Ok(self.ancestors.get(number))
    }
}

impl Database for ExecutionState {
    type Error = Infallible;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, Infallible> {
        self.basic_ref(address)
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, Infallible> {
        self.code_by_hash_ref(hash)
    }

    fn storage(&mut self, address: Address, slot: U256) -> Result<U256, Infallible> {
        self.storage_ref(address, slot)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, Infallible> {
        self.block_hash_ref(number)
    }
}

impl DatabaseCommit for ExecutionState {
    fn commit(&mut self, changes: AddressMap<ChangedAccount>) {
        self.world.apply(changes);
    }
}

/// An EVM for transactions, with all checks.
pub(crate) fn for_block(chain_id: u64, block: BlockEnv, state: ExecutionState) -> ChainEvm {
    build(rules(chain_id), block, state)
}

/// An EVM for calls, without checks of nonce, fees and sender.
pub(crate) fn for_call(chain_id: u64, block: BlockEnv, state: ExecutionState) -> ChainEvm {
    let mut rules = rules(chain_id);
    rules.disable_nonce_check = true;
    rules.disable_base_fee = true;
    rules.disable_eip3607 = true;
    rules.disable_block_gas_limit = true;
    build(rules, block, state)
}

/// An EVM for transactions that are executed again, with an inspector.
pub(crate) fn for_trace<I>(chain_id: u64, block: BlockEnv, state: ExecutionState, inspector: I) -> InspectedEvm<I> {
    context(rules(chain_id), block, state).build_mainnet_with_inspector(inspector)
}

fn rules(chain_id: u64) -> CfgEnv {
    CfgEnv::new_with_spec(FORK).with_chain_id(chain_id)
}

fn build(rules: CfgEnv, block: BlockEnv, state: ExecutionState) -> ChainEvm {
    context(rules, block, state).build_mainnet()
}

fn context(rules: CfgEnv, block: BlockEnv, state: ExecutionState) -> MainnetContext<ExecutionState> {
    Context::mainnet().with_db(state).with_cfg(rules).with_block(block)
}

/// The block environment given by a header.
pub(crate) fn block_env(header: &Header) -> BlockEnv {
    BlockEnv {
        number: U256::from(header.number()),
        beneficiary: header.beneficiary(),
        timestamp: U256::from(header.timestamp()),
        gas_limit: header.gas_limit(),
        basefee: header.base_fee_per_gas().unwrap_or_default(),
        difficulty: U256::ZERO,
        prevrandao: header.mix_hash(),
        blob_excess_gas_and_price: Some(BlobExcessGasAndPrice::new(
            header.excess_blob_gas().unwrap_or_default(),
            BLOB_BASE_FEE_UPDATE_FRACTION_PRAGUE,
        )),
        slot_num: 0,
    }
}

/// Converts a signed transaction for revm.
pub(crate) fn tx_env(transaction: &Recovered<TxEnvelope>) -> TxEnv {
    TxEnv {
        tx_type: transaction.ty(),
        caller: transaction.signer(),
        gas_limit: transaction.gas_limit(),
        gas_price: transaction.max_fee_per_gas(),
        kind: transaction.kind(),
        value: transaction.value(),
        data: transaction.input().clone(),
        nonce: transaction.nonce(),
        chain_id: transaction.chain_id(),
        access_list: transaction.access_list().cloned().unwrap_or_default(),
        gas_priority_fee: transaction.max_priority_fee_per_gas(),
        blob_hashes: Vec::new(),
        max_fee_per_blob_gas: 0,
        authorization_list: transaction
            .authorization_list()
            .unwrap_or_default()
            .iter()
            .cloned()
            .map(Either::Left)
            .collect(),
    }
}
