//! `explorer check`: reads everything in a store or, with `--node`, compares the index with the node; with `--repair`, reindexes
//! blocks that differ.

mod repair;
mod stored;

use std::{ops::RangeInclusive, process::ExitCode};

use anyhow::{Context, bail};
use domain::BlockNumber;
use node::{BlockChecks, NodeClient, NodeConfig};
use store::Store;

use crate::{
    cli::CheckOptions,
    config::{
        location::{self, Location},
        log::LogConfig,
    },
    logging,
    operations::comparison::{self, Report},
    stores::{OlderIndex, Opening, advice},
    terminal::print,
};

/// Exit code: the command succeeded, but the index differs.
const DIFFERS: u8 = 2;

/// Exits with 0 if the index is correct or was repaired, with 2 if it differs, and with an error if it cannot be compared.
pub(crate) async fn run(options: CheckOptions) -> anyhow::Result<ExitCode> {
    logging::start(&LogConfig::of_command())?;
    let location = location::location(options.data.clone(), options.database.clone())?;
    let store = Opening::of_command(&location, OlderIndex::Refuse).open().await?.store;
    if !options.node && !stored::check(store.as_ref(), &location).await? {
        return Ok(ExitCode::from(DIFFERS));
    }
    compare_blocks(&options, &location, store.as_ref()).await.map_err(stored::explain)
}

async fn compare_blocks(options: &CheckOptions, location: &Location, store: &dyn Store) -> anyhow::Result<ExitCode> {
    let reader = store.reader();
    let Some((start, tip)) = comparison::extent(reader.as_ref()).await? else {
        print("The index is empty.\n");
        return Ok(ExitCode::SUCCESS);
    };
    let (from, to) = (options.from.unwrap_or(start).max(start), options.to.unwrap_or(tip.number).min(tip.number));
    if from > to {
        bail!("no indexed block between --from and --to: the index has blocks {start} to {}", tip.number);
    }

    let mut report = Report::default();
    comparison::check_links(reader.as_ref(), from..=to, &mut report).await?;
    if !options.node {
        return Ok(conclude(&report, &format!("blocks {from} to {to} form one chain, and all rows match")));
    }
    let node = client(options)?;
    let identity = node.identity().await.context("cannot read the chain id and genesis block from the node")?;
    store.bind(identity, None).await.map_err(|error| advice::explain_binding(error, location))?;
    let numbers = sampled(from..=to, options.sample);
    comparison::compare(&node, reader.as_ref(), numbers.clone(), &mut report).await?;
    let equal = format!("{} of blocks {from} to {to} are what the node says", block_count(numbers.len()));
    let Some(first) = report.first_bad().filter(|_| options.repair) else { return Ok(conclude(&report, &equal)) };

    print(&report.to_string());
    if let Some(obstacle) = repair::obstacle(store.writer().as_ref(), first, start).await? {
        print(&format!("{obstacle}\n"));
        return Ok(ExitCode::from(DIFFERS));
    }
    print(&format!("Indexing again from block {first} on.\n"));
    let tip = repair::reindex(&node, store, first, start).await?;
    let mut report = Report::default();
    comparison::check_links(reader.as_ref(), start.max(first.saturating_sub(1))..=tip.number, &mut report).await?;
    comparison::compare(&node, reader.as_ref(), (first..=tip.number).collect(), &mut report).await?;
    store.sync().await?;
    Ok(conclude(&report, &format!("reindexed: blocks {first} to {} are what the node says", tip.number)))
}

fn conclude(report: &Report, success: &str) -> ExitCode {
    if report.first_bad().is_none() {
        let mut sentence = success.to_owned();
        if let Some(first) = sentence.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        print(&format!("{sentence}.\n"));
        return ExitCode::SUCCESS;
    }
    print(&report.to_string());
    ExitCode::from(DIFFERS)
}

fn block_count(blocks: usize) -> String {
    if blocks == 1 { "1 block".to_owned() } else { format!("{blocks} blocks") }
}

fn client(options: &CheckOptions) -> anyhow::Result<NodeClient> {
    if options.rpc.is_empty() {
        bail!("no node to compare with: give one with --rpc, such as --rpc http://127.0.0.1:8545");
    }
    // The index is compared with the node's data, so that data must be verified.
    let config = NodeConfig { verify_blocks: BlockChecks::Full, ..NodeConfig::new(options.rpc.clone()) };
    Ok(NodeClient::new(config)?)
}

/// All blocks, or a sample of this size; a sample of two or more includes the first and the last block.
fn sampled(range: RangeInclusive<BlockNumber>, sample: Option<u64>) -> Vec<BlockNumber> {
    let (from, to) = (*range.start(), *range.end());
    match sample {
        Some(size) if size <= to - from => {
            let spread = |index: u64| u128::from(to - from) * u128::from(index) / u128::from((size - 1).max(1));
            (0..size).map(|index| from + u64::try_from(spread(index)).unwrap_or_default()).collect()
        }
        _ => range.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_spread_evenly_and_has_both_ends() {
        assert_eq!(sampled(10..=20, None).len(), 11);
        assert_eq!(sampled(10..=20, Some(3)), [10, 15, 20]);
        assert_eq!(sampled(10..=20, Some(1)), [10]);
        assert_eq!(sampled(10..=20, Some(50)).len(), 11);
        assert_eq!(sampled(0..=u64::MAX, Some(2)), [0, u64::MAX]);
        assert_eq!(sampled(7..=7, Some(1)), [7]);
    }
}
