//! The conformance suite that every store must pass: random chains with reorgs, every result compared with a model that
//! keeps everything in plain collections and scans all of it.
//!
//! A failed comparison panics, with the seed and the step in its message.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "a check that does not hold panics")]

mod approvals;
mod blocks;
mod chain;
mod checks;
mod contract_data;
mod credits;
mod internal;
mod known_addresses;
mod logs;
mod model;
mod nfts;
mod queries;
mod random_logs;
mod raw_records;
mod trades;
mod transactions;
mod transfers;
mod user_records;
mod verified_contracts;
mod walk;
mod webhook_records;
mod writers;
mod written_data;

use std::sync::Arc;

pub use chain::RandomChain;
pub use contract_data::run_contract_data;
use domain::{
    Address, AuditResult, B256, BlockChanges, BlockNumber, Bytes, ChainIdentity, PendingToken, TokenMetadata, U256,
};
pub use model::Model;
use rand::{Rng, SeedableRng, rngs::StdRng};
pub use raw_records::{leave_records, run_raw_records};
pub use user_records::run_user_records;
pub use verified_contracts::{VerifiedSubject, run_verified_contracts};
pub use webhook_records::{run_webhook_limits, run_webhook_records};
pub use writers::run_writers;
pub use written_data::{Durable, DurableData, Fingerprint, WrittenData};

use store::{CachedAccounts, CachedFailures, CachedNftMetadata, ChainReader, IndexWriter, Store, StoreError, Undo};

/// An empty store to test.
#[expect(missing_debug_implementations, reason = "traits without Debug")]
pub struct Subject {
    pub writer: Box<dyn IndexWriter>,
    pub reader: Arc<dyn ChainReader>,
    pub accounts: Arc<dyn CachedAccounts>,
    pub failures: Arc<dyn CachedFailures>,
    pub nft_metadata: Arc<dyn CachedNftMetadata>,
}

impl Subject {
    #[must_use]
    pub fn of(store: &dyn Store) -> Self {
        Self {
            writer: store.writer(),
            reader: store.reader(),
            accounts: store.accounts(),
            failures: store.failures(),
            nft_metadata: store.nft_metadata(),
        }
    }
}

/// The parameters of a run.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    pub seed: u64,
    /// Blocks to commit in total, including those reverted later.
    pub blocks: u64,
    /// Commits and reverts between two full comparisons.
    pub steps_between_checks: u32,
}

/// Fills an empty store with a random chain, starts over, and fills it with another one.
pub async fn run_start_over(store: &dyn Store, plan: Plan) {
    let chain = |number: u64| ChainIdentity { chain_id: number, genesis_hash: B256::with_last_byte(7) };
    store.bind(chain(1), None).await.expect("bind");
    store.set_dev_chain(true).await.expect("mark");
    assert!(store.is_dev_chain().await.expect("mark"));
    for number in 2..4 {
        let mut subject = Subject::of(store);
        run_index(&mut subject, Plan { seed: plan.seed + number, ..plan }).await;
        // Accounts belong to the index; failures are records, which stay.
        checks::cached_accounts(&subject, Address::repeat_byte(0x77)).await;
        let before = store.reader().state();
        store.writer().start_over(chain(number)).await.expect("start over");
        assert_ne!(store.reader().state(), before, "cached responses are not valid any more");
        assert_eq!(store.identity().await.expect("identity"), Some(chain(number)));
        assert_eq!(store.bind(chain(number), None).await.expect("bind"), 0);
    }
    // It begins with comparisons of an empty index.
    run_index(&mut Subject::of(store), plan).await;
}

/// Undo data is kept for this many blocks, so that the suite also tries reverts that go too deep.
const UNDO_DEPTH: u64 = 64;

/// Commits and reverts blocks of a random chain, and compares the store with the model throughout.
pub async fn run(mut subject: Subject, plan: Plan) {
    run_index(&mut subject, plan).await;
    checks::cached_accounts(&subject, Address::repeat_byte(0x77)).await;
    checks::cached_failures(&subject).await;
    nfts::cached_metadata(&subject).await;
}

