//! Traces of a transaction, for the pages that show one.

use axum::response::Response;
use domain::B256;
use node::NodeError;

use crate::{error::PageError, node_calls::NodeCallError, state::WebState};

/// A trace of a transaction for a page, or why there is none.
pub(super) struct Traced<T> {
    pub(super) trace: T,
    /// Empty if there is a trace.
    pub(super) missing: &'static str,
}

impl<T: Default> Traced<T> {
    pub(super) fn new(traced: Result<Result<Option<T>, NodeError>, NodeCallError>) -> Self {
        let (trace, missing) = match traced {
            Ok(Ok(Some(trace))) => (trace, ""),
            Ok(Ok(None)) => (T::default(), "The node does not trace transactions, or does not have this one."),
            Ok(Err(_)) | Err(_) => (T::default(), "There is no answer from the node. Try again shortly."),
        };
        Self { trace, missing }
    }
}

/// The hash of an indexed transaction, which the node can trace; otherwise the page that says what is wrong.
pub(super) async fn parse_traceable_hash(app: &WebState, hash: &str) -> Result<Result<B256, Response>, PageError> {
    let Ok(hash) = hash.parse() else {
        return Ok(Err(app.not_a_transaction_hash().await?));
    };
    if app.chain.find_transaction(hash).await?.is_none() {
        let advice = "It can be traced once it is in an indexed block.";
        return Ok(Err(app.not_found("No such transaction", advice).await?));
    }
    Ok(Ok(hash))
}
