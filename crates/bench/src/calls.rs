//! How many calls the explorer sends to its node: at the head of a chain, and while nothing happens.

use std::{collections::BTreeMap, fmt, time::Duration};

use crate::{
    chain::{ChainPlan, RecordedChain},
    explorer::Explorer,
    progress::report,
    replay::Conditions,
};

pub(crate) const CHAIN: ChainPlan = ChainPlan { transactions: 5_000, per_block: 100 };
const BLOCK_TIME: Duration = Duration::from_secs(2);
const BLOCKS: u32 = 20;
/// Until metadata, audits and traces of the recorded blocks are complete.
const SETTLE: Duration = Duration::from_secs(20);

/// Calls by method.
type Calls = BTreeMap<String, u64>;

/// Without traces: no chain has fewer calls than one for the head, one for the block and one for its receipts.
const FEWEST: f64 = 3.0;

pub(crate) struct CallFigures {
    scenes: Vec<Scene>,
}

struct Scene {
    name: &'static str,
    /// Blocks or seconds.
    units: u32,
    calls: Calls,
}

pub(crate) async fn measure(chain: &RecordedChain) -> anyhow::Result<CallFigures> {
    let data = tempfile::tempdir()?;
    let node =
        chain.serve(Conditions { traces: true, client_version: Some("Geth/v1.16.0"), ..Conditions::default() }).await?;
    let explorer = Explorer::start(&node.url(), data.path()).await?;
    explorer.wait_for_tip(chain.newest()).await?;
    report("calls: waiting until the index is complete");
    tokio::time::sleep(SETTLE).await;
    let mut scenes = Vec::new();
    for (name, transactions) in [("a block without transactions", 0), ("a block with 8 transactions", 8)] {
        report(format!("calls: {name}"));
        // The first blocks teach the explorer the block time.
        mine(chain, transactions, BLOCKS / 2).await?;
        let before = node.calls();
        mine(chain, transactions, BLOCKS).await?;
        scenes.push(Scene { name, units: BLOCKS, calls: since(&before, node.calls()) });
    }
    report("calls: no blocks");
    tokio::time::sleep(SETTLE).await;
    let before = node.calls();
    tokio::time::sleep(SETTLE).await;
    let units = u32::try_from(SETTLE.as_secs())?;
    scenes.push(Scene { name: "a second without blocks", units, calls: since(&before, node.calls()) });
    explorer.stop().await?;
    Ok(CallFigures { scenes })
}

async fn mine(chain: &RecordedChain, transactions: usize, blocks: u32) -> anyhow::Result<()> {
    let mut ticks = tokio::time::interval(BLOCK_TIME);
    ticks.tick().await;
    for _ in 0..blocks {
        chain.mine_block(transactions).await?;
        ticks.tick().await;
    }
    Ok(())
}

fn since(before: &Calls, now: Calls) -> Calls {
    let grown = now.into_iter().map(|(method, calls)| {
        let earlier = before.get(&method).copied().unwrap_or_default();
        (method, calls - earlier)
    });
    grown.filter(|(_, calls)| *calls > 0).collect()
}

impl fmt::Display for CallFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| calls to the node, blocks every {} s | total | by method |", BLOCK_TIME.as_secs())?;
        writeln!(f, "|---|---|---|")?;
        for Scene { name, units, calls } in &self.scenes {
            let per_unit = |calls: u64| calls as f64 / f64::from(*units);
            let methods = calls.iter().map(|(method, calls)| format!("{method} {:.1}", per_unit(*calls)));
            let methods = methods.collect::<Vec<_>>().join(", ");
            writeln!(f, "| {name} | {:.1} | {methods} |", per_unit(calls.values().sum()))?;
        }
        writeln!(f, "\nThe fewest possible calls for a block with transactions: {FEWEST:.0}, and one for its traces.")
    }
}
