//! Determines the standard of a token if its events are ambiguous.

use domain::{Address, BlockRef, Selector, TokenKind};
use node::{CallBlock, CallResult, ContractCall, NodeClient, NodeError};
use store::StoreError;

use crate::{
    abi::{Word, call_data, number},
    follow_error::FollowError,
    single_flight::SingleFlight,
};

/// `supportsInterface(bytes4)`, of ERC-165
const SUPPORTS_INTERFACE: Selector = [0x01, 0xff, 0xc9, 0xa7];
/// BEP721, and its draft, which the first NFTs with the old event implement.
const NFT_INTERFACES: [Selector; 2] = [[0x80, 0xac, 0x58, 0xcd], [0x9a, 0x20, 0x48, 0x3d]];

/// Cached tokens.
const CACHE_CAPACITY: usize = 50_000;

/// Queries each token once, by ERC-165.
pub(crate) struct Standards {
    node: NodeClient,
    known: SingleFlight<TokenKind>,
}

impl Standards {
    pub(crate) fn new(node: NodeClient) -> Self {
        Self { node, known: SingleFlight::new(CACHE_CAPACITY) }
    }

    /// Whether a transfer without an indexed last field is an amount or an NFT, for a token that emitted it in a block.
    /// `indexed` reads the indexed kind of the token; it is polled on a cache miss.
    pub(crate) async fn find(
        &self,
        token: Address,
        seen_in: BlockRef,
        indexed: impl Future<Output = Result<Option<TokenKind>, StoreError>>,
    ) -> Result<TokenKind, FollowError> {
        self.known.find(token, || self.look_up(token, seen_in, indexed)).await
    }

    async fn look_up(
        &self,
        token: Address,
        seen_in: BlockRef,
        indexed: impl Future<Output = Result<Option<TokenKind>, StoreError>>,
    ) -> Result<TokenKind, FollowError> {
        match indexed.await? {
            // Resolved when the token was first indexed.
            Some(TokenKind::Bep20) => Ok(TokenKind::Bep20),
            // New, or indexed through another event.
            _ => Ok(ask(&self.node, token, seen_in).await?),
        }
    }
}

async fn ask(node: &NodeClient, token: Address, seen_in: BlockRef) -> Result<TokenKind, NodeError> {
    let call = |interface: Selector| ContractCall {
        to: token,
        data: call_data(SUPPORTS_INTERFACE, &[left_aligned(interface)]),
    };
    let called = node.calls(NFT_INTERFACES.map(call).into(), CallBlock::At(seen_in)).await?;
    Ok(if called.results.iter().any(is_true) { TokenKind::Bep721 } else { TokenKind::Bep20 })
}

fn left_aligned(interface: Selector) -> Word {
    let mut word = Word::default();
    word[..4].copy_from_slice(&interface);
    word
}

fn is_true(result: &CallResult) -> bool {
    match result {
        CallResult::Returned(bytes) => <&Word>::try_from(bytes.as_ref()).is_ok_and(|word| number(word) == 1),
        CallResult::Reverted => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use alloy_primitives::keccak256;

    use super::*;
    use crate::{
        decode::samples::{ROUTER, TOKEN, uint},
        test_node::{CallReply, TestNode},
    };

    /// A token that is not indexed.
    async fn unknown() -> Result<Option<TokenKind>, StoreError> {
        Ok(None)
    }

    #[tokio::test]
    async fn concurrent_lookups_of_a_token_share_one_request() {
        let node = TestNode::start(|to, data| match to {
            TOKEN if data[4..8] == NFT_INTERFACES[1] => CallReply::Return(uint(1).to_vec()),
            _ => CallReply::Revert,
        })
        .await;
        let standards = Standards::new(node.client());
        let asked = (0..20).map(|_| standards.find(TOKEN, node.head(), unknown()));
        let kinds = futures::future::try_join_all(asked).await.unwrap();
        assert!(kinds.iter().all(|kind| *kind == TokenKind::Bep721));
        assert_eq!(node.calls(), NFT_INTERFACES.len());
        assert_eq!(standards.find(ROUTER, node.head(), unknown()).await.unwrap(), TokenKind::Bep20);
    }

    #[tokio::test]
    async fn a_token_indexed_as_fungible_is_not_queried_again() {
        let node = TestNode::start(|_, _| CallReply::Return(uint(1).to_vec())).await;
        let standards = Standards::new(node.client());
        let indexed = async |kind| Ok(Some(kind));
        let amounts = standards.find(TOKEN, node.head(), indexed(TokenKind::Bep20)).await.unwrap();
        assert_eq!((amounts, node.calls()), (TokenKind::Bep20, 0));
        // A token first indexed through another event has not been queried.
        let nft = standards.find(ROUTER, node.head(), indexed(TokenKind::Bep1155)).await.unwrap();
        assert_eq!((nft, node.calls()), (TokenKind::Bep721, NFT_INTERFACES.len()));
    }

    #[tokio::test]
    async fn a_failed_lookup_is_retried_by_the_next_caller() {
        let asked = AtomicUsize::new(0);
        let node = TestNode::start(move |_, _| match asked.fetch_add(1, Ordering::SeqCst) {
            0..2 => CallReply::Fail,
            _ => CallReply::Return(uint(1).to_vec()),
        })
        .await;
        let standards = Standards::new(node.client());
        assert!(standards.find(TOKEN, node.head(), unknown()).await.is_err());
        assert_eq!(standards.find(TOKEN, node.head(), unknown()).await.unwrap(), TokenKind::Bep721);
    }

    #[test]
    fn only_the_word_one_means_true() {
        assert!(is_true(&CallResult::Returned(uint(1).into())));
        for no in [vec![], uint(0).into(), uint(2).into(), vec![1], vec![0xff; 32], [uint(1), uint(1)].concat()] {
            assert!(!is_true(&CallResult::Returned(no.into())));
        }
        assert!(!is_true(&CallResult::Reverted));
    }

    #[test]
    fn the_selector_is_the_hash_of_its_signature() {
        assert_eq!(SUPPORTS_INTERFACE, keccak256("supportsInterface(bytes4)")[..4]);
        assert_eq!(left_aligned([1, 2, 3, 4])[..5], [1, 2, 3, 4, 0]);
    }
}
