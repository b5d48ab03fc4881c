//! A data folder with very long lists, written without a node.

use std::path::Path;

use alloy_primitives::{Address, B256, U256, keccak256};
use alloy_sol_types::SolCall;
use devchain::traffic::interfaces::Bep20;
use domain::{
    Block, BlockChanges, ChainIdentity, Pool, PoolStyle, TokenKind, TradeDirection, TradeEvent, Transaction,
    TransferEvent,
};
use store::{ChainWriter, ContractDataWriter, Undo};
use store_embedded::{EmbeddedStore, StoreOptions};

use super::FilterTargets;

const TRANSACTIONS_PER_BLOCK: u32 = 200;
const BLOCKS_PER_COMMIT: usize = 200;
/// One in this many transactions is also a trade.
const TRADE_EVERY: u64 = 2;

pub(crate) struct DenseStore {
    /// Sender or receiver of every transfer and every transaction.
    hub: Address,
    /// Receiver of half of what the hub sends.
    partner: Address,
    /// The token of nearly all transfers.
    token: Address,
    factory: Address,
    blocks: u64,
}

impl DenseStore {
    pub(crate) async fn make(data: &Path, transfers: u64) -> anyhow::Result<Self> {
        let blocks = transfers.div_ceil(u64::from(TRANSACTIONS_PER_BLOCK)) + 1;
        let content = Self { hub: address(1), partner: address(2), token: address(3), factory: address(4), blocks };
        let store = EmbeddedStore::open(data, StoreOptions::default())?;
        let mut parent = content.block(None);
        store.bind(ChainIdentity { chain_id: 31_337, genesis_hash: parent.block.hash }, None)?;
        let mut writer = store.writer();
        let mut batch = vec![parent.clone()];
        for _ in 1..blocks {
            parent = content.block(Some(&parent.block));
            batch.push(parent.clone());
            if batch.len() == BLOCKS_PER_COMMIT {
                writer.commit(std::mem::take(&mut batch), Undo::Discard).await?;
            }
        }
        writer.commit(batch, Undo::Discard).await?;
        while writer.rank_holders(10_000).await? > 0 {}
        Ok(content)
    }

    pub(crate) fn targets(&self) -> FilterTargets {
        let Self { hub, partner, token, factory, blocks } = *self;
        // All blocks except 5% at both ends.
        FilterTargets { hub, partner, token, dex: format!("v2-{factory}"), blocks: (blocks / 20, blocks - blocks / 20) }
    }

    fn block(&self, parent: Option<&Block>) -> BlockChanges {
        let number = parent.map_or(0, |parent| parent.number + 1);
        let count = if number == 0 { 0 } else { TRANSACTIONS_PER_BLOCK };
        let block = Block {
            number,
            hash: keccak256(number.to_be_bytes()),
            parent_hash: parent.map_or(B256::ZERO, |parent| parent.hash),
            timestamp: 1_700_000_000 + number,
            miner: address(5),
            tx_count: count,
            gas_used: u64::from(count) * 50_000,
            gas_limit: 30_000_000,
            ..Block::sample()
        };
        let transactions: Vec<_> = (0..count).map(|index| self.transaction(&block, index)).collect();
        let transfers = transactions.iter().map(|tx| self.transfer(tx)).collect();
        let trades: Vec<_> = transactions.iter().filter(|tx| tx.nonce.is_multiple_of(TRADE_EVERY)).collect();
        let trades = trades.into_iter().map(|tx| self.trade(tx)).collect();
        let pools = if count == 0 { Vec::new() } else { vec![self.pool()] };
        BlockChanges { transactions, transfers, trades, pools, ..BlockChanges::of(block) }
    }

    /// Half of them are sent by the hub, and half of those to the partner.
    fn transaction(&self, block: &Block, index: u32) -> Transaction {
        let sequence = block.number * u64::from(TRANSACTIONS_PER_BLOCK) + u64::from(index);
        let other = address(100 + sequence % 50_000);
        let (from, to) = match sequence % 4 {
            0 => (self.hub, self.partner),
            1 => (self.hub, other),
            2 => (self.partner, self.hub),
            _ => (other, self.hub),
        };
        Transaction {
            hash: keccak256([block.hash.as_slice(), &index.to_be_bytes()].concat()),
            block_number: block.number,
            block_hash: block.hash,
            index,
            timestamp: block.timestamp,
            from,
            to: Some(to),
            value: U256::from(sequence),
            nonce: sequence,
            gas_used: 50_000,
            gas_price: 1_000_000_000,
            charges: None,
            method: Some(Bep20::transferCall::SELECTOR),
            ..Transaction::sample()
        }
    }

    fn transfer(&self, tx: &Transaction) -> TransferEvent {
        TransferEvent {
            tx_index: tx.index,
            log_index: tx.index * 2,
            batch_index: 0,
            token: if tx.nonce.is_multiple_of(50) { address(6) } else { self.token },
            kind: TokenKind::Bep20,
            from: tx.from,
            to: tx.to.unwrap_or_default(),
            value: U256::from(1),
            token_id: None,
        }
    }

    fn trade(&self, tx: &Transaction) -> TradeEvent {
        TradeEvent {
            tx_index: tx.index,
            log_index: tx.index * 2 + 1,
            pool: self.pool().address,
            direction: TradeDirection::ZeroForOne,
            amount_in: U256::from(1),
            amount_out: U256::from(2),
        }
    }

    fn pool(&self) -> Pool {
        Pool {
            address: address(7),
            style: PoolStyle::V2,
            factory: self.factory,
            token0: self.token,
            token1: address(6),
        }
    }
}

fn address(number: u64) -> Address {
    Address::from_word(keccak256(number.to_be_bytes()))
}
