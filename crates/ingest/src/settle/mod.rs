//! What is settled behind the tip: what tokens say of themselves, whether their events add up, who holds what where they
//! do not, in which order holders stand, and which code runs at a contract.

mod balances;
mod facts;
mod text;

use std::time::Duration;

use domain::{
    Address, AuditResult, AuditSample, BalanceQuestion, BlockNumber, BlockRef, Bytes, TokenFacts, TokenQuestion, U256,
};
use node::{CallBlock, NodeClient, NodeError};
use store::{ChainWriter, StoreError};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use tracing::{debug, info, warn};

use balances::{audit_calls, balance_call, judge, read_balance};
use facts::{QUESTIONS, questions_to, read_facts};

/// Of one round: some hundred calls each.
const TOKENS_AT_ONCE: usize = 100;
const AUDITS_AT_ONCE: usize = 50;
const BALANCES_AT_ONCE: usize = 500;
const CODES_AT_ONCE: usize = 50;
/// Holders that are ranked in one write.
const RANKS_AT_ONCE: usize = 2_000;
/// How long ranking may keep a block waiting.
const RANKING_TIME: Duration = Duration::from_millis(100);

/// How much of the node the questions may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Blocks come first: one round of questions now and then.
    Gentle,
    /// Round after round, as long as there are questions.
    Brisk,
}

/// What the store wants to know.
#[derive(Debug, Default)]
struct Questions {
    tokens: Vec<TokenQuestion>,
    audits: Vec<AuditSample>,
    balances: Vec<BalanceQuestion>,
    codes: Vec<Address>,
}

impl Questions {
    fn is_empty(&self) -> bool {
        self.tokens.is_empty() && self.audits.is_empty() && self.balances.is_empty() && self.codes.is_empty()
    }
}

/// What the node said, and at which block.
#[derive(Debug, Default, PartialEq, Eq)]
struct Answers {
    facts: Vec<(Address, TokenFacts)>,
    verdicts: Vec<(Address, AuditResult)>,
    balances: Vec<(BalanceQuestion, U256)>,
    at: BlockNumber,
    codes: Vec<(Address, Bytes)>,
    codes_at: BlockNumber,
}

/// Asks the node what the store wants to know of contracts. The asking goes on beside the following, which only hands the
/// questions over and the answers in: no block waits for a token's name.
pub(crate) struct Settler {
    node: NodeClient,
    under_way: Option<AbortOnDropHandle<Result<Answers, NodeError>>>,
    answered: Option<Result<Answers, NodeError>>,
    last_round: Option<Instant>,
    resting_until: Option<Instant>,
    gentle_interval: Duration,
    rest: Duration,
}

impl Settler {
    /// `rest` is how long the node is left alone after it failed.
    pub(crate) fn new(node: NodeClient, gentle_interval: Duration, rest: Duration) -> Self {
        Self { node, under_way: None, answered: None, last_round: None, resting_until: None, gentle_interval, rest }
    }

    /// Keeps the answers that have come, asks more if it is time, and ranks. Does not wait for the node.
    pub(crate) async fn step(&mut self, writer: &mut dyn ChainWriter, pace: Pace) -> Result<(), StoreError> {
        if let Some(answers) = self.take_answers().await {
            keep(writer, answers).await?;
        }
        if self.is_time(pace, Instant::now())
            && let Some(tip) = writer.tip().await?
        {
            let questions = Questions {
                tokens: writer.list_token_questions(TOKENS_AT_ONCE).await?,
                audits: writer.list_audits(AUDITS_AT_ONCE).await?,
                balances: writer.list_balance_questions(BALANCES_AT_ONCE).await?,
                codes: writer.list_code_questions(CODES_AT_ONCE).await?,
            };
            self.ask(questions, tip, Instant::now());
            rank(writer, pace).await?;
        }
        Ok(())
    }

    /// Waits until the questions under way are answered; for ever while there are none. May be dropped and called
    /// again.
    pub(crate) async fn answers(&mut self) {
        let Some(under_way) = &mut self.under_way else { return std::future::pending().await };
        let outcome = under_way.await;
        self.under_way = None;
        match outcome {
            Ok(outcome) => self.answered = Some(outcome),
            Err(stopped) if stopped.is_panic() => std::panic::resume_unwind(stopped.into_panic()),
            // The runtime is shutting down.
            Err(_) => {}
        }
    }

