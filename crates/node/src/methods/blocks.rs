//! Fetches a block with its transactions and receipts in as few round trips as the node allows.

mod rewards;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use alloy_primitives::B256;
use domain::{BlockNumber, FetchedBlock, RewardRules};
use futures::future::BoxFuture;
use tokio::time::Instant;

use self::rewards::Work;
use crate::{
    client::NodeClient,
    decode::{RawBlock, RawReceipt},
    endpoint::{
        breaker::{Choice, Failure},
        call::Call,
        health::Operation,
        lane::Lane,
        retry::retry_request,
        upstream::Upstream,
    },
    error::NodeError,
    rpc_method::RpcMethod,
    verify::{CheckError, Contradiction, Numbering, RejectedBlock, arrange_receipts, check_block, hash, join_receipts},
};

/// Blocks with more transactions are verified on the blocking pool.
const MANY_TRANSACTIONS: usize = 500;

impl NodeClient {
    /// The block at a height with transactions, receipts and logs, all verified; None if the node does not have it (yet).
    pub fn find_block(&self, number: BlockNumber) -> BoxFuture<'_, Result<Option<FetchedBlock>, NodeError>> {
        self.find_block_first_in(self.lane(), number)
    }

    /// The same for a block that is not the next one: it goes after those that are waited for, unless it has to be requested again.
    pub fn find_block_ahead(&self, number: BlockNumber) -> BoxFuture<'_, Result<Option<FetchedBlock>, NodeError>> {
        self.find_block_first_in(Lane::Ahead, number)
    }

    fn find_block_first_in(
        &self,
        first_lane: Lane,
        number: BlockNumber,
    ) -> BoxFuture<'_, Result<Option<FetchedBlock>, NodeError>> {
        Box::pin(async move {
            let is_retry = AtomicBool::new(false);
            let request = |_, upstream: Upstream| {
                let lane = if is_retry.swap(true, Ordering::Relaxed) { self.lane() } else { first_lane };
                async move {
                    let Some(Joined { mut block, work, state_root }) =
                        fetch_block(upstream.clone(), number, lane).await?
                    else {
                        return Ok(None);
                    };
                    let rules = self.failover().known_identity().and_then(RewardRules::of);
                    if let Some((work, rules)) = work.zip(rules) {
                        block.credits.extend(work.credits(&upstream, rules, &block.block).await?);
                    }
                    if let (0, Some(genesis)) = (number, self.genesis()) {
                        let root = state_root.unwrap_or_default();
                        if !genesis.has_root(root) {
                            return Err(NodeError::OtherGenesis { root });
                        }
                        block.credits.extend(genesis.credits());
                    }
                    Ok(Some(block))
                }
            };
            self.with_retries(Operation::Block, self.tries(), request).await
        })
    }
}

/// A block with its receipts, without what the protocol paid for it.
struct Joined {
    block: FetchedBlock,
    work: Option<Work>,
    state_root: Option<B256>,
}

/// None: the node does not have the block (yet).
async fn fetch_block(upstream: Upstream, number: BlockNumber, lane: Lane) -> Result<Option<Joined>, NodeError> {
    match upstream.capabilities().block_receipts.choice() {
        Choice::Use => return with_block_receipts(&upstream, number, lane).await,
        Choice::Probe => drop(tokio::spawn(probe_block_receipts(upstream.clone(), number))),
        Choice::Skip => {}
    }
    let request = retry_request(&upstream, lane, |lane| block(&upstream, number, lane));
    let Some(block) = request.await? else { return Ok(None) };
    with_single_receipts(&upstream, block).await.map(Some)
}

