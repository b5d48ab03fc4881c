//! A block with all that belongs to it, in as few round trips as the node allows.

use std::sync::Arc;

use alloy_primitives::B256;
use domain::{BlockNumber, FetchedBlock};
use tokio::time::Instant;

use crate::{
    NodeError,
    ability::{Choice, Failure},
    check::{Doubt, arrange_receipts, check_block, join_receipts},
    decode::{RawBlock, RawReceipt},
    limiter::Turn,
    retry::persist_part,
    upstream::{Call, Upstream},
    verify::{Contradiction, RefusedBlock},
};

const BLOCK: &str = "eth_getBlockByNumber";
const BLOCK_RECEIPTS: &str = "eth_getBlockReceipts";
const RECEIPT: &str = "eth_getTransactionReceipt";
/// Blocks with more transactions are checked off the threads that drive the connections.
const MANY_TRANSACTIONS: usize = 500;

/// None: the node does not have the block (yet).
pub(crate) async fn fetch_block(
    upstream: Arc<Upstream>,
    number: BlockNumber,
    turn: Turn,
) -> Result<Option<FetchedBlock>, NodeError> {
    match upstream.abilities().block_receipts.choice() {
        Choice::Use => return with_block_receipts(&upstream, number, turn).await,
        Choice::TryBeside => drop(tokio::spawn(try_block_receipts(Arc::clone(&upstream), number))),
        Choice::GoWithout => {}
    }
    let asked = persist_part(&upstream, turn, |turn| block(&upstream, number, turn));
    let Some(block) = asked.await? else { return Ok(None) };
    with_receipts_one_by_one(&upstream, block).await.map(Some)
}

