//! Verifies that emitters of swaps are pools.

use std::sync::Arc;

use alloy_primitives::Bytes;
use domain::{Address, BlockRef, Pool, PoolStyle, Selector};
use node::{CallBlock, CallResult, ContractCall, NodeClient, NodeError};
use store::ChainReader;

use crate::{
    abi::{Word, address, address_word, call_data, words},
    follow_error::FollowError,
    single_flight::SingleFlight,
};

/// `token0()`
const TOKEN0: Selector = [0x0d, 0xfe, 0x16, 0x81];
/// `token1()`
const TOKEN1: Selector = [0xd2, 0x12, 0x20, 0xa7];
/// `factory()`
const FACTORY: Selector = [0xc4, 0x5a, 0x01, 0x55];
/// `fee()`
const FEE: Selector = [0xdd, 0xca, 0x3f, 0x43];
/// `getPair(address,address)`
const GET_PAIR: Selector = [0xe6, 0xa4, 0x39, 0x05];
/// `getPool(address,address,uint24)`
const GET_POOL: Selector = [0x16, 0x98, 0xee, 0x82];

/// Cached emitters, pools or not.
const CACHE_CAPACITY: usize = 100_000;

/// Verifies pools with their factories. Any contract can emit a swap and name a factory, but a factory returns only its
/// own pools.
pub(crate) struct PoolDirectory {
    node: NodeClient,
    reader: Arc<dyn ChainReader>,
    /// None: not a pool.
    known: SingleFlight<Option<Pool>>,
}

impl PoolDirectory {
    pub(crate) fn new(node: NodeClient, reader: Arc<dyn ChainReader>) -> Self {
        Self { node, reader, known: SingleFlight::new(CACHE_CAPACITY) }
    }

    /// The pool at an address that emitted a swap in a block.
    pub(crate) async fn find(&self, emitter: Address, seen_in: BlockRef) -> Result<Option<Pool>, FollowError> {
        self.known.find(emitter, || self.look_up(emitter, seen_in)).await
    }

    async fn look_up(&self, emitter: Address, seen_in: BlockRef) -> Result<Option<Pool>, FollowError> {
        if let Some(pool) = self.reader.find_pool(emitter).await? {
            return Ok(Some(pool));
        }
        Ok(query_pool(&self.node, emitter, seen_in).await?)
    }
}

async fn query_pool(node: &NodeClient, emitter: Address, seen_in: BlockRef) -> Result<Option<Pool>, NodeError> {
    let properties = [TOKEN0, TOKEN1, FACTORY, FEE].map(|getter| (emitter, call_data(getter, &[])));
    let [token0, token1, factory, fee] = call(node, properties, seen_in).await?;
    let properties = [token0, token1, factory].map(|result| result.as_ref().and_then(address));
    let [Some(token0), Some(token1), Some(factory)] = properties else { return Ok(None) };
    let tokens = [address_word(token0), address_word(token1)];
    // Both styles are queried whatever the swap looked like, so that an emitter of both is always the same pool.
    let by_tokens = (factory, call_data(GET_PAIR, &tokens));
    let by_fee = (factory, call_data(GET_POOL, &[tokens[0], tokens[1], fee.unwrap_or_default()]));
    let [pair, pool] = call(node, [by_tokens, by_fee], seen_in).await?;
    let confirms = |result: Option<Word>| result.as_ref().and_then(address) == Some(emitter);
    let style = match (confirms(pair), confirms(pool)) {
        (true, _) => PoolStyle::V2,
        (false, true) if fee.is_some() => PoolStyle::V3,
        _ => return Ok(None),
    };
    Ok(Some(Pool { address: emitter, style, factory, token0, token1 }))
}

/// Calls that return one word.
async fn call<const N: usize>(
    node: &NodeClient,
    calls: [(Address, Bytes); N],
    at: BlockRef,
) -> Result<[Option<Word>; N], NodeError> {
    let calls = calls.into_iter().map(|(to, data)| ContractCall { to, data }).collect();
    let called = node.calls(calls, CallBlock::At(at)).await?;
    let mut found = [None; N];
    for (found, result) in found.iter_mut().zip(called.results) {
        if let CallResult::Returned(bytes) = result {
            *found = words(&bytes).map(|[word]| word);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use alloy_primitives::keccak256;

    use super::*;
    use crate::{
        decode::samples::{POOL, ROUTER, TOKEN, uint},
        test_node::{CallReply, TestNode},
    };

    const OTHER_TOKEN: Address = Address::repeat_byte(0x0e);
    const POOL_FACTORY: Address = Address::repeat_byte(0xfa);

    fn address_reply(address: Address) -> CallReply {
        CallReply::Return(address_word(address).to_vec())
    }

    /// A pool at POOL, and a copy at ROUTER that names the same factory, which does not know the copy.
    fn contracts(style: PoolStyle) -> impl Fn(Address, &[u8]) -> CallReply {
        let tokens = [address_word(TOKEN), address_word(OTHER_TOKEN)];
        let by_tokens = call_data(GET_PAIR, &tokens);
        let by_fee = call_data(GET_POOL, &[tokens[0], tokens[1], uint(500)]);
        move |to, data| match (to, style) {
            (POOL | ROUTER, _) if data == TOKEN0 => address_reply(TOKEN),
            (POOL | ROUTER, _) if data == TOKEN1 => address_reply(OTHER_TOKEN),
            (POOL | ROUTER, _) if data == FACTORY => address_reply(POOL_FACTORY),
            (POOL | ROUTER, PoolStyle::V3) if data == FEE => CallReply::Return(uint(500).to_vec()),
            (POOL_FACTORY, PoolStyle::V2) if *by_tokens == *data => address_reply(POOL),
            (POOL_FACTORY, PoolStyle::V3) if *by_fee == *data => address_reply(POOL),
            _ => CallReply::Revert,
        }
    }

    #[tokio::test]
    async fn a_pool_must_be_confirmed_by_its_factory() {
        for style in PoolStyle::ALL {
            let node = TestNode::start(contracts(style)).await;
            let found = query_pool(&node.client(), POOL, node.head()).await.unwrap();
            assert_eq!(
                found,
                Some(Pool { address: POOL, style, factory: POOL_FACTORY, token0: TOKEN, token1: OTHER_TOKEN })
            );
            assert_eq!(query_pool(&node.client(), ROUTER, node.head()).await.unwrap(), None, "a copy is not a pool");
            assert_eq!(query_pool(&node.client(), TOKEN, node.head()).await.unwrap(), None);
        }
    }

    #[tokio::test]
    async fn invalid_addresses_are_not_a_pool() {
        for garbage in [vec![], vec![0xff; 32], vec![0; 64], vec![1; 20]] {
            let node = TestNode::start(move |_, _| CallReply::Return(garbage.clone())).await;
            assert_eq!(query_pool(&node.client(), POOL, node.head()).await.unwrap(), None);
        }
    }

    #[tokio::test]
    async fn a_failing_node_is_an_error() {
        let node = TestNode::start(|_, _| CallReply::Fail).await;
        assert!(query_pool(&node.client(), POOL, node.head()).await.is_err());
    }

    #[test]
    fn each_selector_is_the_hash_of_its_signature() {
        for (selector, signature) in [
            (TOKEN0, "token0()"),
            (TOKEN1, "token1()"),
            (FACTORY, "factory()"),
            (FEE, "fee()"),
            (GET_PAIR, "getPair(address,address)"),
            (GET_POOL, "getPool(address,address,uint24)"),
        ] {
            assert_eq!(selector, keccak256(signature)[..4], "{signature}");
        }
    }
}