async fn run_index(subject: &mut Subject, plan: Plan) {
    let mut rng = StdRng::seed_from_u64(plan.seed);
    let mut chain = RandomChain::new(plan.seed);
    let mut model = Model::default();
    checks::all(subject, &model, &chain, &mut rng).await;
    let mut last_snapshot = checks::Snapshot::take(subject, &chain).await;

    let (mut committed, mut step) = (0, 0);
    while committed < plan.blocks {
        step += 1;
        if rng.random_ratio(1, 6) && model.tip().is_some() {
            revert(subject, &mut model, &mut rng).await;
        } else {
            committed += commit(subject, &mut model, &mut chain, &mut rng).await;
        }
        if rng.random_ratio(1, 5) {
            fetch_pending_tokens(subject, &mut model, &mut rng).await;
        }
        if rng.random_ratio(1, 5) {
            audit_some(subject, &mut model, &mut rng).await;
        }
        if rng.random_ratio(1, 3) {
            let limit = rng.random_range(1..30);
            fetch_pending_balances(subject, &mut model, &mut rng, limit).await;
            subject.writer.rank_holders(limit).await.expect("rank");
        }
        if rng.random_ratio(1, 4) {
            let limit = rng.random_range(1..30);
            fetch_pending_codes(subject, &mut model, &mut rng, limit).await;
        }
        if rng.random_ratio(1, 2) {
            internal::trace_some(subject, &mut model, &mut chain, &mut rng).await;
        }
        assert_eq!(
            subject.writer.tip().await.expect("tip"),
            model.tip(),
            "tip after step {step} of seed {}",
            plan.seed
        );
        last_snapshot = last_snapshot.compare_with(checks::Snapshot::take(subject, &chain).await);
        if step % plan.steps_between_checks == 0 {
            checks::all(subject, &model, &chain, &mut rng).await;
            checks::rejections(subject, &model, &mut chain).await;
            finish_background_work(subject, &mut model, &mut rng).await;
            checks::holders(subject, &model, &chain).await;
            checks::codes(subject, &model, &chain).await;
        }
    }
    checks::all(subject, &model, &chain, &mut rng).await;
}

/// Stores metadata of some pending tokens, as fetched from a node.
async fn fetch_pending_tokens(subject: &mut Subject, model: &mut Model, rng: &mut StdRng) {
    let Some(tip) = model.tip() else { return };
    let tokens = model.tokens();
    let pending = subject.writer.list_pending_tokens(rng.random_range(1..20)).await.expect("pending");
    let mut fetched = Vec::new();
    for PendingToken { token: address, kind } in pending {
        let token = tokens.iter().find(|token| token.address == address).expect("a known token");
        assert_eq!(kind, token.kind);
        let metadata = TokenMetadata {
            name: format!("Token {}", rng.random::<u16>()),
            symbol: "TKN".to_owned(),
            decimals: rng.random::<bool>().then(|| rng.random()),
            total_supply: rng.random::<bool>().then(|| U256::from_limbs(rng.random())),
            requested_at: Some(tip.number),
        };
        model.save_token_metadata(address, metadata.clone());
        fetched.push((address, metadata));
    }
    let done: Vec<Address> = fetched.iter().map(|(token, _)| *token).collect();
    subject.writer.save_token_metadata(fetched).await.expect("metadata");
    let left = subject.writer.list_pending_tokens(usize::MAX).await.expect("pending");
    assert!(left.iter().all(|pending| !done.contains(&pending.token)), "a fetched token is still pending");
}

/// Keeps random audit verdicts, and checks the sampled balances.
async fn audit_some(subject: &mut Subject, model: &mut Model, rng: &mut StdRng) {
    let samples = subject.writer.list_audits(rng.random_range(1..6)).await.expect("audits");
    let mut verdicts = Vec::new();
    for sample in samples {
        let derived = model.derived_balances(sample.token);
        for holder in &sample.holders {
            assert_ne!(holder.address, Address::ZERO);
            assert_eq!(derived.get(&holder.address).copied().unwrap_or_default(), holder.balance, "a sampled balance");
        }
        let verdict = if rng.random_ratio(1, 8) { AuditResult::DoesNotAddUp } else { AuditResult::AddsUp };
        model.save_audit(sample.token, verdict);
        verdicts.push((sample.token, verdict));
    }
    let Some(tip) = model.tip() else { return };
    subject.writer.save_audits(verdicts, tip.number).await.expect("verdicts");
}

