use contracts::revert_reason;
use domain::{FailureSource, Transaction, TransactionDetail};

use super::interfaces::TransactionInterfaces;
use crate::{
    state::WebState,
    view::{sanitize_text, shown_reason},
};

/// Maximum characters of the reason of a failure.
const MAX_REASON: usize = 500;

/// Why the transaction failed.
pub(super) struct Failure {
    /// The contract's reason, or the node's error.
    pub(super) reason: String,
    /// What is not certain about it.
    pub(super) note: &'static str,
}

/// Why a transaction failed; None if it succeeded.
pub(super) async fn find_failure(
    app: &WebState,
    tx: &Transaction,
    detail: Option<&TransactionDetail>,
    interfaces: &TransactionInterfaces,
) -> Option<Failure> {
    if tx.succeeded {
        return None;
    }
    let found = app.node_calls.run(app.failures.find(tx, detail)).await;
    Some(match found {
        Some(Ok(Some(failure))) => {
            let interfaces = tx.to.map(|to| interfaces.of(to)).unwrap_or_default();
            let interfaces = interfaces.iter().map(|interface| &**interface);
            Failure {
                reason: match &failure.data {
                    Some(data) => shown_reason(&revert_reason(Some(data), "", interfaces), MAX_REASON),
                    None => sanitize_text(&failure.error, MAX_REASON),
                },
                note: match failure.source {
                    FailureSource::Trace => "",
                    FailureSource::ParentBlock => "when called again on the state before its block",
                },
            }
        }
        Some(Ok(None)) => Failure { reason: "The node cannot tell why.".to_owned(), note: "" },
        Some(Err(_)) | None => {
            Failure { reason: "The reason is not available now: try again shortly.".to_owned(), note: "" }
        }
    })
}
