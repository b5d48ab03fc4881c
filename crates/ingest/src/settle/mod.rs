//! What tokens say of themselves, asked behind the tip.

mod facts;
mod text;

use std::time::{Duration, Instant};

use domain::{Address, BlockRef, TokenFacts, TokenQuestion};
use node::{CallBlock, NodeClient, NodeError};
use store::{ChainWriter, StoreError};
use tokio_util::task::AbortOnDropHandle;
use tracing::{debug, warn};

use facts::{QUESTIONS, questions_to, read_facts};

/// Tokens asked about at once: some hundred calls.
const TOKENS_AT_ONCE: usize = 100;

type Facts = Vec<(Address, TokenFacts)>;

/// How much of the node the questions may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Blocks come first: one round of questions now and then.
    Gentle,
    /// Round after round, as long as there are questions.
    Brisk,
}

/// Asks the node what the store wants to know of tokens. The asking goes on beside the following, which only hands the
/// questions over and the answers in: no block waits for a token's name.
pub(crate) struct Settler {
    node: NodeClient,
    under_way: Option<AbortOnDropHandle<Result<Facts, NodeError>>>,
    answered: Option<Result<Facts, NodeError>>,
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

    /// Keeps the answers that have come, and asks more if it is time. Does not wait for the node.
    pub(crate) async fn step(&mut self, writer: &mut dyn ChainWriter, pace: Pace) -> Result<(), StoreError> {
        if let Some(facts) = self.take_answers().await {
            writer.keep_token_facts(facts).await?;
        }
        if self.is_time(pace, Instant::now())
            && let Some(tip) = writer.tip().await?
        {
            let tokens = writer.list_token_questions(TOKENS_AT_ONCE).await?;
            self.ask(tokens, tip, Instant::now());
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
    async fn take_answers(&mut self) -> Option<Facts> {
        if self.under_way.as_ref().is_some_and(AbortOnDropHandle::is_finished) {
            self.answers().await;
        }
        match self.answered.take()? {
            Ok(facts) => {
                debug!(tokens = facts.len(), "tokens have told their names and supplies");
                Some(facts)
            }
            Err(error) => {
                warn!(%error, "tokens cannot be asked for now");
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

    fn ask(&mut self, tokens: Vec<TokenQuestion>, tip: BlockRef, now: Instant) {
        self.last_round = Some(now);
        if !tokens.is_empty() {
            let asking = ask_tokens(self.node.clone(), tokens, tip);
            self.under_way = Some(AbortOnDropHandle::new(tokio::spawn(asking)));
        }
    }
}

async fn ask_tokens(node: NodeClient, tokens: Vec<TokenQuestion>, tip: BlockRef) -> Result<Facts, NodeError> {
    let calls = tokens.iter().flat_map(|question| questions_to(question.token)).collect();
    let answered = node.calls(calls, CallBlock::At(tip)).await?;
    let (answers, _) = answered.answers.as_chunks::<{ QUESTIONS.len() }>();
    let facts = tokens.into_iter().zip(answers).map(|(question, answers)| {
        let facts = TokenFacts { asked_at: answered.block, ..read_facts(question.kind, answers) };
        (question.token, facts)
    });
    Ok(facts.collect())
}

#[cfg(test)]
mod tests {
    use domain::{TokenKind, U256};

    use super::*;
    use crate::decode::samples::{TOKEN, uint};
    use crate::test_node::{CallReply, TestNode};

    const SECOND: Duration = Duration::from_secs(1);

    fn questions() -> Vec<TokenQuestion> {
        [TOKEN, Address::ZERO].map(|token| TokenQuestion { token, kind: TokenKind::Bep20 }).into()
    }

    /// A token with a short name, and nobody at all other addresses.
    fn one_token(to: Address, data: &[u8]) -> CallReply {
        let place = QUESTIONS.iter().position(|question| data == question);
        match place {
            _ if to != TOKEN => CallReply::Return(Vec::new()),
            Some(0 | 1) => CallReply::Return([uint(32).to_vec(), uint(3).to_vec(), b"abc".to_vec()].concat()),
            Some(2) => CallReply::Return(uint(18).to_vec()),
            Some(_) => CallReply::Return(uint(1_000).to_vec()),
            None => CallReply::Revert,
        }
    }

    #[tokio::test]
    async fn tokens_are_asked_in_one_round_and_tell_when() {
        let node = TestNode::start(one_token).await;
        let mut settler = Settler::new(node.client(), SECOND, SECOND);
        settler.ask(questions(), node.head(), Instant::now());
        assert!(!settler.is_time(Pace::Brisk, Instant::now()), "one round at a time");
        settler.answers().await;
        let facts = settler.take_answers().await.unwrap();
        let known = TokenFacts {
            name: "abc".to_owned(),
            symbol: "abc".to_owned(),
            decimals: 18,
            total_supply: U256::from(1_000),
            asked_at: Some(node.head().number),
        };
        let unknown = TokenFacts { asked_at: Some(node.head().number), ..TokenFacts::default() };
        assert_eq!(facts, [(TOKEN, known), (Address::ZERO, unknown)]);
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
        settler.ask(Vec::new(), node.head(), now);
        assert!(!settler.is_time(Pace::Gentle, now) && settler.is_time(Pace::Brisk, now));
        assert!(settler.is_time(Pace::Gentle, now + SECOND));
    }
}
