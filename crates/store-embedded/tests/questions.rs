//! Which questions the store raises, and in which order.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::collections::BTreeSet;

use domain::{
    Address, AuditResult, B256, BalanceQuestion, Block, BlockChanges, BlockNumber, TokenFacts, TokenKind,
    TouchedHolder, Transaction, TransferEvent, U256,
};
use store::{ChainReader, ChainWriter, Undo};
use store_embedded::{EmbeddedReader, EmbeddedStore, EmbeddedWriter, StoreOptions};
use tempfile::TempDir;

const KEEP: Undo = Undo::Keep { down_to: 0 };
const ALICE: Address = Address::repeat_byte(0xa1);
const BOB: Address = Address::repeat_byte(0xb0);
const CAROL: Address = Address::repeat_byte(0xca);
const COIN: Address = Address::repeat_byte(0xc0);

/// A store with a chain that the test extends.
struct Chain {
    writer: EmbeddedWriter,
    reader: EmbeddedReader,
    next: BlockNumber,
    _folder: TempDir,
}

impl Chain {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
        Self { writer: store.writer(), reader: store.reader(), next: 0, _folder: folder }
    }

    /// A block with one transaction and these transfers in it.
    fn block(&mut self, transfers: &[(Address, Address, Address, u64)]) -> BlockChanges {
        let number = self.next;
        self.next += 1;
        let hash = |number: u64| B256::left_padding_from(&(number + 1).to_be_bytes());
        let block = Block {
            number,
            hash: hash(number),
            parent_hash: if number == 0 { B256::ZERO } else { hash(number - 1) },
            timestamp: number,
            miner: Address::ZERO,
            tx_count: 1,
            gas_used: 0,
            gas_limit: 0,
            base_fee_per_gas: None,
            size: 0,
        };
        let tx = Transaction {
            hash: hash(number),
            block_number: number,
            block_hash: hash(number),
            index: 0,
            timestamp: number,
            from: ALICE,
            to: Some(ALICE),
            created: None,
            value: U256::ZERO,
            nonce: number,
            gas_used: 21_000,
            gas_price: 1,
            succeeded: true,
            method: None,
        };
        let event = |(log_index, (token, from, to, value)): (u32, &(Address, Address, Address, u64))| TransferEvent {
            tx_index: 0,
            log_index,
            batch_index: 0,
            token: *token,
            kind: TokenKind::Bep20,
            from: *from,
            to: *to,
            value: U256::from(*value),
            token_id: None,
        };
        BlockChanges {
            block,
            transactions: vec![tx],
            involved: Vec::new(),
            transfers: (0..).zip(transfers).map(event).collect(),
            touched_holders: Vec::new(),
            trades: Vec::new(),
            pools: Vec::new(),
            inner_creations: Some(Vec::new()),
        }
    }

    async fn transfer(&mut self, transfers: &[(Address, Address, Address, u64)]) {
        let block = self.block(transfers);
        self.writer.commit(vec![block], KEEP).await.unwrap();
    }

    async fn token_questions(&mut self, limit: usize) -> Vec<Address> {
        let questions = self.writer.list_token_questions(limit).await.unwrap();
        questions.into_iter().map(|question| question.token).collect()
    }

    /// Answers as of the tip.
    async fn answer(&mut self, tokens: &[Address]) {
        let asked_at = Some(self.next - 1);
        let facts = |token: &Address| (*token, TokenFacts { asked_at, ..TokenFacts::default() });
        self.writer.keep_token_facts(tokens.iter().map(facts).collect()).await.unwrap();
    }

    async fn balance_questions(&mut self) -> BTreeSet<Address> {
        let questions = self.writer.list_balance_questions(1_000).await.unwrap();
        questions.into_iter().map(|question| question.holder).collect()
    }
}

fn token(number: u8) -> Address {
    Address::repeat_byte(number)
}

#[tokio::test]
async fn busy_tokens_do_not_delay_new_tokens() {
    let mut chain = Chain::new();
    let busy: Vec<Address> = (1..=8).map(token).collect();
    let mint = |token: &Address| (*token, Address::ZERO, ALICE, 1);
    chain.transfer(&busy.iter().map(mint).collect::<Vec<_>>()).await;
    let all = chain.token_questions(100).await;
    assert_eq!(all.len(), busy.len(), "each once, also if it is both new and minted");
    chain.answer(&all).await;
    assert_eq!(chain.token_questions(100).await, [] as [Address; 0]);

    let mut listed = BTreeSet::new();
    for new_token in 0..4 {
        let new_token = token(100 + new_token);
        let mut transfers: Vec<_> = busy.iter().map(mint).collect();
        transfers.push((new_token, BOB, ALICE, 1));
        chain.transfer(&transfers).await;
        let round = chain.token_questions(4).await;
        assert_eq!(round.len(), 4);
        assert!(round.contains(&new_token), "a new token comes first");
        chain.answer(&round).await;
        listed.extend(round);
    }
    assert!(busy.iter().all(|token| listed.contains(token)), "every busy token is listed in some round");
}

#[tokio::test]
async fn new_tokens_do_not_delay_supply_updates() {
    let mut chain = Chain::new();
    chain.transfer(&[(COIN, Address::ZERO, ALICE, 5)]).await;
    chain.answer(&[COIN]).await;
    let mut transfers: Vec<_> = (1..=40).map(|number| (token(number), BOB, ALICE, 1)).collect();
    transfers.push((COIN, ALICE, Address::ZERO, 5));
    chain.transfer(&transfers).await;
    assert!(chain.token_questions(8).await.contains(&COIN));
}

