//! Comparisons of a running service with its node: a token with its contract, and blocks with those of the node.

use std::{fmt::Write, sync::Arc};

use anyhow::{Context, bail, ensure};
use domain::{Address, BlockNumber};
use ingest::{HolderDifference, OperatorRequests, TokenAudit, audit_token};
use node::NodeClient;
use serde::{Deserialize, Serialize};
use store::ChainReader;
use tokio::runtime::Handle;

use super::comparison::{self, Report};

/// Blocks that one command compares.
const MAX_BLOCKS: u64 = 10_000;
/// Holders that one command compares.
const MAX_HOLDERS: u32 = 10_000;
/// Differences that are listed.
const LISTED: usize = 20;

/// `explorer admin token`
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TokenCommand {
    pub(crate) token: Address,
    /// How many holders to compare.
    pub(crate) holders: u32,
    pub(crate) repair: bool,
}

/// `explorer admin blocks`
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BlocksCommand {
    pub(crate) from: BlockNumber,
    pub(crate) to: BlockNumber,
}

/// Compares a token with its contract, at the newest indexed block. Returns the text to print.
pub(crate) async fn compare_token(
    node: &NodeClient,
    reader: &dyn ChainReader,
    requests: Option<&OperatorRequests>,
    command: TokenCommand,
) -> anyhow::Result<String> {
    let TokenCommand { token, holders, repair } = command;
    ensure!((1..=MAX_HOLDERS).contains(&holders), "--holders must be between 1 and {MAX_HOLDERS}");
    let audit = audit_token(node, reader, token, holders).await?;
    let audit = audit.with_context(|| format!("the index has no token {token}"))?;
    let mut text = describe(&audit);
    if audit.differing.is_empty() {
        return Ok(text);
    }
    match (repair, requests) {
        (true, Some(requests)) => {
            requests.read_balances_from_contract(token);
            text.push_str(
                "Balances of this token are read from its contract from now on: all holders are read again.\n",
            );
        }
        (true, None) => {
            bail!("{text}this process does not index, or stands by: send the command to the one that writes the index")
        }
        (false, _) => text.push_str("With --repair, balances of this token are read from its contract from now on.\n"),
    }
    Ok(text)
}

fn describe(audit: &TokenAudit) -> String {
    let TokenAudit { block, compared, holders, differing, supply: (indexed, contract) } = audit;
    let mut text = format!("Block {block}: compared {compared} of {holders} holders with the contract.\n");
    // Writing to a string cannot fail.
    for HolderDifference { holder, indexed, contract } in differing.iter().take(LISTED) {
        let _ = writeln!(text, "{holder}: the index has {indexed}, the contract {contract}.");
    }
    if differing.len() > LISTED {
        let _ = writeln!(text, "{} more balances differ.", differing.len() - LISTED);
    }
    if differing.is_empty() {
        text.push_str("All balances are those of the contract.\n");
    }
    let _ = match (indexed, contract) {
        (indexed, Some(_)) if indexed == contract => writeln!(text, "The total supply is that of the contract."),
        (Some(indexed), Some(contract)) => writeln!(
            text,
            "The total supply is {indexed} in the index, and {contract} at the contract: it is read again after a mint or a burn, \
             and from time to time."
        ),
        (None, Some(contract)) => {
            writeln!(text, "The total supply is {contract} at the contract, and not yet in the index.")
        }
        (_, None) => writeln!(text, "The contract has no total supply."),
    };
    text
}

/// Compares blocks with the node. Returns the text to print.
pub(crate) async fn compare_blocks(
    node: &NodeClient,
    reader: Arc<dyn ChainReader>,
    BlocksCommand { from, to }: BlocksCommand,
) -> anyhow::Result<String> {
    let Some((start, tip)) = comparison::extent(reader.as_ref()).await? else { bail!("the index is empty") };
    let (from, to) = (from.max(start), to.min(tip.number));
    ensure!(from <= to, "the index has blocks {start} to {}", tip.number);
    ensure!(to - from < MAX_BLOCKS, "compare at most {MAX_BLOCKS} blocks at once");
    let mut report = compare_each(node, &reader, (from..=to).collect()).await?;
    if report.first_bad().is_some() {
        // A reorg may have changed the index or the node meanwhile.
        report = compare_each(node, &reader, report.numbers()).await?;
    }
    if report.first_bad().is_none() {
        return Ok(format!("Blocks {from} to {to} are what the node says.\n"));
    }
    Ok(format!(
        "{report}Recent blocks are indexed again by `explorer check --node --repair` while the explorer is stopped. For blocks that \
         can no longer be reverted, fill a new index with `explorer reindex`, while this one serves.\n"
    ))
}

async fn compare_each(
    node: &NodeClient,
    reader: &Arc<dyn ChainReader>,
    numbers: Vec<BlockNumber>,
) -> anyhow::Result<Report> {
    let (node, reader, runtime) = (node.clone(), Arc::clone(reader), Handle::current());
    // On a thread of its own: the compiler cannot prove that the comparison may move between threads.
    let compared = tokio::task::spawn_blocking(move || {
        let mut report = Report::default();
        runtime.block_on(comparison::compare(&node, reader.as_ref(), numbers, &mut report))?;
        anyhow::Ok(report)
    });
    compared.await?
}
