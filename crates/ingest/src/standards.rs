//! Of which standard a token is, where its events do not tell.

use domain::{Address, BlockRef, Selector, TokenKind};
use node::{CallBlock, ContractAnswer, ContractCall, NodeClient, NodeError};
use store::StoreError;

use crate::abi::{Word, call_data, number};
use crate::asked_once::AskedOnce;
use crate::setback::Setback;

/// `supportsInterface(bytes4)`, of ERC-165
const SUPPORTS_INTERFACE: Selector = [0x01, 0xff, 0xc9, 0xa7];
/// Of BEP721, and of the draft that the first collectibles followed: those are the ones with the old event.
const COLLECTIBLES: [Selector; 2] = [[0x80, 0xac, 0x58, 0xcd], [0x9a, 0x20, 0x48, 0x3d]];

/// Tokens that are remembered.
const REMEMBERED: usize = 50_000;

/// Asks tokens once each, by ERC-165.
pub(crate) struct Standards {
    node: NodeClient,
    known: AskedOnce<TokenKind>,
}

impl Standards {
    pub(crate) fn new(node: NodeClient) -> Self {
        Self { node, known: AskedOnce::new(REMEMBERED) }
    }

    /// Whether a transfer whose last field is not indexed tells of amounts or of pieces, for a token that emitted it in
    /// a block. `indexed` tells what the index holds the token for; it is looked at where nobody remembers.
    pub(crate) async fn find(
        &self,
        token: Address,
        seen_in: BlockRef,
        indexed: impl Future<Output = Result<Option<TokenKind>, StoreError>>,
    ) -> Result<TokenKind, Setback> {
        self.known.find(token, || self.look_up(token, seen_in, indexed)).await
    }

    async fn look_up(
        &self,
        token: Address,
        seen_in: BlockRef,
        indexed: impl Future<Output = Result<Option<TokenKind>, StoreError>>,
    ) -> Result<TokenKind, Setback> {
        match indexed.await? {
            // It was asked when it was new, and said so.
            Some(TokenKind::Bep20) => Ok(TokenKind::Bep20),
            // New, or known by another event than this.
            _ => Ok(ask(&self.node, token, seen_in).await?),
        }
    }
}

async fn ask(node: &NodeClient, token: Address, seen_in: BlockRef) -> Result<TokenKind, NodeError> {
    let question = |interface: Selector| ContractCall {
        to: token,
        data: call_data(SUPPORTS_INTERFACE, &[left_aligned(interface)]),
    };
    let answered = node.calls(COLLECTIBLES.map(question).into(), CallBlock::At(seen_in)).await?;
    Ok(if answered.answers.iter().any(says_yes) { TokenKind::Bep721 } else { TokenKind::Bep20 })
}

fn left_aligned(interface: Selector) -> Word {
    let mut word = Word::default();
    word[..4].copy_from_slice(&interface);
    word
}

fn says_yes(answer: &ContractAnswer) -> bool {
    match answer {
        ContractAnswer::Returned(bytes) => <&Word>::try_from(bytes.as_ref()).is_ok_and(|word| number(word) == 1),
        ContractAnswer::Reverted => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use alloy_primitives::keccak256;

    use super::*;
    use crate::decode::samples::{ROUTER, TOKEN, uint};
    use crate::test_node::{CallReply, TestNode};

    /// What the index says of a token that it does not know.
    async fn unknown() -> Result<Option<TokenKind>, StoreError> {
        Ok(None)
    }

    #[tokio::test]
    async fn many_who_ask_about_one_token_at_once_cause_one_question() {
        let node = TestNode::start(|to, data| match to {
            TOKEN if data[4..8] == COLLECTIBLES[1] => CallReply::Return(uint(1).to_vec()),
            _ => CallReply::Revert,
        })
        .await;
        let standards = Standards::new(node.client());
        let asked = (0..20).map(|_| standards.find(TOKEN, node.head(), unknown()));
        let kinds = futures::future::try_join_all(asked).await.unwrap();
        assert!(kinds.iter().all(|kind| *kind == TokenKind::Bep721));
        assert_eq!(node.calls(), COLLECTIBLES.len());
        assert_eq!(standards.find(ROUTER, node.head(), unknown()).await.unwrap(), TokenKind::Bep20);
    }

    #[tokio::test]
    async fn a_token_that_the_index_holds_for_amounts_is_not_asked_again() {
        let node = TestNode::start(|_, _| CallReply::Return(uint(1).to_vec())).await;
        let standards = Standards::new(node.client());
        let indexed = async |kind| Ok(Some(kind));
        let amounts = standards.find(TOKEN, node.head(), indexed(TokenKind::Bep20)).await.unwrap();
        assert_eq!((amounts, node.calls()), (TokenKind::Bep20, 0));
        // One that was first seen by another event has not been asked.
        let pieces = standards.find(ROUTER, node.head(), indexed(TokenKind::Bep1155)).await.unwrap();
        assert_eq!((pieces, node.calls()), (TokenKind::Bep721, COLLECTIBLES.len()));
    }

    #[tokio::test]
    async fn a_failed_question_is_asked_again_by_the_next() {
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
    fn only_a_plain_one_is_a_yes() {
        assert!(says_yes(&ContractAnswer::Returned(uint(1).into())));
        for no in [vec![], uint(0).into(), uint(2).into(), vec![1], vec![0xff; 32], [uint(1), uint(1)].concat()] {
            assert!(!says_yes(&ContractAnswer::Returned(no.into())));
        }
        assert!(!says_yes(&ContractAnswer::Reverted));
    }

    #[test]
    fn the_question_is_the_hash_of_its_signature() {
        assert_eq!(SUPPORTS_INTERFACE, keccak256("supportsInterface(bytes4)")[..4]);
        assert_eq!(left_aligned([1, 2, 3, 4])[..5], [1, 2, 3, 4, 0]);
    }
}
