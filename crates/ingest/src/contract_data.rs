//! Work behind the tip: token metadata, audits of balances derived from events, balances read from contracts where these
//! fail, ranking of holders, and contract code.

mod balances;
mod metadata;
mod text;

use std::time::Duration;

pub(crate) use balances::balance_call;
use balances::{audit, audit_calls, read_balance};
use domain::{
    Address, AuditResult, AuditSample, BalanceKey, BlockNumber, BlockRef, Bytes, PendingToken, TokenMetadata, U256,
};
use metadata::{GETTERS, metadata_calls, read_metadata};
pub(crate) use metadata::{read_number, supply_call};
use node::{CallBlock, NodeClient, NodeError};
use store::{ContractDataWriter, IndexWriter, StoreError};
use tokio::time::Instant;
use tracing::{debug, info, warn};

use crate::background_round::BackgroundRound;

/// Limits per round: some hundred calls each.
const TOKENS_AT_ONCE: usize = 100;
const AUDITS_AT_ONCE: usize = 50;
const BALANCES_AT_ONCE: usize = 500;
const CODES_AT_ONCE: usize = 50;
/// Holders ranked per write.
const RANKS_AT_ONCE: usize = 2_000;
/// How long ranking may delay a block.
const RANKING_TIME: Duration = Duration::from_millis(100);

/// How much of the node's capacity queries may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Blocks come first: a round of queries now and then.
    Gentle,
    /// Round after round while there are queries.
    Brisk,
}

/// Contract data that the store still needs.
#[derive(Debug, Default)]
struct Pending {
    tokens: Vec<PendingToken>,
    audits: Vec<AuditSample>,
    balances: Vec<BalanceKey>,
    codes: Vec<Address>,
}

impl Pending {
    fn is_empty(&self) -> bool {
        self.tokens.is_empty() && self.audits.is_empty() && self.balances.is_empty() && self.codes.is_empty()
    }

    /// Whether the store needs nothing else.
    fn is_all(&self) -> bool {
        self.tokens.len() < TOKENS_AT_ONCE
            && self.audits.len() < AUDITS_AT_ONCE
            && self.balances.len() < BALANCES_AT_ONCE
            && self.codes.len() < CODES_AT_ONCE
    }
}

/// Results with the block at which they hold.
#[derive(Debug, Default, PartialEq, Eq)]
struct Fetched {
    metadata: Vec<(Address, TokenMetadata)>,
    audits: Vec<(Address, AuditResult)>,
    balances: Vec<(BalanceKey, U256)>,
    at: BlockNumber,
    codes: Vec<(Address, Bytes)>,
    codes_at: BlockNumber,
}

/// How much the store still needs since the last block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Backlog {
    Unknown,
    /// The round in the background fetches all of it.
    LastRound,
    Nothing,
}

/// Runs contract queries for the store in the background. The follower only passes queries and results, so no block waits
/// for a token's name.
pub(crate) struct ContractDataFetcher {
    node: NodeClient,
    round: BackgroundRound<Result<Fetched, NodeError>>,
    backlog: Backlog,
    last_round: Option<Instant>,
    backoff_until: Option<Instant>,
    /// Why the last round failed.
    failure: Option<String>,
    gentle_interval: Duration,
    backoff: Duration,
}

impl ContractDataFetcher {
    /// `backoff` is the pause after the node failed.
    pub(crate) fn new(node: NodeClient, gentle_interval: Duration, backoff: Duration) -> Self {
        let (round, backlog) = (BackgroundRound::none(), Backlog::Unknown);
        Self { node, round, backlog, last_round: None, backoff_until: None, failure: None, gentle_interval, backoff }
    }

    /// Stores available results, starts a new round if due, and ranks holders. Does not wait for the node.
    pub(crate) async fn step(&mut self, writer: &mut dyn IndexWriter, pace: Pace) -> Result<(), StoreError> {
        if pace == Pace::Gentle {
            self.backlog = Backlog::Unknown;
        }
        if let Some(fetched) = self.take_results().await {
            save(writer, fetched).await?;
            if self.backlog == Backlog::LastRound {
                self.backlog = Backlog::Nothing;
            }
        }
        if self.is_time(pace, Instant::now())
            && let Some(tip) = writer.tip().await?
        {
            let pending = Pending {
                tokens: writer.list_pending_tokens(TOKENS_AT_ONCE).await?,
                audits: writer.list_audits(AUDITS_AT_ONCE).await?,
                balances: writer.list_pending_balances(BALANCES_AT_ONCE).await?,
                codes: writer.list_pending_codes(CODES_AT_ONCE).await?,
            };
            self.fetch(pending, tip, Instant::now());
            rank(writer, pace).await?;
        }
        Ok(())
    }

    /// Whether the store had all contract data at some time since the last block.
    pub(crate) fn is_complete(&self) -> bool {
        self.backlog == Backlog::Nothing
    }

    /// Why the last round failed, if it did.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Waits for the round in the background; without one, forever. Cancel safe.
    pub(crate) async fn results(&mut self) {
        self.round.ended().await;
    }

