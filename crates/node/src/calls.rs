//! Many calls of contracts, executed without leaving a trace.

use std::time::Duration;

use alloy_primitives::Bytes;
use domain::{Address, BlockNumber, BlockRef};
use futures::future::try_join_all;

use crate::{
    NodeError,
    decode::CappedBytes,
    rpc_error::RpcErrorKind,
    state::StateName,
    upstream::{Call, Upstream},
};

const METHOD: &str = "eth_call";
/// Far more than a question to a contract needs. It bounds the node's work, and with it the length of an answer:
/// memory has its price in gas, this much buys about 1.6 MB.
const GAS: u64 = 5_000_000;
/// Calls of one request at most, and requests at once: only so many answers that are long on purpose are in memory at a
/// time.
const GROUP: usize = 25;
const AT_ONCE: usize = 2;
/// How often a call that fails in words nobody knows is asked beside one that cannot fail.
const TRIALS: u32 = 3;
const TRIAL_PAUSE: Duration = Duration::from_millis(200);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractCall {
    pub to: Address,
    pub data: Bytes,
}

/// The state that calls see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallBlock {
    /// Of the node's head, whichever that is.
    Latest,
    At(BlockRef),
}

/// How one call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContractAnswer {
    /// Nothing, where there is no code.
    Returned(Bytes),
    /// Reverted, out of gas, an invalid instruction, or an answer of more than 64 KiB: nothing that could be used.
    Reverted,
}

/// What the calls gave, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractAnswers {
    pub answers: Vec<ContractAnswer>,
    /// Where the calls were executed; None for [`CallBlock::Latest`], where the node alone knows.
    pub block: Option<BlockNumber>,
}

pub(crate) async fn call_contracts(
    upstream: &Upstream,
    calls: &[ContractCall],
    at: CallBlock,
) -> Result<ContractAnswers, NodeError> {
    let at = match at {
        CallBlock::Latest => {
            let answers = ask_all(upstream, calls, r#""latest""#).await?;
            return Ok(ContractAnswers { answers, block: None });
        }
        CallBlock::At(block) => block,
    };
    match call_at(upstream, calls, at).await {
        Ok(answers) => Ok(ContractAnswers { answers, block: Some(at.number) }),
        // A node that prunes, while the index is far behind.
        Err(error) if error.rpc_kind() == Some(RpcErrorKind::StateGone) => {
            let head = upstream.head().await?;
            if head.number < at.number {
                // One that is behind the index does not know yet which contracts there are.
                return Err(error);
            }
            let answers = call_at(upstream, calls, head).await?;
            Ok(ContractAnswers { answers, block: Some(head.number) })
        }
        Err(error) => Err(error),
    }
}

async fn call_at(upstream: &Upstream, calls: &[ContractCall], at: BlockRef) -> Result<Vec<ContractAnswer>, NodeError> {
    let state = StateName::of(upstream, at);
    let outcome = ask_all(upstream, calls, &state.to_string()).await;
    match outcome.as_ref().err().and_then(|error| state.instead(upstream, error)) {
        Some(other) => ask_all(upstream, calls, &other.to_string()).await,
        None => outcome,
    }
}

async fn ask_all(upstream: &Upstream, calls: &[ContractCall], block: &str) -> Result<Vec<ContractAnswer>, NodeError> {
    let requests: Vec<Call> = calls.iter().map(|call| request(call, block)).collect();
    let mut answers = Vec::with_capacity(requests.len());
    for together in requests.chunks(GROUP * AT_ONCE) {
        let groups = together.chunks(GROUP).map(|group| ask_group(upstream, group, block));
        answers.extend(try_join_all(groups).await?.into_iter().flatten());
    }
    Ok(answers)
}

async fn ask_group(upstream: &Upstream, group: &[Call], block: &str) -> Result<Vec<ContractAnswer>, NodeError> {
    let mut answers = Vec::with_capacity(group.len());
    for (answer, request) in upstream.call_many::<CappedBytes>(group).await?.into_iter().zip(group) {
        answers.push(match read(answer) {
            Err(error) if is_unknown_trouble(&error) => try_beside_control(upstream, request, block, error).await?,
            answer => answer?,
        });
    }
    Ok(answers)
}

fn request(call: &ContractCall, block: &str) -> Call {
    let ContractCall { to, data } = call;
    Call::new(METHOD, format!(r#"[{{"to":"{to:#x}","data":"{data}","gas":"{GAS:#x}"}},{block}]"#))
}

fn read(answer: Result<Option<CappedBytes>, NodeError>) -> Result<ContractAnswer, NodeError> {
    match answer {
        Ok(Some(CappedBytes::Bytes(bytes))) => Ok(ContractAnswer::Returned(bytes)),
        Ok(Some(CappedBytes::TooMany)) => Ok(ContractAnswer::Reverted),
        Ok(None) => Err(NodeError::bad_answer(METHOD, "null")),
        Err(error) if error.rpc_kind() == Some(RpcErrorKind::Execution) => Ok(ContractAnswer::Reverted),
        Err(error) => Err(error),
    }
}

/// An error that the node gave for this one call, in words that tell neither a failed execution nor what else. Words
/// of haste are the node's trouble, not the contract's.
fn is_unknown_trouble(error: &NodeError) -> bool {
    let NodeError::Rpc { message, .. } = error else { return false };
    let message = message.to_ascii_lowercase();
    let hurried = ["timeout", "timed out", "deadline", "cancel", "abort", "busy", "overload", "unavailable"];
    matches!(error.rpc_kind(), Some(RpcErrorKind::Passing | RpcErrorKind::Final))
        && !hurried.iter().any(|word| message.contains(word))
}

/// Finds out whether the call or the node is at fault: a call to nobody, which cannot fail, goes along. Without this
/// any contract that fails in a way of its own would be waited for like a node that is down.
async fn try_beside_control(
    upstream: &Upstream,
    suspect: &Call,
    block: &str,
    mut error: NodeError,
) -> Result<ContractAnswer, NodeError> {
    let control = request(&ContractCall { to: Address::ZERO, data: Bytes::new() }, block);
    for _ in 0..TRIALS {
        tokio::time::sleep(TRIAL_PAUSE).await;
        let mut answers = upstream.call_many::<CappedBytes>(&[suspect.clone(), control.clone()]).await?.into_iter();
        let (answer, control) = (answers.next().map(read), answers.next().map(read));
        control.transpose()?;
        match answer {
            Some(Err(again)) if is_unknown_trouble(&again) => error = again,
            Some(answer) => return answer,
            None => return Err(error),
        }
    }
    tracing::debug!(%error, "a call that the node alone refuses counts as reverted");
    Ok(ContractAnswer::Reverted)
}
