//! Health of one endpoint: a circuit breaker for the endpoint and one for each operation.

use std::{collections::HashMap, time::Duration};

use domain::ChainIdentity;
use tokio::time::Instant;

use crate::error::{NodeError, Recovery};

/// Consecutive failures after which an operation is suspended at an endpoint.
const FAILURE_THRESHOLD: u32 = 3;
/// Consecutive failed connections after which the whole endpoint is suspended.
const UNREACHABLE_THRESHOLD: u32 = 2;

/// Kind of request. Failures are counted per operation, since a node may fail for one method only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    Identity,
    Head,
    Finalized,
    Header,
    Block,
    Transaction,
    Logs,
    /// Forwarded for clients, whose errors say nothing about the node.
    Forwarded,
    Trace,
    Codes,
    Calls,
    Account,
    Balances,
    Storage,
}

#[derive(Debug, Default)]
pub(crate) struct EndpointHealth {
    /// Verified to serve the chain. Verified again after the endpoint was down: another node may have replaced it.
    pub(crate) chain_confirmed: bool,
    unreachable: u32,
    /// A connection was closed, so the chain identity is verified again in the background: calls need not wait, since
    /// responses of another chain would fail the checks.
    pub(crate) recheck_identity: bool,
    /// Suspended until then.
    pub(crate) down_until: Option<Instant>,
    /// The chain that it serves, if it is not the expected one.
    pub(crate) other_chain: Option<ChainIdentity>,
    /// Whether it has another block in place of the expected one.
    pub(crate) other_block: bool,
    pub(crate) probing: bool,
    /// Its head lags well behind another endpoint.
    pub(crate) behind: bool,
    failing: HashMap<Operation, OperationFailures>,
}

#[derive(Debug, Default)]
struct OperationFailures {
    count: u32,
    until: Option<Instant>,
}

impl EndpointHealth {
    pub(crate) fn is_up(&self) -> bool {
        self.down_until.is_none() && !self.is_refused()
    }

    /// Whether it serves another chain than the expected one.
    pub(crate) fn is_refused(&self) -> bool {
        self.other_chain.is_some() || self.other_block
    }

    /// Whether the operation may be sent here.
    pub(crate) fn serves(&self, operation: Operation, now: Instant) -> bool {
        let suspended = self.failing.get(&operation).and_then(|failures| failures.until);
        self.is_up() && suspended.is_none_or(|until| until <= now)
    }

    /// Marks the endpoint as verified to serve the chain.
    pub(crate) fn confirm_chain(&mut self) {
        *self = Self {
            chain_confirmed: true,
            probing: self.probing,
            recheck_identity: self.recheck_identity,
            behind: self.behind,
            failing: std::mem::take(&mut self.failing),
            ..Self::default()
        };
    }

    pub(crate) fn succeeded(&mut self, operation: Operation) {
        self.unreachable = 0;
        self.down_until = None;
        self.failing.remove(&operation);
    }

    /// Returns whether this failure suspends the endpoint, or the operation at it, for `cooldown`.
    pub(crate) fn failed(&mut self, operation: Operation, error: &NodeError, cooldown: Duration, now: Instant) -> bool {
        let threshold = match error {
            NodeError::WrongChain { .. } | NodeError::WrongBlock { .. } | NodeError::OtherGenesis { .. } => {
                return false;
            }
            // An error about the call itself is not a failure of the endpoint.
            NodeError::Rpc { .. } if error.recovery() != Recovery::Retry => return false,
            NodeError::Unreachable { .. } => {
                self.unreachable += 1;
                self.recheck_identity = true;
                self.chain_confirmed &= self.unreachable < UNREACHABLE_THRESHOLD;
                return self.unreachable >= UNREACHABLE_THRESHOLD && self.suspend_until(now + cooldown);
            }
            NodeError::Silent { .. } => return self.suspend_until(now + cooldown),
            NodeError::Dropped { .. } => {
                self.recheck_identity = true;
                FAILURE_THRESHOLD
            }
            // An invalid block is requested elsewhere first.
            NodeError::InvalidBlock { .. } => 1,
            _ if error.recovery() == Recovery::TryElsewhere => 1,
            _ => FAILURE_THRESHOLD,
        };
        let failures = self.failing.entry(operation).or_default();
        failures.count += 1;
        if failures.count < threshold {
            return false;
        }
        let begins = failures.until.is_none();
        failures.until = Some(now + cooldown);
        begins
    }

    fn suspend_until(&mut self, until: Instant) -> bool {
        self.down_until.replace(until).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COOLDOWN: Duration = Duration::from_secs(5);

    fn timed_out() -> NodeError {
        NodeError::TimedOut { endpoint: String::new(), method: "eth_call", timeout: COOLDOWN }
    }

    #[test]
    fn a_failing_operation_does_not_suspend_the_others() {
        let (mut health, now) = (EndpointHealth::default(), Instant::now());
        for expected in [false, false, true, false] {
            assert_eq!(health.failed(Operation::Calls, &timed_out(), COOLDOWN, now), expected);
        }
        assert!(!health.serves(Operation::Calls, now));
        assert!(health.serves(Operation::Block, now));
        assert!(health.serves(Operation::Calls, now + COOLDOWN), "it is retried");
        health.succeeded(Operation::Calls);
        assert!(health.serves(Operation::Calls, now));
    }

    #[test]
    fn an_unreachable_or_silent_endpoint_is_suspended_entirely() {
        let now = Instant::now();
        let unreachable = NodeError::Unreachable { endpoint: String::new(), source: "refused".into() };
        let mut health = EndpointHealth { chain_confirmed: true, ..EndpointHealth::default() };
        assert!(!health.failed(Operation::Head, &unreachable, COOLDOWN, now));
        assert!(health.failed(Operation::Block, &unreachable, COOLDOWN, now));
        assert!(!health.serves(Operation::Calls, now) && !health.chain_confirmed);

        let silent = NodeError::Silent { endpoint: String::new(), method: "eth_call", waited: COOLDOWN };
        let mut health = EndpointHealth { chain_confirmed: true, ..EndpointHealth::default() };
        assert!(health.failed(Operation::Head, &silent, COOLDOWN, now));
        assert!(!health.is_up() && health.chain_confirmed);
    }
}