    /// Drops results of an abandoned branch.
    pub(crate) fn forget(&mut self) {
        self.backlog = Backlog::Unknown;
        self.round.forget();
    }

    /// None: no results yet, or the node failed and is retried later.
    async fn take_results(&mut self) -> Option<Fetched> {
        match self.round.take().await? {
            Ok(fetched) => {
                debug!(
                    tokens = fetched.metadata.len(),
                    audits = fetched.audits.len(),
                    balances = fetched.balances.len(),
                    codes = fetched.codes.len(),
                    "received contract data"
                );
                self.failure = None;
                Some(fetched)
            }
            Err(error) => {
                warn!(%error, "querying contracts failed, retrying later");
                self.failure = Some(error.in_public());
                self.backoff_until = Some(Instant::now() + self.backoff);
                None
            }
        }
    }

    fn is_time(&self, pace: Pace, now: Instant) -> bool {
        let backoff_over = self.backoff_until.is_none_or(|until| until <= now);
        let due = match pace {
            Pace::Gentle => self.last_round.is_none_or(|last| now.duration_since(last) >= self.gentle_interval),
            Pace::Brisk => true,
        };
        !self.round.is_running() && backoff_over && due
    }

    fn fetch(&mut self, pending: Pending, tip: BlockRef, now: Instant) {
        self.last_round = Some(now);
        if pending.is_empty() {
            self.backlog = Backlog::Nothing;
        } else {
            if !pending.is_all() {
                self.backlog = Backlog::Unknown;
            } else if self.backlog == Backlog::Unknown {
                self.backlog = Backlog::LastRound;
            }
            self.round.start(fetch_from_node(self.node.clone(), pending, tip));
        }
    }
}

async fn save(writer: &mut dyn ContractDataWriter, fetched: Fetched) -> Result<(), StoreError> {
    let Fetched { metadata, audits, balances, at, codes, codes_at } = fetched;
    for (token, _) in audits.iter().filter(|(_, result)| *result == AuditResult::DoesNotAddUp) {
        info!(%token, block = at, "the events of a token do not match its balances: reading balances from its contract from now on");
    }
    writer.save_token_metadata(metadata).await?;
    writer.save_audits(audits, at).await?;
    writer.save_balances(balances, at).await?;
    writer.save_codes(codes, codes_at).await
}

/// Ranks holders, either one batch or for up to [`RANKING_TIME`].
async fn rank(writer: &mut dyn ContractDataWriter, pace: Pace) -> Result<(), StoreError> {
    let begun = Instant::now();
    while writer.rank_holders(RANKS_AT_ONCE).await? > 0 && pace == Pace::Brisk && begun.elapsed() < RANKING_TIME {}
    Ok(())
}

async fn fetch_from_node(node: NodeClient, pending: Pending, tip: BlockRef) -> Result<Fetched, NodeError> {
    let Pending { tokens, audits, balances, codes } = pending;
    let metadata = tokens.iter().flat_map(|pending| metadata_calls(pending.token));
    let samples = audits.iter().flat_map(audit_calls);
    let holders = balances.iter().map(|key| balance_call(key.token, key.holder));
    let calls = node.calls(metadata.chain(samples).chain(holders).collect(), CallBlock::At(tip));
    let (called, coded) = tokio::try_join!(calls, node.codes(codes.clone(), tip))?;
    let at = called.block.unwrap_or(tip.number);
    let sampled: usize = audits.iter().map(|sample| sample.holders.len()).sum();
    // What is missing would look like a token without data.
    if called.results.len() != tokens.len() * GETTERS.len() + sampled + balances.len()
        || coded.codes.len() != codes.len()
    {
        let what = "not as many results as calls".to_owned();
        return Err(NodeError::InvalidResponse { method: "eth_call", what });
    }

    let mut rest = called.results.as_slice();
    let mut take = |count: usize| {
        let (taken, left) = rest.split_at(count.min(rest.len()));
        rest = left;
        taken
    };
    let (results, _) = take(tokens.len() * GETTERS.len()).as_chunks::<{ GETTERS.len() }>();
    let metadata = tokens.into_iter().zip(results).map(|(pending, results)| {
        (pending.token, TokenMetadata { requested_at: Some(at), ..read_metadata(pending.kind, results) })
    });
    let metadata = metadata.collect();
    let audits = audits.iter().map(|sample| (sample.token, audit(sample, take(sample.holders.len()))));
    let audits: Vec<_> = audits.collect();
    let results = take(balances.len());
    let balances = balances.into_iter().zip(results).map(|(key, answer)| read_balance(key, answer));
    let balances = balances.collect();
    // An audit is valid only at the block whose balances were sampled.
    let audits = if at == tip.number { audits } else { Vec::new() };
    let codes = codes.into_iter().zip(coded.codes).collect();
    Ok(Fetched { metadata, audits, balances, at, codes, codes_at: coded.block })
}

#[cfg(test)]
mod tests {
    use domain::{Balance, Holder, TokenKind};

    use super::*;
    use crate::{
        decode::samples::{SENDER, TOKEN, uint},
        test_node::{CallReply, TestNode},
    };

    const SECOND: Duration = Duration::from_secs(1);