#[tokio::test]
async fn the_supply_of_a_wrapper_is_fetched_again_after_deposits() {
    let mut chain = Chain::new();
    chain.transfer(&[(COIN, BOB, ALICE, 5)]).await;
    chain.answer(&[COIN]).await;
    chain.transfer(&[(COIN, BOB, ALICE, 5)]).await;
    assert_eq!(chain.token_questions(10).await, [] as [Address; 0], "a transfer does not change the supply");
    let mut deposit = chain.block(&[]);
    deposit.touched_holders = vec![TouchedHolder { token: COIN, holder: BOB }];
    // A contract that is not a token may emit such an event too.
    deposit.touched_holders.push(TouchedHolder { token: CAROL, holder: BOB });
    chain.writer.commit(vec![deposit], KEEP).await.unwrap();
    assert_eq!(chain.token_questions(10).await, [COIN]);
}

#[tokio::test]
async fn an_active_token_is_fetched_again_after_a_long_time() {
    let mut chain = Chain::new();
    let idle = token(9);
    chain.transfer(&[(COIN, BOB, ALICE, 5), (idle, BOB, ALICE, 5)]).await;
    chain.answer(&[COIN, idle]).await;
    let quiet: Vec<BlockChanges> = (0..10_000).map(|_| chain.block(&[])).collect();
    chain.writer.commit(quiet, Undo::Discard).await.unwrap();
    assert_eq!(chain.token_questions(10).await, [] as [Address; 0]);
    chain.transfer(&[(COIN, BOB, ALICE, 5)]).await;
    assert_eq!(chain.token_questions(10).await, [COIN], "the one that moved");
    chain.answer(&[COIN]).await;
    chain.transfer(&[(COIN, BOB, ALICE, 5)]).await;
    assert_eq!(chain.token_questions(10).await, [] as [Address; 0]);
}

#[tokio::test]
async fn without_reliable_events_all_of_few_holders_are_fetched_at_every_move_and_revert() {
    let mut chain = Chain::new();
    chain.transfer(&[(COIN, Address::ZERO, CAROL, 50), (COIN, Address::ZERO, ALICE, 50)]).await;
    let audits = chain.writer.list_audits(10).await.unwrap();
    assert_eq!(audits.len(), 1);
    chain.writer.keep_audits(vec![(COIN, AuditResult::DoesNotAddUp)], 0).await.unwrap();
    let answer = async |chain: &mut Chain| {
        let listed = chain.balance_questions().await;
        let answers = listed.iter().map(|holder| (BalanceQuestion { token: COIN, holder: *holder }, U256::from(7)));
        chain.writer.keep_balances(answers.collect(), chain.next - 1).await.unwrap();
        listed
    };
    assert_eq!(answer(&mut chain).await, BTreeSet::from([ALICE, CAROL]));
    // Carol's balance may change without an event.
    chain.transfer(&[(COIN, ALICE, BOB, 10)]).await;
    assert_eq!(answer(&mut chain).await, BTreeSet::from([ALICE, BOB, CAROL]));
    assert_eq!(answer(&mut chain).await, BTreeSet::new());
    chain.writer.revert_to(0).await.unwrap();
    chain.next = 1;
    assert_eq!(answer(&mut chain).await, BTreeSet::from([ALICE, CAROL]));
    while chain.writer.rank_holders(100).await.unwrap() > 0 {}
    assert_eq!(chain.reader.find_token(COIN).await.unwrap().unwrap().holder_count, 2);
}

#[tokio::test]
async fn a_token_with_many_unranked_holders_can_move() {
    let mut chain = Chain::new();
    let holders: Vec<Address> = (1..=100).map(Address::with_last_byte).collect();
    let mints: Vec<_> = holders.iter().map(|holder| (COIN, Address::ZERO, *holder, 50)).collect();
    chain.transfer(&mints).await;
    chain.writer.keep_audits(vec![(COIN, AuditResult::DoesNotAddUp)], 0).await.unwrap();
    let listed = chain.balance_questions().await;
    assert_eq!(listed.len(), holders.len());
    let answers = listed.iter().map(|holder| (BalanceQuestion { token: COIN, holder: *holder }, U256::from(7)));
    chain.writer.keep_balances(answers.collect(), 0).await.unwrap();

    // The ranking lags behind, and is still empty.
    chain.transfer(&[(COIN, holders[0], holders[1], 1)]).await;
    assert_eq!(chain.balance_questions().await, BTreeSet::from([holders[0], holders[1]]));
    while chain.writer.rank_holders(100).await.unwrap() > 0 {}
    chain.transfer(&[(COIN, holders[0], holders[1], 1)]).await;
    assert!(chain.balance_questions().await.len() >= 10, "the largest holders are fetched with those that moved");
    assert_eq!(chain.reader.find_token(COIN).await.unwrap().unwrap().holder_count, 100);
}

#[tokio::test]
async fn the_first_transfers_of_a_token_are_all_audited() {
    let mut chain = Chain::new();
    for number in 1..=16 {
        chain.transfer(&[(COIN, Address::ZERO, ALICE, 1)]).await;
        let audits = chain.writer.list_audits(10).await.unwrap();
        assert_eq!(audits.len(), 1, "transfer {number}");
        chain.writer.keep_audits(vec![(COIN, AuditResult::AddsUp)], chain.next - 1).await.unwrap();
    }
}
