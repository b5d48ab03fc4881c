//! Which contract data becomes pending, and in which order it is listed.

use std::collections::BTreeSet;

use domain::{
    Address, AuditResult, B256, BalanceKey, Block, BlockChanges, BlockNumber, Bytes, Involvement, PendingToken,
    TokenKind, TokenMetadata, TouchedHolder, Transaction, TransferEvent, U256,
};

use super::Subject;
use store::Undo;

const KEEP: Undo = Undo::Keep { down_to: 0 };
const ALICE: Address = Address::repeat_byte(0xa1);
const BOB: Address = Address::repeat_byte(0xb0);
const CAROL: Address = Address::repeat_byte(0xca);
const COIN: Address = Address::repeat_byte(0xc0);

/// Tests which contract data a store lists as pending. Each call of `new_subject` returns an empty store.
pub async fn run_contract_data(mut new_subject: impl FnMut() -> Subject) {
    let mut new_chain = || Chain { subject: new_subject(), next: 0 };
    busy_tokens_do_not_delay_new_tokens(new_chain()).await;
    new_tokens_do_not_delay_supply_updates(new_chain()).await;
    the_supply_of_a_wrapper_is_fetched_again_after_deposits(new_chain()).await;
    an_active_token_is_fetched_again_after_a_long_time(new_chain()).await;
    metadata_of_an_older_block_stays_pending(new_chain()).await;
    all_of_few_holders_are_fetched_at_every_move_and_revert(new_chain()).await;
    a_token_with_many_unranked_holders_can_move(new_chain()).await;
    the_first_transfers_of_a_token_are_all_audited(new_chain()).await;
    a_token_that_moves_while_it_is_audited_is_audited_again(new_chain()).await;
    an_audit_samples_the_first_and_the_newest_transfers(new_chain()).await;
    code_is_fetched_when_it_may_be_unknown(new_chain()).await;
}

/// A store with a chain that a check extends.
struct Chain {
    subject: Subject,
    next: BlockNumber,
}

impl Chain {
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
            ..Block::sample()
        };
        let tx = Transaction {
            hash: hash(number),
            block_number: number,
            block_hash: hash(number),
            index: 0,
            timestamp: number,
            from: ALICE,
            to: Some(ALICE),
            value: U256::ZERO,
            nonce: number,
            // A call would make the code of the receiver pending.
            method: None,
            ..Transaction::sample()
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
            transactions: vec![tx],
            transfers: (0..).zip(transfers).map(event).collect(),
            inner_creations: Some(Vec::new()),
            ..BlockChanges::of(block)
        }
    }

    async fn transfer(&mut self, transfers: &[(Address, Address, Address, u64)]) {
        let block = self.block(transfers);
        self.subject.writer.commit(vec![block], KEEP).await.expect("write");
    }

    async fn pending_tokens(&mut self, limit: usize) -> Vec<Address> {
        let pending = self.subject.writer.list_pending_tokens(limit).await.expect("pending tokens");
        pending.into_iter().map(|PendingToken { token, .. }| token).collect()
    }

    /// Stores metadata as of the tip.
    async fn save_metadata(&mut self, tokens: &[Address]) {
        self.save_metadata_at(tokens, Some(self.next - 1)).await;
    }

    async fn save_metadata_at(&mut self, tokens: &[Address], requested_at: Option<BlockNumber>) {
        let metadata = |token: &Address| (*token, TokenMetadata { requested_at, ..TokenMetadata::default() });
        self.subject.writer.save_token_metadata(tokens.iter().map(metadata).collect()).await.expect("write");
    }

    async fn pending_holders(&mut self) -> BTreeSet<Address> {
        let pending = self.subject.writer.list_pending_balances(1_000).await.expect("pending balances");
        pending.into_iter().map(|key| key.holder).collect()
    }

    /// Stores the same balance for every pending holder of the coin, as of the tip, and returns the holders.
    async fn save_pending_balances(&mut self) -> BTreeSet<Address> {
        let holders = self.pending_holders().await;
        let balances = holders.iter().map(|holder| (BalanceKey { token: COIN, holder: *holder }, U256::from(7)));
        self.subject.writer.save_balances(balances.collect(), self.next - 1).await.expect("balances");
        holders
    }

    async fn save_audit(&mut self, result: AuditResult) {
        self.subject.writer.save_audits(vec![(COIN, result)], self.next - 1).await.expect("audits");
    }

    /// Stores this code for every pending address, as of the tip, and returns the addresses.
    async fn save_pending_codes(&mut self, code: &[u8]) -> Vec<Address> {
        let addresses = self.subject.writer.list_pending_codes(100).await.expect("pending codes");
        let codes = addresses.iter().map(|address| (*address, Bytes::copy_from_slice(code)));
        self.subject.writer.save_codes(codes.collect(), self.next - 1).await.expect("codes");
        addresses
    }

    async fn rank_all(&mut self) {
        while self.subject.writer.rank_holders(100).await.expect("rank") > 0 {}
    }

    async fn holder_count(&self) -> u64 {
        self.subject.reader.find_token(COIN).await.expect("token").expect("the coin").holder_count
    }
}