async fn with_block_receipts(
    upstream: &Upstream,
    number: BlockNumber,
    lane: Lane,
) -> Result<Option<Joined>, NodeError> {
    let by_number = format!(r#"["{number:#x}"]"#);
    let receipts = async {
        tokio::select! {
            biased;
            receipts = retry_request(upstream, lane, |lane| block_receipts(upstream, by_number.clone(), lane)) => {
                Some(receipts)
            }
            // Hundreds of requests may be in flight when the first one fails.
            () = upstream.capabilities().block_receipts.opened() => None,
        }
    };
    let block = retry_request(upstream, lane, |lane| block(upstream, number, lane));
    let newest_is_empty = &upstream.capabilities().newest_is_empty;
    let (block, receipts) = if newest_is_empty.load(Ordering::Relaxed) {
        // On a quiet chain, receipts are requested only if there are any.
        let Some(block) = block.await? else { return Ok(None) };
        if block.transactions.is_empty() {
            return join(upstream, block, Vec::new(), RpcMethod::GetBlockReceipts).await.map(Some);
        }
        (block, receipts.await)
    } else {
        let (block, receipts) = tokio::join!(block, receipts);
        let Some(block) = block? else { return Ok(None) };
        (block, receipts)
    };
    newest_is_empty.store(block.transactions.is_empty(), Ordering::Relaxed);
    let Some(receipts) = receipts else { return with_single_receipts(upstream, block).await.map(Some) };
    match receipts {
        Err(error) if falls_back(upstream, &error) => with_single_receipts(upstream, block).await.map(Some),
        Err(error) => Err(error),
        Ok(Some(receipts)) if receipts_match(&block, &receipts) => {
            join(upstream, block, receipts, RpcMethod::GetBlockReceipts).await.map(Some)
        }
        Ok(None) if block.transactions.is_empty() => {
            join(upstream, block, Vec::new(), RpcMethod::GetBlockReceipts).await.map(Some)
        }
        Ok(_) => with_receipts_by_hash(upstream, block).await.map(Some),
    }
}

/// Whether to fetch single receipts instead, given that the block itself was returned.
fn falls_back(upstream: &Upstream, error: &NodeError) -> bool {
    let failure = match error {
        error if error.lacks_method() => Failure::Missing,
        NodeError::TimedOut { .. } => Failure::TimedOut,
        NodeError::Dropped { .. } => Failure::Failed,
        NodeError::HttpStatus { .. } | NodeError::Rpc { .. } if error.is_transient() => Failure::Failed,
        _ => return false,
    };
    let breaker = &upstream.capabilities().block_receipts;
    let was_closed = breaker.is_closed();
    let opened = breaker.failed(failure);
    if opened && was_closed {
        tracing::warn!(endpoint = upstream.name(), %error, "eth_getBlockReceipts does not work, fetching receipts one by one");
    }
    opened
}

/// Probes in the background whether block receipts work again.
async fn probe_block_receipts(upstream: Upstream, number: BlockNumber) {
    match block_receipts(&upstream, format!(r#"["{number:#x}"]"#), upstream.lane()).await {
        Ok(_) => tracing::info!(endpoint = upstream.name(), "eth_getBlockReceipts works again"),
        Err(error) => drop(falls_back(&upstream, &error)),
    }
}

async fn block(upstream: &Upstream, number: BlockNumber, lane: Lane) -> Result<Option<RawBlock>, NodeError> {
    let call = Call::new(RpcMethod::GetBlockByNumber, format!(r#"["{number:#x}",true]"#)).in_lane(lane);
    let Some(block) = upstream.call_in_one_pass::<RawBlock>(&call).await? else { return Ok(None) };
    check_block(number, &block).map_err(|error| NodeError::invalid_response(RpcMethod::GetBlockByNumber, error))?;
    Ok(Some(block))
}

async fn block_receipts(upstream: &Upstream, params: String, lane: Lane) -> Result<Option<Vec<RawReceipt>>, NodeError> {
    let (breaker, begun) = (&upstream.capabilities().block_receipts, Instant::now());
    let call = Call::new(RpcMethod::GetBlockReceipts, params).in_lane(lane).within(breaker.timeout());
    let receipts = upstream.call_in_one_pass(&call).await?;
    breaker.succeeded(begun.elapsed());
    Ok(receipts)
}

/// Whether the receipts belong to this block. Requested by number concurrently with the block, they may be of another
/// branch, or of a block that the node received in between.
fn receipts_match(block: &RawBlock, receipts: &[RawReceipt]) -> bool {
    receipts.len() == block.transactions.len() && receipts.iter().all(|receipt| receipt.block_hash == block.hash)
}

async fn with_receipts_by_hash(upstream: &Upstream, block: RawBlock) -> Result<Joined, NodeError> {
    let hash = block.hash.0;
    match block_receipts(upstream, format!(r#"["{hash}"]"#), upstream.lane()).await? {
        Some(receipts) => join(upstream, block, receipts, RpcMethod::GetBlockReceipts).await,
        None => {
            Err(NodeError::invalid_response(RpcMethod::GetBlockReceipts, format_args!("no receipts for block {hash}")))
        }
    }
}

async fn with_single_receipts(upstream: &Upstream, block: RawBlock) -> Result<Joined, NodeError> {
    let call = |hash: B256| Call::new(RpcMethod::GetTransactionReceipt, format!(r#"["{hash}"]"#));
    let calls: Vec<Call> = block.transactions.iter().map(|tx| call(tx.hash.0)).collect();
    let mut receipts = Vec::with_capacity(calls.len());
    for (receipt, tx) in upstream.call_many::<RawReceipt>(&calls).await?.into_iter().zip(&block.transactions) {
        let missing = || {
            NodeError::invalid_response(
                RpcMethod::GetTransactionReceipt,
                format_args!("no receipt for transaction {}", tx.hash.0),
            )
        };
        receipts.push(receipt?.ok_or_else(missing)?);
    }
    join(upstream, block, receipts, RpcMethod::GetTransactionReceipt).await
}

/// `method` is the one that returned the receipts, for error messages.
async fn join(
    upstream: &Upstream,
    block: RawBlock,
    mut receipts: Vec<RawReceipt>,
    method: RpcMethod,
) -> Result<Joined, NodeError> {
    let as_node_error = |error| match error {
        CheckError::NoMiner => NodeError::invalid_response(RpcMethod::GetBlockByNumber, error),
        error => NodeError::invalid_response(method, error),
    };
    arrange_receipts(&block, &mut receipts).map_err(as_node_error)?;
    let number = block.number.0;
    let (verified, block, receipts) = verify_block(upstream, block, receipts).await?;
    let evidence = upstream.verifier().evidence();
    if let Err(Contradiction { check, what }) = verified {
        evidence.reject(RejectedBlock { number, check });
        return Err(NodeError::InvalidBlock { host: upstream.verifier().host().to_owned(), number, check, what });
    }
    if Numbering::of(&receipts) == Numbering::Wrong {
        evidence.misnumbered(number, upstream.verifier().host());
    }
    let (work, state_root) = (Work::of(&block), hash(&block.state_root));
    let block = join_receipts(block, receipts).map_err(as_node_error)?;
    evidence.accept(number);
    Ok(Joined { block, work, state_root })
}

async fn verify_block(
    upstream: &Upstream,
    block: RawBlock,
    receipts: Vec<RawReceipt>,
) -> Result<(Result<(), Contradiction>, RawBlock, Vec<RawReceipt>), NodeError> {
    let is_large = block.transactions.len() > MANY_TRANSACTIONS;
    let verifier = Arc::clone(upstream.verifier());
    let verify = move || (verifier.verify_block(&block, &receipts), block, receipts);
    if !is_large {
        return Ok(verify());
    }
    tokio::task::spawn_blocking(verify)
        .await
        .map_err(|error| NodeError::invalid_response(RpcMethod::GetBlockByNumber, error))
}
