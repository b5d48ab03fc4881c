//! Calls of functions from the page of a contract: of read-only ones here, of others by a wallet, which gets the encoded input
//! from here. They count against the budget of pages, not against the limit of
//! the API.

use axum::{
    extract::{Path, State},
    http::StatusCode,
    response::Response,
};
use contracts::calls::{CallError, FunctionCall};
use domain::{Address, BlockId, BlockRef};
use node::CallBlock;
use serde_json::value::RawValue;

use crate::{
    error::PageError,
    form::{Audience, FormAnswer, FormFields},
    node_calls::NodeCallError,
    state::{App, WebState},
};

/// The same as the API accepts.
pub(super) const MAX_BYTES: usize = 64 * 1024;
const BAD_ARGUMENTS: &str = "args must be a JSON list.";
const NODE_UNAVAILABLE: &str = "The node is unavailable. Try again shortly.";

pub(super) async fn call(
    State(app): State<App>,
    Path(address): Path<String>,
    audience: Audience,
    fields: FormFields,
) -> Result<Response, PageError> {
    let Ok(address) = address.parse::<Address>() else {
        return app.not_an_address().await;
    };
    let answer = call_contract(&app, address, &fields).await?;
    answer
        .respond(&app, audience, "Result of the call", format!("/address/{}?tab=contract", address.to_checksum(None)))
        .await
}

/// The input of a transaction, for a wallet to sign.
pub(super) async fn encode(
    State(app): State<App>,
    Path(address): Path<String>,
    audience: Audience,
    fields: FormFields,
) -> Result<Response, PageError> {
    let Ok(address) = address.parse::<Address>() else {
        return app.not_an_address().await;
    };
    let answer = encode_call(&app, address, &fields).await;
    let back = format!("/address/{}?tab=contract", address.to_checksum(None));
    answer.respond(&app, audience, "Input of the transaction", back).await
}

async fn encode_call(app: &WebState, address: Address, fields: &FormFields) -> FormAnswer {
    let Ok(arguments) = serde_json::from_str::<Vec<&RawValue>>(fields.find("args").unwrap_or("[]")) else {
        return FormAnswer::bad_input(BAD_ARGUMENTS);
    };
    let function = fields.text("function");
    let call = FunctionCall { address, function, arguments, from: None, at: CallBlock::Latest };
    match app.node_calls.run_long(app.calls.encode(&call)).await {
        Ok(Ok(input)) => FormAnswer::new(StatusCode::OK, input.to_string()),
        Ok(Err(error)) => failure(&error),
        Err(refused) => refusal(refused),
    }
}

async fn call_contract(app: &WebState, address: Address, fields: &FormFields) -> Result<FormAnswer, PageError> {
    let Ok(arguments) = serde_json::from_str::<Vec<&RawValue>>(fields.find("args").unwrap_or("[]")) else {
        return Ok(FormAnswer::bad_input(BAD_ARGUMENTS));
    };
    let from = match fields.find("from").map(str::parse) {
        None => None,
        Some(Ok(from)) => Some(from),
        Some(Err(_)) => {
            return Ok(FormAnswer::bad_input("The sender must be 0x and 40 hexadecimal digits."));
        }
    };
    let at = match fields.find("block").map(str::parse) {
        None => CallBlock::Latest,
        Some(Err(_)) => return Ok(FormAnswer::bad_input("The block must be a number.")),
        Some(Ok(number)) => match app.chain.find_block(BlockId::Number(number)).await? {
            Some(block) => CallBlock::At(BlockRef { number: block.number, hash: block.hash }),
            None => return Ok(FormAnswer::new(StatusCode::NOT_FOUND, "There is no such block in the index.")),
        },
    };
    let call = FunctionCall { address, function: fields.text("function"), arguments, from, at };
    Ok(match app.node_calls.run_long(app.calls.call(&call)).await {
        Ok(Ok(result)) => {
            let result = result.each_once();
            let text = result.as_text().map(str::to_owned);
            FormAnswer::new(
                StatusCode::OK,
                text.unwrap_or_else(|| serde_json::to_string_pretty(&result).unwrap_or_default()),
            )
        }
        Ok(Err(error)) => failure(&error),
        Err(refused) => refusal(refused),
    })
}

fn refusal(refused: NodeCallError) -> FormAnswer {
    match refused {
        NodeCallError::BudgetSpent => FormAnswer::new(
            StatusCode::TOO_MANY_REQUESTS,
            "You have made many calls in the last minute. Wait a few seconds and call again, or enter an API key: \
             calls with a key have a limit of their own.",
        ),
        NodeCallError::TimedOut => FormAnswer::new(StatusCode::SERVICE_UNAVAILABLE, NODE_UNAVAILABLE),
    }
}

fn failure(error: &CallError) -> FormAnswer {
    match error {
        CallError::NotVerified => FormAnswer::new(StatusCode::NOT_FOUND, "This contract is not verified."),
        CallError::NoCode => FormAnswer::new(StatusCode::NOT_FOUND, error.to_string()),
        CallError::UnknownFunction { .. }
        | CallError::Ambiguous { .. }
        | CallError::NotView { .. }
        | CallError::ArgumentCount { .. }
        | CallError::Argument { .. } => FormAnswer::bad_input(error.to_string()),
        CallError::Reverted(_)
        | CallError::UndecodableOutput { .. }
        | CallError::OutputTooLong { .. }
        | CallError::StateGone
        | CallError::Interface(_) => FormAnswer::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string()),
        CallError::Node(_) | CallError::Store(_) => {
            let error: &dyn std::error::Error = error;
            tracing::debug!(error, "a call from a page failed");
            FormAnswer::new(StatusCode::SERVICE_UNAVAILABLE, NODE_UNAVAILABLE)
        }
    }
}