async fn with_block_receipts(
    upstream: &Upstream,
    number: BlockNumber,
    turn: Turn,
) -> Result<Option<FetchedBlock>, NodeError> {
    let by_number = format!(r#"["{number:#x}"]"#);
    let receipts = async {
        tokio::select! {
            biased;
            receipts = persist_part(upstream, turn, |turn| block_receipts(upstream, by_number.clone(), turn)) => {
                Some(receipts)
            }
            // Hundreds of blocks may have been sent for before the first of them found out.
            () = upstream.abilities().block_receipts.given_up() => None,
        }
    };
    let (block, receipts) = tokio::join!(persist_part(upstream, turn, |turn| block(upstream, number, turn)), receipts);
    let Some(block) = block? else { return Ok(None) };
    let Some(receipts) = receipts else { return with_receipts_one_by_one(upstream, block).await.map(Some) };
    match receipts {
        Err(error) if goes_on_without(upstream, &error) => with_receipts_one_by_one(upstream, block).await.map(Some),
        Err(error) => Err(error),
        Ok(Some(receipts)) if belong_together(&block, &receipts) => {
            join(upstream, block, receipts, BLOCK_RECEIPTS).await.map(Some)
        }
        Ok(None) if block.transactions.is_empty() => join(upstream, block, Vec::new(), BLOCK_RECEIPTS).await.map(Some),
        Ok(_) => with_receipts_by_hash(upstream, block).await.map(Some),
    }
}

/// Whether receipts of blocks are not to be had, while the block itself was.
fn goes_on_without(upstream: &Upstream, error: &NodeError) -> bool {
    let failure = match error {
        error if error.lacks_method() => Failure::Missing,
        NodeError::TimedOut { .. } => Failure::Overdue,
        NodeError::Dropped { .. } => Failure::Failed,
        NodeError::HttpStatus { .. } | NodeError::Rpc { .. } if error.is_transient() => Failure::Failed,
        _ => return false,
    };
    let ability = &upstream.abilities().block_receipts;
    let was_used = ability.is_used();
    let goes_on = ability.failed(failure);
    if goes_on && was_used {
        tracing::warn!(endpoint = upstream.name(), %error, "the node gives receipts one by one only");
    }
    goes_on
}

/// Finds out whether receipts of blocks are to be had again. Nobody waits for it.
async fn try_block_receipts(upstream: Arc<Upstream>, number: BlockNumber) {
    match block_receipts(&upstream, format!(r#"["{number:#x}"]"#), Turn::Next).await {
        Ok(_) => tracing::info!(endpoint = upstream.name(), "the node gives the receipts of a block again"),
        Err(error) => drop(goes_on_without(&upstream, &error)),
    }
}

async fn block(upstream: &Upstream, number: BlockNumber, turn: Turn) -> Result<Option<RawBlock>, NodeError> {
    let call = Call::new(BLOCK, format!(r#"["{number:#x}",true]"#)).at(turn);
    let Some(block) = upstream.call::<RawBlock>(&call).await? else { return Ok(None) };
    check_block(number, &block).map_err(|doubt| NodeError::bad_answer(BLOCK, doubt))?;
    Ok(Some(block))
}

async fn block_receipts(upstream: &Upstream, params: String, turn: Turn) -> Result<Option<Vec<RawReceipt>>, NodeError> {
    let (ability, begun) = (&upstream.abilities().block_receipts, Instant::now());
    let receipts = upstream.call(&Call::new(BLOCK_RECEIPTS, params).at(turn).within(ability.patience())).await?;
    ability.worked(begun.elapsed());
    Ok(receipts)
}

/// Whether the receipts are of this block at all. Asked for by number at the same moment as the block, they may be of
/// another branch, or of a block that the node got in between.
fn belong_together(block: &RawBlock, receipts: &[RawReceipt]) -> bool {
    receipts.len() == block.transactions.len() && receipts.iter().all(|receipt| receipt.block_hash == block.hash)
}

async fn with_receipts_by_hash(upstream: &Upstream, block: RawBlock) -> Result<FetchedBlock, NodeError> {
    let hash = block.hash.0;
    match block_receipts(upstream, format!(r#"["{hash}"]"#), Turn::Next).await? {
        Some(receipts) => join(upstream, block, receipts, BLOCK_RECEIPTS).await,
        None => Err(NodeError::bad_answer(BLOCK_RECEIPTS, format_args!("no receipts of block {hash}"))),
    }
}

async fn with_receipts_one_by_one(upstream: &Upstream, block: RawBlock) -> Result<FetchedBlock, NodeError> {
    let call = |hash: B256| Call::new(RECEIPT, format!(r#"["{hash}"]"#));
    let calls: Vec<Call> = block.transactions.iter().map(|tx| call(tx.hash.0)).collect();
    let mut receipts = Vec::with_capacity(calls.len());
    for (receipt, tx) in upstream.call_many::<RawReceipt>(&calls).await?.into_iter().zip(&block.transactions) {
        let missing = || NodeError::bad_answer(RECEIPT, format_args!("no receipt of transaction {}", tx.hash.0));
        receipts.push(receipt?.ok_or_else(missing)?);
    }
    join(upstream, block, receipts, RECEIPT).await
}

/// `method` is the one that gave the receipts: it is to blame where they are in doubt.
async fn join(
    upstream: &Upstream,
    block: RawBlock,
    mut receipts: Vec<RawReceipt>,
    method: &'static str,
) -> Result<FetchedBlock, NodeError> {
    let blame = |doubt| match doubt {
        Doubt::NoMiner => NodeError::bad_answer(BLOCK, doubt),
        doubt => NodeError::bad_answer(method, doubt),
    };
    arrange_receipts(&block, &mut receipts).map_err(blame)?;
    let number = block.number.0;
    let (verified, block, receipts) = verify(upstream, block, receipts).await?;
    let evidence = upstream.verifier().evidence();
    if let Err(Contradiction { check, what }) = verified {
        evidence.refuse(RefusedBlock { number, check });
        return Err(NodeError::InvalidBlock { host: upstream.verifier().host().to_owned(), number, check, what });
    }
    let joined = join_receipts(block, receipts).map_err(blame)?;
    evidence.accept(number);
    Ok(joined)
}

async fn verify(
    upstream: &Upstream,
    block: RawBlock,
    receipts: Vec<RawReceipt>,
) -> Result<(Result<(), Contradiction>, RawBlock, Vec<RawReceipt>), NodeError> {
    let many = block.transactions.len() > MANY_TRANSACTIONS;
    let verifier = Arc::clone(upstream.verifier());
    let verify = move || (verifier.verify(&block, &receipts), block, receipts);
    if !many {
        return Ok(verify());
    }
    tokio::task::spawn_blocking(verify).await.map_err(|error| NodeError::bad_answer(BLOCK, error))
}
