//! Resolves by contract calls what a block's logs leave open.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use alloy_primitives::U256;
use domain::{
    Address, BlockChanges, BlockRef, FetchedBlock, InnerCreation, Pool, PoolStyle, TokenKind, TradeEvent, TransferEvent,
};
use futures::future::try_join_all;
use node::NodeClient;
use store::{ChainReader, StoreError};

use crate::{
    creations::CreationFinder,
    decode::{DecodedBlock, SwapCandidate, Transfers},
    follow_error::FollowError,
    outcomes::decide_outcomes,
    pools::PoolDirectory,
    progress::Progress,
    standards::Standards,
};

/// Completes decoded blocks concurrently. Its caches are valid for one branch: after a reorg, an address may have another
/// contract.
pub(crate) struct Resolver {
    node: NodeClient,
    pools: PoolDirectory,
    standards: Standards,
    reader: Arc<dyn ChainReader>,
    creations: Arc<CreationFinder>,
    progress: Arc<Progress>,
}

impl Resolver {
    pub(crate) fn new(
        node: NodeClient,
        reader: Arc<dyn ChainReader>,
        creations: Arc<CreationFinder>,
        progress: Arc<Progress>,
    ) -> Self {
        let pools = PoolDirectory::new(node.clone(), Arc::clone(&reader));
        Self { pools, standards: Standards::new(node.clone()), node, reader, creations, progress }
    }

    /// Contracts created inside the transactions of a block, if it can be traced, and the outcomes of those whose receipts do not tell
    /// them.
    pub(crate) async fn trace(&self, block: &mut FetchedBlock) -> Option<Vec<InnerCreation>> {
        let found = self.creations.find(block).await;
        decide_outcomes(block, found.as_ref(), &self.node).await;
        found.map(|found| found.creations)
    }

    pub(crate) async fn resolve(&self, decoded: DecodedBlock) -> Result<BlockChanges, FollowError> {
        let DecodedBlock {
            block,
            transactions,
            involved,
            logs,
            transfers,
            approvals,
            touched_holders,
            swaps,
            inner_creations,
            credits,
        } = decoded;
        let transfers = self.resolve_standards(transfers, block.id()).await?;
        let (trades, pools) = self.find_trades(swaps, block.id()).await?;
        Ok(BlockChanges {
            block,
            transactions,
            involved,
            logs,
            transfers,
            approvals,
            touched_holders,
            trades,
            pools,
            inner_creations,
            credits,
        })
    }

    async fn resolve_standards(
        &self,
        transfers: Transfers,
        block: BlockRef,
    ) -> Result<Vec<TransferEvent>, FollowError> {
        let tokens = distinct(transfers.ambiguous.iter().filter_map(|index| Some(transfers.events.get(*index)?.token)));
        let kinds = tokens.iter().copied().map(async |token| {
            let found = self.standards.find(token, block, self.indexed_kind(token)).await;
            self.unless_calls_fail(found, block).await
        });
        let kinds = try_join_all(kinds).await?;
        let known = tokens.into_iter().zip(kinds).filter_map(|(token, kind)| Some((token, kind?)));
        Ok(apply_standards(transfers, &known.collect()))
    }

    async fn indexed_kind(&self, token: Address) -> Result<Option<TokenKind>, StoreError> {
        Ok(self.reader.find_token(token).await?.map(|token| token.kind))
    }

    async fn find_trades(
        &self,
        swaps: Vec<SwapCandidate>,
        block: BlockRef,
    ) -> Result<(Vec<TradeEvent>, Vec<Pool>), FollowError> {
        let emitters = distinct(swaps.iter().map(|swap| swap.emitter));
        let pools = emitters.into_iter().map(async |emitter| {
            let found = self.pools.find(emitter, block).await;
            self.unless_calls_fail(found, block).await
        });
        let pools = try_join_all(pools).await?;
        Ok(trades_of_pools(swaps, pools.into_iter().flatten().flatten().collect()))
    }

    async fn unless_calls_fail<T>(
        &self,
        outcome: Result<T, FollowError>,
        block: BlockRef,
    ) -> Result<Option<T>, FollowError> {
        self.progress.failing_calls.unless_they_fail(outcome, &self.node, block).await
    }
}