fn token(number: u8) -> Address {
    Address::repeat_byte(number)
}

async fn busy_tokens_do_not_delay_new_tokens(mut chain: Chain) {
    let busy: Vec<Address> = (1..=8).map(token).collect();
    let mint = |token: &Address| (*token, Address::ZERO, ALICE, 1);
    chain.transfer(&busy.iter().map(mint).collect::<Vec<_>>()).await;
    let all = chain.pending_tokens(100).await;
    assert_eq!(all.len(), busy.len(), "each once, also if it is both new and minted");
    chain.save_metadata(&all).await;
    assert_eq!(chain.pending_tokens(100).await, [] as [Address; 0]);

    let mut listed = BTreeSet::new();
    for new_token in 0..4 {
        let new_token = token(100 + new_token);
        let mut transfers: Vec<_> = busy.iter().map(mint).collect();
        transfers.push((new_token, BOB, ALICE, 1));
        chain.transfer(&transfers).await;
        let round = chain.pending_tokens(4).await;
        assert_eq!(round.len(), 4);
        assert!(round.contains(&new_token), "a new token comes first");
        chain.save_metadata(&round).await;
        listed.extend(round);
    }
    assert!(busy.iter().all(|token| listed.contains(token)), "every busy token is listed in some round");
}

async fn new_tokens_do_not_delay_supply_updates(mut chain: Chain) {
    chain.transfer(&[(COIN, Address::ZERO, ALICE, 5)]).await;
    chain.save_metadata(&[COIN]).await;
    let mut transfers: Vec<_> = (1..=40).map(|number| (token(number), BOB, ALICE, 1)).collect();
    transfers.push((COIN, ALICE, Address::ZERO, 5));
    chain.transfer(&transfers).await;
    assert!(chain.pending_tokens(8).await.contains(&COIN));
}

async fn the_supply_of_a_wrapper_is_fetched_again_after_deposits(mut chain: Chain) {
    chain.transfer(&[(COIN, BOB, ALICE, 5)]).await;
    chain.save_metadata(&[COIN]).await;
    chain.transfer(&[(COIN, BOB, ALICE, 5)]).await;
    assert_eq!(chain.pending_tokens(10).await, [] as [Address; 0], "a transfer does not change the supply");
    let mut deposit = chain.block(&[]);
    deposit.touched_holders = vec![TouchedHolder { token: COIN, holder: BOB }];
    // A contract that is not a token may emit such an event too.
    deposit.touched_holders.push(TouchedHolder { token: CAROL, holder: BOB });
    chain.subject.writer.commit(vec![deposit], KEEP).await.expect("write");
    assert_eq!(chain.pending_tokens(10).await, [COIN]);
}