    fn pending() -> Pending {
        let tokens = [TOKEN, Address::ZERO].map(|token| PendingToken { token, kind: TokenKind::Bep20 });
        let holders = vec![Holder { address: SENDER, balance: Balance::from(9) }];
        Pending {
            tokens: tokens.into(),
            audits: vec![AuditSample { token: TOKEN, holders }],
            balances: vec![BalanceKey { token: TOKEN, holder: SENDER }],
            codes: vec![TOKEN],
        }
    }

    /// One token; all other addresses are empty.
    fn one_token(to: Address, data: &[u8]) -> CallReply {
        let index = GETTERS.iter().position(|getter| data == getter);
        match index {
            _ if to != TOKEN => CallReply::Return(Vec::new()),
            Some(0 | 1) => CallReply::Return([uint(32).to_vec(), uint(3).to_vec(), b"abc".to_vec()].concat()),
            Some(2) => CallReply::Return(uint(18).to_vec()),
            Some(_) => CallReply::Return(uint(1_000).to_vec()),
            None => CallReply::Return(uint(8).to_vec()),
        }
    }

    #[tokio::test]
    async fn one_round_returns_all_results_with_their_block() {
        let node = TestNode::start(one_token).await;
        let mut contract_data = ContractDataFetcher::new(node.client(), SECOND, SECOND);
        contract_data.fetch(pending(), node.head(), Instant::now());
        assert!(!contract_data.is_time(Pace::Brisk, Instant::now()), "one round at a time");
        contract_data.results().await;
        let fetched = contract_data.take_results().await.unwrap();
        let known = TokenMetadata {
            name: "abc".to_owned(),
            symbol: "abc".to_owned(),
            decimals: Some(18),
            total_supply: Some(U256::from(1_000)),
            requested_at: Some(node.head().number),
        };
        let unknown = TokenMetadata { requested_at: Some(node.head().number), ..TokenMetadata::default() };
        let expected = Fetched {
            metadata: vec![(TOKEN, known), (Address::ZERO, unknown)],
            audits: vec![(TOKEN, AuditResult::DoesNotAddUp)],
            balances: vec![(BalanceKey { token: TOKEN, holder: SENDER }, U256::from(8))],
            at: node.head().number,
            codes: vec![(TOKEN, Bytes::from_static(&[0x60, 0x01]))],
            codes_at: node.head().number,
        };
        assert_eq!(fetched, expected);
        assert!(contract_data.take_results().await.is_none(), "each result is returned once");
    }

    #[tokio::test]
    async fn data_is_complete_when_a_round_has_fetched_the_rest() {
        let node = TestNode::start(one_token).await;
        let mut contract_data = ContractDataFetcher::new(node.client(), SECOND, SECOND);
        let many = Pending { codes: vec![TOKEN; CODES_AT_ONCE], ..pending() };
        for (pending, backlog) in [(many, Backlog::Unknown), (pending(), Backlog::LastRound)] {
            contract_data.fetch(pending, node.head(), Instant::now());
            assert_eq!((contract_data.backlog, contract_data.is_complete()), (backlog, false));
            contract_data.results().await;
            contract_data.take_results().await.unwrap();
        }
        contract_data.fetch(Pending::default(), node.head(), Instant::now());
        assert!(contract_data.is_complete());
        contract_data.fetch(pending(), node.head(), Instant::now());
        assert!(contract_data.is_complete(), "it is what the newest blocks need");
        contract_data.forget();
        assert!(!contract_data.is_complete());
    }

    #[tokio::test]
    async fn a_failing_node_is_retried_after_a_backoff() {
        let node = TestNode::start(|_, _| CallReply::Fail).await;
        let mut contract_data = ContractDataFetcher::new(node.client(), SECOND, SECOND);
        contract_data.fetch(pending(), node.head(), Instant::now());
        contract_data.results().await;
        assert!(contract_data.take_results().await.is_none());
        assert!(contract_data.failure().is_some_and(|failure| failure.contains("eth_call")));
        assert!(!contract_data.is_time(Pace::Brisk, Instant::now()));
        assert!(contract_data.is_time(Pace::Brisk, Instant::now() + SECOND));
    }

    #[tokio::test]
    async fn results_of_an_abandoned_branch_are_dropped() {
        let node = TestNode::start(one_token).await;
        let mut contract_data = ContractDataFetcher::new(node.client(), SECOND, SECOND);
        contract_data.fetch(pending(), node.head(), Instant::now());
        contract_data.results().await;
        contract_data.forget();
        assert!(contract_data.take_results().await.is_none());
        assert!(contract_data.is_time(Pace::Brisk, Instant::now()));
    }

    #[tokio::test]
    async fn gentle_rounds_are_spaced() {
        let node = TestNode::start(one_token).await;
        let mut contract_data = ContractDataFetcher::new(node.client(), SECOND, SECOND);
        let now = Instant::now();
        contract_data.fetch(Pending::default(), node.head(), now);
        assert!(!contract_data.is_time(Pace::Gentle, now) && contract_data.is_time(Pace::Brisk, now));
        assert!(contract_data.is_time(Pace::Gentle, now + SECOND));
    }
}
