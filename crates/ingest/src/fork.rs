//! Finds the common ancestor of the index and the node's chain.

use domain::BlockNumber;
use node::NodeClient;
use store::ChainWriter;

use crate::follow_error::FollowError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForkPoint {
    /// The highest common block.
    At(BlockNumber),
    /// The fork is below the lowest block that the store can revert to.
    TooDeep { oldest: BlockNumber },
    /// The node does not have a block below its head: another node that lags answered, or a reorg is in progress.
    Unclear { missing: BlockNumber },
}

/// Searches down from `highest` with doubling steps, then by bisection, since chains that share a block share all below
/// it: a fork 200 blocks deep takes about sixteen requests.
pub(crate) async fn find_fork_point(
    node: &NodeClient,
    writer: &dyn ChainWriter,
    highest: BlockNumber,
) -> Result<ForkPoint, FollowError> {
    let Some(oldest) = writer.oldest_revertible().await? else { return Ok(ForkPoint::TooDeep { oldest: 0 }) };
    let (mut shared, mut different) = (None, highest + 1);
    let mut step = 1;
    while shared.is_none() && different > oldest {
        let probe = different.saturating_sub(step).max(oldest);
        match compare(node, writer, probe).await? {
            Comparison::Same => shared = Some(probe),
            Comparison::Different => {
                different = probe;
                step *= 2;
            }
            Comparison::Missing => return Ok(ForkPoint::Unclear { missing: probe }),
        }
    }
    let Some(mut shared) = shared else { return Ok(ForkPoint::TooDeep { oldest }) };
    while shared + 1 < different {
        let middle = shared + (different - shared) / 2;
        match compare(node, writer, middle).await? {
            Comparison::Same => shared = middle,
            Comparison::Different => different = middle,
            Comparison::Missing => return Ok(ForkPoint::Unclear { missing: middle }),
        }
    }
    Ok(ForkPoint::At(shared))
}

enum Comparison {
    Same,
    Different,
    /// The node does not have the block, which says nothing about the branch.
    Missing,
}

async fn compare(node: &NodeClient, writer: &dyn ChainWriter, number: BlockNumber) -> Result<Comparison, FollowError> {
    let Some(theirs) = node.find_block_ref(number).await? else { return Ok(Comparison::Missing) };
    let ours = writer.find_block_hash(number).await?;
    Ok(if ours == Some(theirs.hash) { Comparison::Same } else { Comparison::Different })
}