async fn an_active_token_is_fetched_again_after_a_long_time(mut chain: Chain) {
    let idle = token(9);
    chain.transfer(&[(COIN, BOB, ALICE, 5), (idle, BOB, ALICE, 5)]).await;
    chain.save_metadata(&[COIN, idle]).await;
    let quiet: Vec<BlockChanges> = (0..10_000).map(|_| chain.block(&[])).collect();
    chain.subject.writer.commit(quiet, Undo::Discard).await.expect("write");
    assert_eq!(chain.pending_tokens(10).await, [] as [Address; 0]);
    chain.transfer(&[(COIN, BOB, ALICE, 5)]).await;
    assert_eq!(chain.pending_tokens(10).await, [COIN], "the one that moved");
    chain.save_metadata(&[COIN]).await;
    chain.transfer(&[(COIN, BOB, ALICE, 5)]).await;
    assert_eq!(chain.pending_tokens(10).await, [] as [Address; 0]);
}

async fn metadata_of_an_older_block_stays_pending(mut chain: Chain) {
    chain.transfer(&[(COIN, Address::ZERO, ALICE, 5)]).await;
    assert_eq!(chain.pending_tokens(10).await, [COIN]);
    // A mint while the metadata is being fetched.
    chain.transfer(&[(COIN, Address::ZERO, ALICE, 5)]).await;
    chain.save_metadata_at(&[COIN], Some(0)).await;
    assert_eq!(chain.pending_tokens(10).await, [COIN], "fetched before the second mint");
    chain.subject.writer.revert_to(0).await.expect("revert");
    chain.next = 1;
    chain.save_metadata_at(&[COIN], Some(0)).await;
    assert_eq!(chain.pending_tokens(10).await, [] as [Address; 0], "the second mint was reverted");
}

async fn all_of_few_holders_are_fetched_at_every_move_and_revert(mut chain: Chain) {
    chain.transfer(&[(COIN, Address::ZERO, CAROL, 50), (COIN, Address::ZERO, ALICE, 50)]).await;
    chain.save_audit(AuditResult::DoesNotAddUp).await;
    assert_eq!(chain.save_pending_balances().await, BTreeSet::from([ALICE, CAROL]));
    // Carol's balance may change without an event.
    chain.transfer(&[(COIN, ALICE, BOB, 10)]).await;
    assert_eq!(chain.save_pending_balances().await, BTreeSet::from([ALICE, BOB, CAROL]));
    assert_eq!(chain.save_pending_balances().await, BTreeSet::new());
    chain.subject.writer.revert_to(0).await.expect("revert");
    chain.next = 1;
    assert_eq!(chain.save_pending_balances().await, BTreeSet::from([ALICE, CAROL]));
    chain.rank_all().await;
    assert_eq!(chain.holder_count().await, 2);
}

async fn a_token_with_many_unranked_holders_can_move(mut chain: Chain) {
    let holders: Vec<Address> = (1..=100).map(Address::with_last_byte).collect();
    let mints: Vec<_> = holders.iter().map(|holder| (COIN, Address::ZERO, *holder, 50)).collect();
    chain.transfer(&mints).await;
    chain.save_audit(AuditResult::DoesNotAddUp).await;
    assert_eq!(chain.save_pending_balances().await.len(), holders.len());

    // The ranking may lag behind, and may still be empty.
    let moved = BTreeSet::from([holders[0], holders[1]]);
    chain.transfer(&[(COIN, holders[0], holders[1], 1)]).await;
    let pending = chain.save_pending_balances().await;
    assert!(pending.is_superset(&moved) && pending.len() < holders.len(), "{pending:?}");
    chain.rank_all().await;
    chain.transfer(&[(COIN, holders[0], holders[1], 1)]).await;
    let pending = chain.save_pending_balances().await;
    assert!(pending.is_superset(&moved), "{pending:?}");
    assert!((10..=12).contains(&pending.len()), "the ten largest holders and those that moved: {pending:?}");
    assert_eq!(chain.holder_count().await, 100);
}