    /// Drops what is under way: it was asked on a branch that has been left.
    pub(crate) fn forget(&mut self) {
        self.under_way = None;
        self.answered = None;
    }

    /// None: no answers yet, or a node that failed and is asked again later.
    async fn take_answers(&mut self) -> Option<Answers> {
        if self.under_way.as_ref().is_some_and(AbortOnDropHandle::is_finished) {
            self.answers().await;
        }
        match self.answered.take()? {
            Ok(answers) => {
                debug!(
                    tokens = answers.facts.len(),
                    audits = answers.verdicts.len(),
                    balances = answers.balances.len(),
                    codes = answers.codes.len(),
                    "contracts have answered"
                );
                Some(answers)
            }
            Err(error) => {
                warn!(%error, "contracts cannot be asked for now");
                self.resting_until = Some(Instant::now() + self.rest);
                None
            }
        }
    }

    fn is_time(&self, pace: Pace, now: Instant) -> bool {
        let rested = self.resting_until.is_none_or(|until| until <= now);
        let due = match pace {
            Pace::Gentle => self.last_round.is_none_or(|last| now.duration_since(last) >= self.gentle_interval),
            Pace::Brisk => true,
        };
        self.under_way.is_none() && rested && due
    }

    fn ask(&mut self, questions: Questions, tip: BlockRef, now: Instant) {
        self.last_round = Some(now);
        if !questions.is_empty() {
            let asking = ask_node(self.node.clone(), questions, tip);
            self.under_way = Some(AbortOnDropHandle::new(tokio::spawn(asking)));
        }
    }
}

async fn keep(writer: &mut dyn ChainWriter, answers: Answers) -> Result<(), StoreError> {
    let Answers { facts, verdicts, balances, at, codes, codes_at } = answers;
    for (token, _) in verdicts.iter().filter(|(_, verdict)| *verdict == AuditResult::DoesNotAddUp) {
        info!(%token, block = at, "the events of a token do not tell its balances: its contract is asked from now on");
    }
    writer.keep_token_facts(facts).await?;
    writer.keep_audits(verdicts, at).await?;
    writer.keep_balances(balances, at).await?;
    writer.keep_codes(codes, codes_at).await
}

/// Brings holders into order, for a moment or until all are.
async fn rank(writer: &mut dyn ChainWriter, pace: Pace) -> Result<(), StoreError> {
    let begun = Instant::now();
    while writer.rank_holders(RANKS_AT_ONCE).await? > 0 && pace == Pace::Brisk && begun.elapsed() < RANKING_TIME {}
    Ok(())
}

async fn ask_node(node: NodeClient, questions: Questions, tip: BlockRef) -> Result<Answers, NodeError> {
    let Questions { tokens, audits, balances, codes } = questions;
    let facts = tokens.iter().flat_map(|question| questions_to(question.token));
    let samples = audits.iter().flat_map(audit_calls);
    let holders = balances.iter().map(|question| balance_call(question.token, question.holder));
    let calls = node.calls(facts.chain(samples).chain(holders).collect(), CallBlock::At(tip));
    let (answered, coded) = tokio::try_join!(calls, node.codes(codes.clone(), tip))?;
    let at = answered.block.unwrap_or(tip.number);

    let mut rest = answered.answers.as_slice();
    let mut take = |count: usize| {
        let (taken, left) = rest.split_at(count.min(rest.len()));
        rest = left;
        taken
    };
    let (answers, _) = take(tokens.len() * QUESTIONS.len()).as_chunks::<{ QUESTIONS.len() }>();
    let facts = tokens.into_iter().zip(answers).map(|(question, answers)| {
        (question.token, TokenFacts { asked_at: Some(at), ..read_facts(question.kind, answers) })
    });
    let facts = facts.collect();
    let verdicts = audits.iter().map(|sample| (sample.token, judge(sample, take(sample.holders.len()))));
    let verdicts: Vec<_> = verdicts.collect();
    let answers = take(balances.len());
    let balances = balances.into_iter().zip(answers).map(|(question, answer)| read_balance(question, answer));
    let balances = balances.collect();
    // A comparison holds at the block whose balances were sampled, and at no other.
    let verdicts = if at == tip.number { verdicts } else { Vec::new() };
    let codes = codes.into_iter().zip(coded.codes).collect();
    Ok(Answers { facts, verdicts, balances, at, codes, codes_at: coded.block })
}

