//! Lists that are sent while they are read, so that long ones need little memory.

use std::{collections::HashMap, sync::Arc};

use alloy_primitives::Address;
use axum::body::Body;
use contracts::Interface;
use domain::{B256, Selector, TransactionDetail};
use futures::stream;
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;

use super::answer::{Answer, Failure};
use crate::{app::App, error::DialectError};

const HEAD: &str = r#"{"status":"1","message":"OK","result":["#;
const TAIL: &str = "]}";
/// Contracts whose functions are named at a time.
const MAX_INTERFACES: usize = 256;

/// A list, read in parts.
pub(super) trait Rows: Send + 'static {
    /// The next rows; none at the end.
    fn next(&mut self) -> impl Future<Output = Result<Vec<Value>, DialectError>> + Send;
}

struct Writing<R> {
    rows: R,
    /// Rows that are read but not sent.
    pending: Option<Vec<Value>>,
    is_first: bool,
    is_done: bool,
    /// Limits the lists that are read at a time.
    _permit: OwnedSemaphorePermit,
}

/// Sends rows as they are read. If the list is empty, `empty` is the message.
pub(super) async fn send(app: &App, mut rows: impl Rows, empty: &'static str) -> Result<Answer, Failure> {
    let permit = Arc::clone(&app.heavy).acquire_owned().await;
    let permit = permit.map_err(|_| Failure::text("Error! The server is shutting down"))?;
    let first = rows.next().await?;
    if first.is_empty() {
        return Err(Failure::empty(empty));
    }
    let writing = Writing { rows, pending: Some(first), is_first: true, is_done: false, _permit: permit };
    Ok(Answer::Stream(Body::from_stream(stream::try_unfold(writing, write_part))))
}

async fn write_part<R: Rows>(mut writing: Writing<R>) -> Result<Option<(String, Writing<R>)>, DialectError> {
    if writing.is_done {
        return Ok(None);
    }
    let rows = match writing.pending.take() {
        Some(rows) => rows,
        None => writing.rows.next().await.inspect_err(|error| {
            // The response has begun: all that is left is to cut it off.
            error.report();
        })?,
    };
    let mut part = String::new();
    if rows.is_empty() {
        writing.is_done = true;
        part.push_str(TAIL);
    }
    for row in rows {
        part.push_str(if writing.is_first { HEAD } else { "," });
        writing.is_first = false;
        part.push_str(&row.to_string());
    }
    Ok(Some((part, writing)))
}

/// The parts of transactions that the index does not have.
pub(super) async fn details(app: &App, hashes: &[B256]) -> Result<Vec<TransactionDetail>, DialectError> {
    let found = app.services.node.find_transactions(hashes).await?;
    found.into_iter().map(|detail| detail.ok_or(DialectError::Moved)).collect()
}

/// Names of called functions, from verified contracts.
pub(super) struct FunctionNames {
    app: Arc<App>,
    interfaces: HashMap<Address, Option<Interface>>,
}

impl FunctionNames {
    pub(super) fn new(app: Arc<App>) -> Self {
        Self { app, interfaces: HashMap::new() }
    }

    /// The function with its parameters, such as `transfer(address to, uint256 amount)`; empty if it is unknown.
    pub(super) async fn find(&mut self, contract: Address, selector: Selector) -> Result<String, DialectError> {
        if !self.interfaces.contains_key(&contract) {
            if self.interfaces.len() >= MAX_INTERFACES {
                self.interfaces.clear();
            }
            let interface = self.find_interface(contract).await?;
            self.interfaces.insert(contract, interface);
        }
        let interface = self.interfaces.get(&contract).and_then(Option::as_ref);
        let function =
            interface.and_then(|interface| interface.functions.iter().find(|function| function.selector() == selector));
        let Some(function) = function else { return Ok(String::new()) };
        let input =
            |input: &alloy_json_abi::Param| format!("{} {}", input.selector_type(), input.name).trim().to_owned();
        let inputs: Vec<String> = function.inputs.iter().map(input).collect();
        Ok(format!("{}({})", function.name, inputs.join(", ")))
    }

    async fn find_interface(&self, contract: Address) -> Result<Option<Interface>, DialectError> {
        let services = &self.app.services;
        let Some(hash) = services.chain.find_code_hash(contract).await? else { return Ok(None) };
        let found = services.verified.find_verified(contract, hash).await?;
        Ok(found.map(|found| Interface::read(&found.code.abi)))
    }
}

/// The first four bytes of call data or creation code, as Etherscan writes them.
pub(super) fn method_id(input: &[u8]) -> String {
    alloy_primitives::hex::encode_prefixed(input.get(..4).unwrap_or_default())
}
