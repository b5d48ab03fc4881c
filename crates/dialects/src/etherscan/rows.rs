//! Lists that are sent while they are read, so that long ones need little memory.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use alloy_primitives::Address;
use axum::body::Body;
use client_address::Client;
use contracts::Interface;
use domain::{B256, BlockNumber, Bytes, Selector, Transaction};
use futures::stream;
use serde_json::Value;

use super::{
    answer::{Answer, Failure},
    coverage::Asked,
};
use crate::{app::App, error::DialectError};

const TAIL: &str = "]}";
/// For a whole list: a client that reads more slowly gets no more of it.
const MAX_TIME: Duration = Duration::from_secs(120);
/// Rows for which one call to the node is paid.
const ROWS_OF_A_CALL: u32 = 100;
/// Calls to the node for a short list.
const MIN_CALLS: u32 = 10;
/// Contracts whose functions are named at a time.
const MAX_INTERFACES: usize = 256;

/// A list, read in parts.
pub(super) trait Rows: Send + 'static {
    /// The next rows; none at the end.
    fn next(&mut self) -> impl Future<Output = Result<Vec<Value>, DialectError>> + Send;
}

struct Writing<R> {
    started: Instant,
    rows: R,
    /// Rows that are read but not sent.
    pending: Option<Vec<Value>>,
    /// The first indexed block, if the list begins before it.
    known_since: Option<BlockNumber>,
    is_first: bool,
    is_done: bool,
}

/// Sends rows as they are read. If the list is empty, `empty` is the message.
pub(super) async fn send(app: &App, mut rows: impl Rows, empty: &'static str, asked: Asked) -> Result<Answer, Failure> {
    let first = rows.next().await?;
    let known_since = asked.known_since(app).await?;
    if first.is_empty() {
        return Err(asked.none_found(empty, known_since));
    }
    let (started, pending) = (Instant::now(), Some(first));
    let writing = Writing { started, rows, pending, known_since, is_first: true, is_done: false };
    Ok(Answer::Stream(Body::from_stream(stream::try_unfold(writing, write_part))))
}

/// The envelope up to the first row.
fn head(known_since: Option<BlockNumber>) -> String {
    let known_since = known_since.map(|first| format!(r#""firstIndexedBlock":{first},"#));
    format!(r#"{{"status":"1","message":"OK",{}"result":["#, known_since.unwrap_or_default())
}

async fn write_part<R: Rows>(mut writing: Writing<R>) -> Result<Option<(String, Writing<R>)>, DialectError> {
    if writing.is_done {
        return Ok(None);
    }
    let rows = match writing.pending.take() {
        Some(rows) => rows,
        None => writing.read().await.inspect_err(|error| {
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
        match std::mem::replace(&mut writing.is_first, false) {
            true => part.push_str(&head(writing.known_since)),
            false => part.push(','),
        }
        part.push_str(&row.to_string());
    }
    Ok(Some((part, writing)))
}

impl<R: Rows> Writing<R> {
    async fn read(&mut self) -> Result<Vec<Value>, DialectError> {
        if self.started.elapsed() > MAX_TIME {
            return Err(DialectError::TooSlow);
        }
        self.rows.next().await
    }
}

/// Inputs that the index does not keep, since they are long: from the node, a few for each list.
pub(super) struct LongInputs {
    app: Arc<App>,
    client: Client,
    calls_left: u32,
}

impl LongInputs {
    /// For a list of at most so many rows.
    pub(super) fn new(app: Arc<App>, client: Client, rows: u32) -> Self {
        Self { app, client, calls_left: rows.div_ceil(ROWS_OF_A_CALL).max(MIN_CALLS) }
    }

    /// Fills in the inputs of transactions, the first ones first. Those beyond what is paid for stay unknown.
    pub(super) async fn fill(&mut self, transactions: &mut [&mut Transaction]) -> Result<(), DialectError> {
        let most = usize::try_from(self.calls_left).unwrap_or(usize::MAX);
        let mut missing: Vec<&mut &mut Transaction> =
            transactions.iter_mut().filter(|transaction| transaction.input.is_none()).take(most).collect();
        if missing.is_empty() {
            return Ok(());
        }
        self.calls_left -= u32::try_from(missing.len()).unwrap_or(self.calls_left);
        let hashes: Vec<B256> = missing.iter().map(|transaction| transaction.hash).collect();
        let _permit = self.app.node_call(self.client).await?;
        let found = self.app.services.node.find_inputs(&hashes).await?;
        for (transaction, found) in missing.iter_mut().zip(found) {
            let (block_hash, input) = found.ok_or(DialectError::Moved)?;
            if block_hash != transaction.block_hash {
                return Err(DialectError::Moved);
            }
            transaction.input = Some(input);
        }
        Ok(())
    }
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

/// The first four bytes of call data or creation code, as Etherscan writes them; empty if they are not known.
pub(super) fn method_id(transaction: &Transaction) -> String {
    match (&transaction.input, transaction.method) {
        (Some(input), _) => alloy_primitives::hex::encode_prefixed(input.get(..4).unwrap_or_default()),
        (None, Some(method)) => alloy_primitives::hex::encode_prefixed(method),
        (None, None) => String::new(),
    }
}

/// As in all of Etherscan's lists, an empty text is what is not known.
pub(super) fn or_empty<T: ToString>(known: Option<T>) -> String {
    known.map(|known| known.to_string()).unwrap_or_default()
}

/// An input in hexadecimal digits.
pub(super) fn input_text(input: Option<&Bytes>) -> String {
    or_empty(input)
}