#[cfg(test)]
mod tests {
    use domain::{Balance, Holder, TokenKind};

    use super::*;
    use crate::decode::samples::{SENDER, TOKEN, uint};
    use crate::test_node::{CallReply, TestNode};

    const SECOND: Duration = Duration::from_secs(1);

    fn questions() -> Questions {
        let tokens = [TOKEN, Address::ZERO].map(|token| TokenQuestion { token, kind: TokenKind::Bep20 });
        let holders = vec![Holder { address: SENDER, balance: Balance::from(9) }];
        Questions {
            tokens: tokens.into(),
            audits: vec![AuditSample { token: TOKEN, holders }],
            balances: vec![BalanceQuestion { token: TOKEN, holder: SENDER }],
            codes: vec![TOKEN],
        }
    }

    /// A token with a short name, and nobody at all other addresses.
    fn one_token(to: Address, data: &[u8]) -> CallReply {
        let place = QUESTIONS.iter().position(|question| data == question);
        match place {
            _ if to != TOKEN => CallReply::Return(Vec::new()),
            Some(0 | 1) => CallReply::Return([uint(32).to_vec(), uint(3).to_vec(), b"abc".to_vec()].concat()),
            Some(2) => CallReply::Return(uint(18).to_vec()),
            Some(_) => CallReply::Return(uint(1_000).to_vec()),
            None => CallReply::Return(uint(8).to_vec()),
        }
    }

    #[tokio::test]
    async fn tokens_are_asked_in_one_round_and_tell_when() {
        let node = TestNode::start(one_token).await;
        let mut settler = Settler::new(node.client(), SECOND, SECOND);
        settler.ask(questions(), node.head(), Instant::now());
        assert!(!settler.is_time(Pace::Brisk, Instant::now()), "one round at a time");
        settler.answers().await;
        let answers = settler.take_answers().await.unwrap();
        let known = TokenFacts {
            name: "abc".to_owned(),
            symbol: "abc".to_owned(),
            decimals: 18,
            total_supply: U256::from(1_000),
            asked_at: Some(node.head().number),
        };
        let unknown = TokenFacts { asked_at: Some(node.head().number), ..TokenFacts::default() };
        let expected = Answers {
            facts: vec![(TOKEN, known), (Address::ZERO, unknown)],
            verdicts: vec![(TOKEN, AuditResult::DoesNotAddUp)],
            balances: vec![(BalanceQuestion { token: TOKEN, holder: SENDER }, U256::from(8))],
            at: node.head().number,
            codes: vec![(TOKEN, Bytes::from_static(&[0x60, 0x01]))],
            codes_at: node.head().number,
        };
        assert_eq!(answers, expected);
        assert!(settler.take_answers().await.is_none(), "each answer is given out once");
    }

    #[tokio::test]
    async fn a_node_that_fails_is_left_alone_for_a_while_and_asked_again() {
        let node = TestNode::start(|_, _| CallReply::Fail).await;
        let mut settler = Settler::new(node.client(), SECOND, SECOND);
        settler.ask(questions(), node.head(), Instant::now());
        settler.answers().await;
        assert!(settler.take_answers().await.is_none());
        assert!(!settler.is_time(Pace::Brisk, Instant::now()));
        assert!(settler.is_time(Pace::Brisk, Instant::now() + SECOND));
    }

    #[tokio::test]
    async fn answers_of_a_branch_that_was_left_are_dropped() {
        let node = TestNode::start(one_token).await;
        let mut settler = Settler::new(node.client(), SECOND, SECOND);
        settler.ask(questions(), node.head(), Instant::now());
        settler.answers().await;
        settler.forget();
        assert!(settler.take_answers().await.is_none());
        assert!(settler.is_time(Pace::Brisk, Instant::now()));
    }

    #[tokio::test]
    async fn while_blocks_come_first_rounds_are_spaced() {
        let node = TestNode::start(one_token).await;
        let mut settler = Settler::new(node.client(), SECOND, SECOND);
        let now = Instant::now();
        settler.ask(Questions::default(), node.head(), now);
        assert!(!settler.is_time(Pace::Gentle, now) && settler.is_time(Pace::Brisk, now));
        assert!(settler.is_time(Pace::Gentle, now + SECOND));
    }
}