/// Stores random balances for some pending ones; returns how many.
async fn fetch_pending_balances(subject: &mut Subject, model: &mut Model, rng: &mut StdRng, limit: usize) -> usize {
    let pending = subject.writer.list_pending_balances(limit).await.expect("pending");
    let fetched: Vec<_> = pending.into_iter().map(|key| (key, U256::from(rng.random_range(0..4_u8)))).collect();
    for (key, balance) in &fetched {
        assert_ne!(key.holder, Address::ZERO);
        model.save_balance(*key, *balance);
    }
    let count = fetched.len();
    if let Some(tip) = model.tip() {
        subject.writer.save_balances(fetched, tip.number).await.expect("balances");
    }
    count
}

/// Stores one of a few codes, empty code or a delegation for some pending addresses; returns how many.
async fn fetch_pending_codes(subject: &mut Subject, model: &mut Model, rng: &mut StdRng, limit: usize) -> usize {
    let pending = subject.writer.list_pending_codes(limit).await.expect("pending");
    let fetched: Vec<(Address, Bytes)> = pending
        .into_iter()
        .map(|address| {
            let code = match rng.random_range(0..6_u8) {
                0 => Vec::new(),
                1 => [&[0xef, 0x01, 0x00][..], &[7; 20]].concat(),
                kind => vec![0x60, kind],
            };
            (address, code.into())
        })
        .collect();
    for (address, code) in &fetched {
        model.save_code(*address, code.clone());
    }
    let count = fetched.len();
    if let Some(tip) = model.tip() {
        subject.writer.save_codes(fetched, tip.number).await.expect("codes");
    }
    count
}

/// Completes all background work, so that nothing lags behind the tip.
async fn finish_background_work(subject: &mut Subject, model: &mut Model, rng: &mut StdRng) {
    while fetch_pending_balances(subject, model, rng, 50).await + subject.writer.rank_holders(50).await.expect("rank")
        > 0
    {}
    assert_eq!(model.unfetched_balances(), [], "balances that are not pending");
    while fetch_pending_codes(subject, model, rng, 50).await > 0 {}
    assert_eq!(model.unfetched_codes(), [] as [Address; 0], "code that is not pending");
}

async fn commit(subject: &mut Subject, model: &mut Model, chain: &mut RandomChain, rng: &mut StdRng) -> u64 {
    let count = if rng.random_ratio(1, 4) { rng.random_range(2..20) } else { 1 };
    let mut blocks: Vec<BlockChanges> = Vec::new();
    for _ in 0..count {
        let parent = blocks.last().map(|changes| changes.block.clone()).or_else(|| model.newest_block());
        blocks.push(chain.next_block(parent.as_ref()));
    }
    let last = blocks[blocks.len() - 1].block.number;
    // On a real chain only the oldest blocks are finalized; here any commit may discard undo data.
    let undo =
        if rng.random_ratio(1, 40) { Undo::Discard } else { Undo::Keep { down_to: last.saturating_sub(UNDO_DEPTH) } };
    let before = subject.reader.state();
    subject.writer.commit(blocks.clone(), undo).await.expect("commit");
    assert_ne!(subject.reader.state(), before, "a commit makes a new version");
    model.commit(blocks, undo);
    count
}

async fn revert(subject: &mut Subject, model: &mut Model, rng: &mut StdRng) {
    let Some(tip) = model.tip() else { return };
    let depth = if rng.random_ratio(1, 5) { rng.random_range(1..=UNDO_DEPTH + 4) } else { rng.random_range(1..=4) };
    let target: BlockNumber = tip.number.saturating_sub(depth);
    let oldest = model.oldest_revertible();
    assert_eq!(subject.writer.oldest_revertible().await.expect("oldest"), oldest);
    match subject.writer.revert_to(target).await {
        Ok(()) => {
            assert!(oldest.is_some_and(|oldest| target >= oldest), "reverted to {target}, below {oldest:?}");
            model.revert_to(target);
        }
        Err(StoreError::BeyondUndo { .. }) => {
            assert!(oldest.is_none_or(|oldest| target < oldest), "refused to revert to {target}, not below {oldest:?}");
        }
        Err(other) => panic!("revert to {target}: {other}"),
    }
}
