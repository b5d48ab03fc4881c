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
    /// The node does not have a block that is below its head: another node answers than before, one that is behind, or
    /// it is in the middle of a reorganisation.
    Unclear { missing: BlockNumber },
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
        match compare(node, writer, probe).await? {
            Comparison::Same => shared = Some(probe),
            Comparison::Different => {
                parted = probe;
                leap *= 2;
            }
            Comparison::Missing => return Ok(ForkPoint::Unclear { missing: probe }),
        }
    }
    let Some(mut shared) = shared else { return Ok(ForkPoint::TooDeep { oldest }) };
    while shared + 1 < parted {
        let middle = shared + (parted - shared) / 2;
        match compare(node, writer, middle).await? {
            Comparison::Same => shared = middle,
            Comparison::Different => parted = middle,
            Comparison::Missing => return Ok(ForkPoint::Unclear { missing: middle }),
        }
    }
    Ok(ForkPoint::At(shared))
}

enum Comparison {
    Same,
    Different,
    /// The node does not have a block there, which says nothing about the branch.
    Missing,
}

async fn compare(node: &NodeClient, writer: &dyn ChainWriter, number: BlockNumber) -> Result<Comparison, Setback> {
    let Some(theirs) = node.find_block_ref(number).await? else { return Ok(Comparison::Missing) };
    let ours = writer.find_block_hash(number).await?;
    Ok(if ours == Some(theirs.hash) { Comparison::Same } else { Comparison::Different })
}