async fn the_first_transfers_of_a_token_are_all_audited(mut chain: Chain) {
    for number in 1..=16 {
        chain.transfer(&[(COIN, Address::ZERO, ALICE, 1)]).await;
        let audits = chain.subject.writer.list_audits(10).await.expect("audits");
        assert_eq!(audits.len(), 1, "transfer {number}");
        chain.save_audit(AuditResult::AddsUp).await;
        assert_eq!(chain.subject.writer.list_audits(10).await.expect("audits"), [], "transfer {number}");
    }
    chain.save_audit(AuditResult::DoesNotAddUp).await;
    for _ in 0..100 {
        chain.transfer(&[(COIN, Address::ZERO, ALICE, 1)]).await;
    }
    assert_eq!(chain.subject.writer.list_audits(10).await.expect("audits"), [], "a failed audit is permanent");
}

async fn a_token_that_moves_while_it_is_audited_is_audited_again(mut chain: Chain) {
    chain.transfer(&[(COIN, Address::ZERO, ALICE, 1)]).await;
    let at = chain.next - 1;
    chain.transfer(&[(COIN, Address::ZERO, BOB, 1)]).await;
    let writer = &mut chain.subject.writer;
    writer.save_audits(vec![(COIN, AuditResult::AddsUp)], at).await.expect("audits");
    assert_eq!(writer.list_audits(10).await.expect("audits").len(), 1, "the second transfer was not compared");
    writer.save_audits(vec![(COIN, AuditResult::DoesNotAddUp)], at).await.expect("audits");
    assert_eq!(writer.list_audits(10).await.expect("audits"), [], "a failed audit is permanent");
}

async fn an_audit_samples_the_first_and_the_newest_transfers(mut chain: Chain) {
    for number in 1..=16 {
        chain.transfer(&[(COIN, Address::ZERO, Address::with_last_byte(number), 5)]).await;
    }
    let audits = chain.subject.writer.list_audits(10).await.expect("audits");
    let sampled: BTreeSet<Address> = audits[0].holders.iter().map(|holder| holder.address).collect();
    assert_eq!(sampled, BTreeSet::from([1, 2, 13, 14, 15, 16].map(Address::with_last_byte)));
}

async fn code_is_fetched_when_it_may_be_unknown(mut chain: Chain) {
    let called = async |chain: &mut Chain| {
        let mut changes = chain.block(&[]);
        changes.transactions[0].to = Some(BOB);
        changes.transactions[0].method = Some([1, 2, 3, 4]);
        chain.subject.writer.commit(vec![changes], KEEP).await.expect("commit");
    };
    let ran = async |chain: &mut Chain| {
        let mut changes = chain.block(&[]);
        changes.involved = vec![Involvement { tx_index: 0, address: BOB }];
        chain.subject.writer.commit(vec![changes], KEEP).await.expect("commit");
    };
    called(&mut chain).await;
    assert_eq!(chain.save_pending_codes(&[]).await, [BOB]);
    called(&mut chain).await;
    assert_eq!(chain.save_pending_codes(&[]).await, [] as [Address; 0], "calls without code are frequent");
    ran(&mut chain).await;
    assert_eq!(chain.save_pending_codes(&[0x60, 1]).await, [BOB], "there is code now");
    ran(&mut chain).await;
    called(&mut chain).await;
    assert_eq!(chain.save_pending_codes(&[]).await, [] as [Address; 0], "known code is not fetched again");
    let mut creation = chain.block(&[]);
    creation.transactions[0].to = None;
    creation.transactions[0].created = Some(BOB);
    creation.involved = vec![Involvement { tx_index: 0, address: BOB }];
    chain.subject.writer.commit(vec![creation], KEEP).await.expect("commit");
    assert_eq!(chain.save_pending_codes(&[0x60, 2]).await, [BOB], "it may be other code");
    chain.next -= 1;
    chain.subject.writer.revert_to(chain.next - 1).await.expect("revert");
    assert_eq!(chain.save_pending_codes(&[0x60, 1]).await, [BOB], "the reverted block may have changed it");
}
