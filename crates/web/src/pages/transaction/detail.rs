//! What a transaction page shows only while the node responds.

use std::sync::Arc;

use admission::AUTHORIZATION_OUTCOMES;
use alloy_primitives::hex;
use domain::{Transaction, TransactionDetail, U256};
use futures::future::BoxFuture;

use super::{authorizations::AuthorizationsView, blobs::BlobsView, call::CalledFunction, logs::LogsView};
use crate::{
    state::WebState,
    view::{Amount, DecodedView, PageNames, counted, grouped, readable_text, type_name},
};

/// Maximum bytes of input on a page; `/tx/{hash}/input` has all.
const SHOWN_INPUT: usize = 4 * 1024;
/// Characters of a field that only some chains have.
const SHOWN_FIELD: usize = 200;

/// Data from the node.
pub(super) struct Detail {
    pub(super) gas_limit: String,
    pub(super) filled: u64,
    pub(super) transaction_type: String,
    /// Names and values.
    pub(super) other_fields: Vec<(String, String)>,
    /// EIP-1559.
    pub(super) max_fee: Option<Amount>,
    pub(super) max_priority_fee: Option<Amount>,
    /// What the sender offered, and did not pay.
    pub(super) saved: Option<Amount>,
    pub(super) call: Option<DecodedView>,
    pub(super) input: String,
    /// The input, if it is readable text.
    pub(super) input_text: Option<String>,
    pub(super) input_bytes: usize,
    pub(super) input_size: String,
    pub(super) is_cut: bool,
    /// None without any.
    pub(super) authorizations: Option<AuthorizationsView>,
    pub(super) blobs: Option<BlobsView>,
    pub(super) is_message: bool,
    pub(super) logs: LogsView,
}

/// None if the node is unavailable, or if it has the transaction in another block than the index. One that is cached costs
/// the client nothing.
pub(super) async fn find_detail(app: &WebState, tx: &Transaction) -> Option<Arc<TransactionDetail>> {
    match app.details.find_cached(tx) {
        Some(cached) => Some(cached),
        None => {
            let may_trace = || -> BoxFuture<'_, bool> {
                Box::pin(async { app.budget.allows_node_calls(AUTHORIZATION_OUTCOMES.calls()) })
            };
            app.node_calls.run(app.details.find(tx, &may_trace)).await?
        }
    }
}

impl Detail {
    pub(super) fn new(
        tx: &Transaction,
        detail: &TransactionDetail,
        call: &CalledFunction,
        logs: LogsView,
        names: &PageNames,
    ) -> Self {
        let authorizations = detail.authorizations.as_deref().filter(|given| !given.is_empty());
        let shown = detail.input.get(..SHOWN_INPUT).unwrap_or(&detail.input);
        Self {
            gas_limit: grouped(detail.gas_limit),
            filled: tx.gas_used.saturating_mul(100).checked_div(detail.gas_limit).unwrap_or_default(),
            transaction_type: type_name(detail.tx_type),
            other_fields: detail.other_fields.iter().map(|(name, text)| (name.clone(), shown_field(text))).collect(),
            max_fee: detail.max_fee_per_gas.map(Amount::gas_price),
            max_priority_fee: detail.max_priority_fee_per_gas.map(Amount::gas_price),
            saved: detail
                .max_fee_per_gas
                .filter(|_| tx.is_priced())
                .map(|max| names.coin(gas_cost(max.saturating_sub(tx.gas_price), tx.gas_used))),
            call: call.decoded.as_ref().map(|call| DecodedView::new(&call.decoded, call.is_guess, names)),
            input: hex::encode_prefixed(shown),
            input_text: readable_text(shown, SHOWN_INPUT),
            input_bytes: detail.input.len(),
            input_size: counted(detail.input.len() as u64, "byte"),
            is_cut: shown.len() < detail.input.len(),
            authorizations: authorizations.map(|given| AuthorizationsView::new(given, names)),
            blobs: detail.blobs.as_ref().map(|blobs| BlobsView::new(tx, blobs, names)),
            is_message: call.is_message,
            logs,
        }
    }
}

/// A field that only some chains have; the JSON has all of it.
fn shown_field(text: &str) -> String {
    match text.char_indices().nth(SHOWN_FIELD) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn gas_cost(price: u128, gas: u64) -> U256 {
    U256::from(price).saturating_mul(U256::from(gas))
}