fn apply_standards(transfers: Transfers, kinds: &HashMap<Address, TokenKind>) -> Vec<TransferEvent> {
    let Transfers { mut events, ambiguous } = transfers;
    for index in ambiguous {
        let Some(event) = events.get_mut(index) else { continue };
        if kinds.get(&event.token) == Some(&TokenKind::Bep721) {
            event.kind = TokenKind::Bep721;
            event.token_id = Some(event.value);
            event.value = U256::ONE;
        }
    }
    events
}

/// The swaps that are trades, and their pools. Swaps in another style than the pool's are ignored.
fn trades_of_pools(swaps: Vec<SwapCandidate>, mut pools: Vec<Pool>) -> (Vec<TradeEvent>, Vec<Pool>) {
    let styles: HashMap<Address, PoolStyle> = pools.iter().map(|pool| (pool.address, pool.style)).collect();
    let of_its_style = |swap: &SwapCandidate| styles.get(&swap.emitter) == Some(&swap.style);
    let trades: Vec<TradeEvent> = swaps.into_iter().filter(of_its_style).map(SwapCandidate::into_trade).collect();
    let trading: HashSet<Address> = trades.iter().map(|trade| trade.pool).collect();
    pools.retain(|pool| trading.contains(&pool.address));
    (trades, pools)
}

/// Without duplicates, in order of first appearance.
fn distinct(all: impl Iterator<Item = Address>) -> Vec<Address> {
    let mut seen = HashSet::new();
    all.filter(|address| seen.insert(*address)).collect()
}

#[cfg(test)]
mod tests {
    use domain::TradeDirection;

    use super::*;
    use crate::decode::{
        Exchanged,
        samples::{POOL, ROUTER, TOKEN},
    };

    fn swap(log_index: u32, emitter: Address, style: PoolStyle) -> SwapCandidate {
        let (amount_in, amount_out) = (U256::from(100), U256::from(50));
        let exchanged = Exchanged { direction: TradeDirection::ZeroForOne, amount_in, amount_out };
        SwapCandidate { tx_index: 0, log_index, emitter, style, exchanged }
    }

    fn pool(address: Address, style: PoolStyle) -> Pool {
        Pool { address, style, factory: Address::ZERO, token0: TOKEN, token1: ROUTER }
    }

    fn ambiguous_transfer(log_index: u32, token: Address) -> TransferEvent {
        let kind = TokenKind::Bep20;
        let (from, to, value) = (ROUTER, POOL, U256::from(9));
        TransferEvent { tx_index: 0, log_index, batch_index: 0, token, kind, from, to, value, token_id: None }
    }

    #[test]
    fn only_swaps_in_the_style_of_their_pool_are_trades() {
        let swaps = [(POOL, PoolStyle::V2), (ROUTER, PoolStyle::V2), (POOL, PoolStyle::V3), (POOL, PoolStyle::V2)];
        let swaps = (0..).zip(swaps).map(|(log_index, (emitter, style))| swap(log_index, emitter, style)).collect();
        let imitation = pool(TOKEN, PoolStyle::V3);
        let (trades, pools) = trades_of_pools(swaps, vec![pool(POOL, PoolStyle::V2), imitation]);
        assert_eq!(trades.iter().map(|trade| trade.log_index).collect::<Vec<_>>(), [0, 3]);
        assert_eq!(trades[0], swap(0, POOL, PoolStyle::V2).into_trade());
        assert_eq!(pools, [pool(POOL, PoolStyle::V2)]);
    }

    #[test]
    fn an_ambiguous_transfer_becomes_an_nft_if_the_contract_is_one() {
        let events = vec![ambiguous_transfer(0, TOKEN), ambiguous_transfer(1, POOL), ambiguous_transfer(2, TOKEN)];
        let transfers = Transfers { events: events.clone(), ambiguous: vec![0, 1] };
        let kinds = HashMap::from([(TOKEN, TokenKind::Bep721), (POOL, TokenKind::Bep20)]);
        let nft = TransferEvent {
            kind: TokenKind::Bep721,
            value: U256::ONE,
            token_id: Some(U256::from(9)),
            ..ambiguous_transfer(0, TOKEN)
        };
        assert_eq!(apply_standards(transfers, &kinds), [nft, events[1], events[2]]);
    }
}
