//! `debug_trace*` and `trace_*`: what happened inside transactions.

mod authorities;
mod call_tree;
mod creation_code;
mod failure;
mod internal;
mod request;
mod state_changes;

use std::time::Duration;

use domain::{
    Address, Authorization, AuthorizationOutcome, B256, BlockNumber, Bytes, CreationId, Transaction, TransactionDetail,
    TransactionFailure,
};
use futures::future::BoxFuture;
use tokio::sync::Semaphore;

use crate::{
    client::NodeClient,
    endpoint::{health::Operation, upstream::Upstream},
    error::NodeError,
    traced::{BlockCalls, CallTree, StateChanges, TracedTransaction},
};

/// Attempts at a trace, which costs the node more than other calls. Five: if a fifth of the requests fail, one trace in three thousand
/// stays unknown.
const TRACE_TRIES: u32 = 5;
impl NodeClient {
    /// Why a transaction failed; None if the node cannot tell.
    pub fn find_failure<'a>(
        &'a self,
        transaction: &'a Transaction,
        detail: &'a TransactionDetail,
    ) -> BoxFuture<'a, Result<Option<TransactionFailure>, NodeError>> {
        Box::pin(async move {
            let request =
                |_, upstream: Upstream| async move { failure::find_failure(&upstream, transaction, detail).await };
            self.with_retries(Operation::Calls, self.tries(), request).await
        })
    }

    /// The calls inside a transaction that move value or create contracts; None if the node does not support tracing.
    pub fn find_internal_calls(&self, hash: B256) -> BoxFuture<'_, Result<Option<TracedTransaction>, NodeError>> {
        Box::pin(async move {
            let request = |_, upstream: Upstream| async move { internal::trace_transaction(&upstream, hash).await };
            self.with_retries(Operation::Trace, self.trace_tries(), request).await
        })
    }

    /// All calls of a transaction; None if the node does not support tracing.
    pub fn find_call_tree(&self, hash: B256) -> BoxFuture<'_, Result<Option<CallTree>, NodeError>> {
        Box::pin(async move {
            let request = |_, upstream: Upstream| async move { call_tree::trace(&upstream, hash).await };
            self.with_retries(Operation::Trace, self.trace_tries(), request).await
        })
    }

    /// What a transaction changed in the state of the chain; None if the node does not support such traces.
    pub fn find_state_changes(&self, hash: B256) -> BoxFuture<'_, Result<Option<StateChanges>, NodeError>> {
        Box::pin(async move {
            let request = |_, upstream: Upstream| async move { state_changes::trace(&upstream, hash).await };
            self.with_retries(Operation::Trace, self.trace_tries(), request).await
        })
    }

    /// Which of the authorizations of a transaction had an effect (EIP-7702), as far as the node's traces tell: at most two.
    pub fn find_authorization_outcomes<'a>(
        &'a self,
        transaction: &'a Transaction,
        list: &'a [Authorization],
    ) -> BoxFuture<'a, Result<Vec<AuthorizationOutcome>, NodeError>> {
        Box::pin(async move {
            let Some(chain) = self.expected_chain() else { return Ok(vec![AuthorizationOutcome::Unknown; list.len()]) };
            let of = (transaction.hash, transaction.from);
            let request =
                |_, upstream: Upstream| async move { authorities::outcomes(&upstream, of, chain.chain_id, list).await };
            let without_trace: Vec<_> = list.iter().map(|given| given.outcome_on(chain.chain_id)).collect();
            if !without_trace.contains(&AuthorizationOutcome::Unknown) {
                return Ok(without_trace);
            }
            let found = self.with_retries(Operation::Trace, self.trace_tries(), request).await?;
            Ok(found.unwrap_or(without_trace))
        })
    }

    /// The calls inside every transaction of a block that move value or create contracts, in order. The timeout counts from when the request is sent.
    pub fn find_internal_calls_of_block(
        &self,
        number: BlockNumber,
        timeout: Duration,
    ) -> BoxFuture<'_, Result<Option<BlockCalls>, NodeError>> {
        static UNBOUNDED: Semaphore = Semaphore::const_new(Semaphore::MAX_PERMITS);
        self.find_internal_calls_of_block_within(number, timeout, &UNBOUNDED)
    }

    /// The same with a permit for each request while it is in flight: none is held in a pause between two attempts.
    pub fn find_internal_calls_of_block_within<'a>(
        &'a self,
        number: BlockNumber,
        timeout: Duration,
        in_flight: &'a Semaphore,
    ) -> BoxFuture<'a, Result<Option<BlockCalls>, NodeError>> {
        Box::pin(async move {
            let request = |_, upstream: Upstream| async move {
                // The semaphore is never closed, so there is no error.
                let _permit = in_flight.acquire().await.ok();
                internal::trace_block(&upstream, number, timeout).await
            };
            self.with_retries(Operation::Trace, self.trace_tries(), request).await
        })
    }

    fn trace_tries(&self) -> u32 {
        self.tries().min(TRACE_TRIES)
    }

    /// The init code of a contract: the transaction's input if the transaction created the contract directly, else the input
    /// of the inner create. None if unknown: the node does not trace, or no longer has the transaction in this block.
    pub fn find_creation_code(
        &self,
        contract: Address,
        creation: CreationId,
    ) -> BoxFuture<'_, Result<Option<Bytes>, NodeError>> {
        Box::pin(async move {
            let request = |_, upstream: Upstream| async move {
                creation_code::find_creation_code(&upstream, contract, creation).await
            };
            self.with_retries(Operation::Transaction, self.tries(), request).await
        })
    }
}
