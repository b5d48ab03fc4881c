//! The page of a transaction that the node has, but that is in no indexed block.

use askama::Template;
use axum::response::Response;
use domain::{B256, PendingTransaction};

use crate::{
    error::PageError,
    frame::{Frame, Section},
    state::WebState,
    view::{AddressLink, Amount, grouped, method_name_of, sanitize_name, short, type_name},
};

#[derive(Template)]
#[template(path = "pending.html")]
struct PendingPage {
    frame: Frame,
    hash: String,
    from: AddressLink,
    to: Option<AddressLink>,
    method: String,
    value: Amount,
    gas_price: Option<Amount>,
    gas_limit: String,
    nonce: String,
    transaction_type: String,
    is_in_pool: bool,
}

const UNKNOWN: &str = "No such transaction";

/// The page of a transaction that is not indexed.
pub(super) async fn show_unindexed(app: &WebState, hash: B256) -> Result<Response, PageError> {
    let tip = app.sync.borrow().tip.map_or(0, |tip| tip.number);
    match app.node_calls.run(app.node.find_pending(hash)).await {
        Some(Ok(Some(found))) if found.is_ahead_of(tip) => show_pending(app, &found).await,
        Some(Ok(Some(_))) => app.not_found(UNKNOWN, "The node has it in a block that is not indexed.").await,
        Some(Ok(None)) => {
            app.not_found(
                UNKNOWN,
                "No indexed block contains it, and the node does not know it: it was dropped or replaced by another \
             transaction of its sender, has not reached the node yet, or belongs to another chain.",
            )
            .await
        }
        Some(Err(_)) | None => {
            app.not_found(UNKNOWN, "It may still be pending: the node could not be asked. Try again shortly.").await
        }
    }
}

async fn show_pending(app: &WebState, tx: &PendingTransaction) -> Result<Response, PageError> {
    let full = format!("{:#x}", tx.hash);
    let mut known = None;
    if let (Some(to), Some(selector)) = (tx.to, tx.method()) {
        let interfaces = app.interfaces.of(to, &app.node_calls).await?;
        known = interfaces.iter().find_map(|interface| interface.function_name(selector)).map(sanitize_name);
    }
    let names = &app.page_names();
    app.page(
        names,
        &PendingPage {
            frame: app
                .frame(format!("Pending transaction {}", short(&full)), Section::Transactions)
                .await
                .live_if(true),
            hash: full,
            from: names.address(tx.from),
            to: tx.to.map(|to| names.address(to)),
            method: known.unwrap_or_else(|| method_name_of(tx.to, tx.method())),
            value: names.coin(tx.value),
            gas_price: tx.gas_price.map(Amount::gas_price),
            gas_limit: grouped(tx.gas_limit),
            nonce: grouped(tx.nonce),
            transaction_type: type_name(tx.tx_type),
            is_in_pool: tx.block_number.is_none(),
        },
    )
    .await
}
