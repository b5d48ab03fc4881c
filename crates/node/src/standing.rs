//! What is known of one endpoint: whether it is well, and which operations are not.

use std::{collections::HashMap, time::Duration};

use crate::{NodeError, error::Remedy};
use tokio::time::Instant;

/// Failures in a row after which an operation is not asked of an endpoint for a while.
const PATIENCE: u32 = 3;
/// The same for the whole endpoint, where it cannot even be reached.
const PATIENCE_UNREACHABLE: u32 = 2;

/// What is asked of an endpoint. Failures are counted apart, since a node may be well but for one method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    Identity,
    Head,
    Finalized,
    Header,
    Block,
    Transaction,
    Trace,
    Codes,
    Calls,
    Account,
    Storage,
}

#[derive(Debug, Default)]
pub(crate) struct Standing {
    /// Known to serve the chain. Not taken for granted after the endpoint was gone: another node may have come back.
    pub(crate) admitted: bool,
    unreachable: u32,
    /// A connection was lost, which happens; or the endpoint was gone for a moment. Which chain it serves is asked again,
    /// beside the calls: no answer of another chain fits on ours, and hundreds of calls may be in flight.
    pub(crate) unsure: bool,
    /// Not used until then.
    pub(crate) down_until: Option<Instant>,
    pub(crate) foreign: bool,
    pub(crate) probing: bool,
    /// Its head is well below that of another endpoint.
    pub(crate) behind: bool,
    troubles: HashMap<Operation, Trouble>,
}

#[derive(Debug, Default)]
struct Trouble {
    failures: u32,
    until: Option<Instant>,
}

impl Standing {
    pub(crate) fn is_up(&self) -> bool {
        self.down_until.is_none() && !self.foreign
    }

    /// Whether the operation is to be asked here, as far as the past tells.
    pub(crate) fn serves(&self, operation: Operation, now: Instant) -> bool {
        let in_trouble = self.troubles.get(&operation).and_then(|trouble| trouble.until);
        self.is_up() && in_trouble.is_none_or(|until| until <= now)
    }

    /// It serves the chain that all others serve.
    pub(crate) fn admit(&mut self) {
        *self = Self {
            admitted: true,
            probing: self.probing,
            unsure: self.unsure,
            behind: self.behind,
            troubles: std::mem::take(&mut self.troubles),
            ..Self::default()
        };
    }

    pub(crate) fn succeeded(&mut self, operation: Operation) {
        self.unreachable = 0;
        self.down_until = None;
        self.troubles.remove(&operation);
    }

    /// Tells whether the endpoint, or the operation at it, is left alone from now on, until the rest is over.
    pub(crate) fn failed(&mut self, operation: Operation, error: &NodeError, rest: Duration, now: Instant) -> bool {
        let patience = match error {
            NodeError::WrongChain { .. } => return false,
            // What the node says about the call itself is no failure of the endpoint.
            NodeError::Rpc { .. } if error.remedy() != Remedy::AskAgain => return false,
            NodeError::Unreachable { .. } => {
                self.unreachable += 1;
                self.unsure = true;
                self.admitted &= self.unreachable < PATIENCE_UNREACHABLE;
                return self.unreachable >= PATIENCE_UNREACHABLE && self.rest_until(now + rest);
            }
            NodeError::Silent { .. } => return self.rest_until(now + rest),
            NodeError::Dropped { .. } => {
                self.unsure = true;
                PATIENCE
            }
            // A block that contradicts itself is not asked for here again while another endpoint can be asked.
            NodeError::InvalidBlock { .. } => 1,
            _ if error.remedy() == Remedy::AskElsewhere => 1,
            _ => PATIENCE,
        };
        let trouble = self.troubles.entry(operation).or_default();
        trouble.failures += 1;
        if trouble.failures < patience {
            return false;
        }
        let begins = trouble.until.is_none();
        trouble.until = Some(now + rest);
        begins
    }

    fn rest_until(&mut self, until: Instant) -> bool {
        self.down_until.replace(until).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REST: Duration = Duration::from_secs(5);

    fn timed_out() -> NodeError {
        NodeError::TimedOut { endpoint: String::new(), method: "eth_call", timeout: REST }
    }

    #[test]
    fn one_operation_that_fails_leaves_the_others_where_they_are() {
        let (mut standing, now) = (Standing::default(), Instant::now());
        for expected in [false, false, true, false] {
            assert_eq!(standing.failed(Operation::Calls, &timed_out(), REST, now), expected);
        }
        assert!(!standing.serves(Operation::Calls, now));
        assert!(standing.serves(Operation::Block, now));
        assert!(standing.serves(Operation::Calls, now + REST), "it is tried again");
        standing.succeeded(Operation::Calls);
        assert!(standing.serves(Operation::Calls, now));
    }

    #[test]
    fn an_endpoint_that_cannot_be_reached_or_is_silent_is_left_alone_altogether() {
        let now = Instant::now();
        let unreachable = NodeError::Unreachable { endpoint: String::new(), source: "refused".into() };
        let mut standing = Standing { admitted: true, ..Standing::default() };
        assert!(!standing.failed(Operation::Head, &unreachable, REST, now));
        assert!(standing.failed(Operation::Block, &unreachable, REST, now));
        assert!(!standing.serves(Operation::Calls, now) && !standing.admitted);

        let silent = NodeError::Silent { endpoint: String::new(), method: "eth_call", waited: REST };
        let mut standing = Standing { admitted: true, ..Standing::default() };
        assert!(standing.failed(Operation::Head, &silent, REST, now));
        assert!(!standing.is_up() && standing.admitted);
    }
}
