//! Where the index and the node's chain part.

use domain::BlockNumber;
use node::NodeClient;
use store::ChainWriter;

use crate::setback::Setback;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForkPoint {
    /// The highest block that both have.
    At(BlockNumber),
    /// They part below the lowest block that the store can go back to.
    TooDeep { oldest: BlockNumber },
}

/// Searches downwards from `highest`. Two chains that share a block share all below it, so after a few leaps back the
/// rest is halving: a fork 200 blocks deep takes some sixteen questions.
pub(crate) async fn find_fork_point(
    node: &NodeClient,
    writer: &dyn ChainWriter,
    highest: BlockNumber,
) -> Result<ForkPoint, Setback> {
    let Some(oldest) = writer.oldest_revertible().await? else { return Ok(ForkPoint::TooDeep { oldest: 0 }) };
    let (mut shared, mut parted) = (None, highest + 1);
    let mut leap = 1;
    while shared.is_none() && parted > oldest {
        let probe = parted.saturating_sub(leap).max(oldest);
        if is_shared(node, writer, probe).await? {
            shared = Some(probe);
        } else {
            parted = probe;
            leap *= 2;
        }
    }
    let Some(mut shared) = shared else { return Ok(ForkPoint::TooDeep { oldest }) };
    while shared + 1 < parted {
        let middle = shared + (parted - shared) / 2;
        if is_shared(node, writer, middle).await? {
            shared = middle;
        } else {
            parted = middle;
        }
    }
    Ok(ForkPoint::At(shared))
}

async fn is_shared(node: &NodeClient, writer: &dyn ChainWriter, number: BlockNumber) -> Result<bool, Setback> {
    let theirs = node.find_block_ref(number).await?.map(|block| block.hash);
    Ok(theirs.is_some() && theirs == writer.find_block_hash(number).await?)
}
