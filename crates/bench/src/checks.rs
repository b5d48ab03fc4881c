//! The CPU cost of block checks, relative to fetching and decoding alone and to full indexing. Each round measures all three
//! levels, and the fastest round of each counts.

use std::fmt;

use node::BlockChecks;

use crate::{
    chain::RecordedChain,
    download,
    explorer::{Explorer, cpu_seconds},
    progress::report,
};

const ROUNDS: usize = 3;
const LEVELS: [(&str, BlockChecks); 3] =
    [("off", BlockChecks::Off), ("cheap", BlockChecks::Cheap), ("full", BlockChecks::Full)];

pub(crate) struct CheckFigures {
    transactions: u64,
    /// CPU seconds by level: of this process, which also serves the blocks, and of the explorer.
    fetched: [f64; LEVELS.len()],
    indexed: [f64; LEVELS.len()],
}

pub(crate) async fn measure(chain: &RecordedChain) -> anyhow::Result<CheckFigures> {
    let mut fetched = [f64::MAX; LEVELS.len()];
    let mut indexed = [f64::MAX; LEVELS.len()];
    for round in 1..=ROUNDS {
        for ((name, checks), (fetched, indexed)) in LEVELS.into_iter().zip(fetched.iter_mut().zip(&mut indexed)) {
            report(format!("checks: round {round} of {ROUNDS}, {name}"));
            let before = cpu_seconds(std::process::id())?;
            download::checked(&chain.url(), chain.head, checks).await?;
            *fetched = fetched.min(cpu_seconds(std::process::id())? - before);
            let data = tempfile::tempdir()?;
            let options = ["--verify-blocks", name];
            let explorer = Explorer::start_with(&chain.url(), data.path(), &options).await?;
            explorer.wait_for_tip(chain.head).await?;
            *indexed = indexed.min(explorer.cpu_seconds()?);
            explorer.stop().await?;
        }
    }
    Ok(CheckFigures { transactions: chain.transactions, fetched, indexed })
}

impl fmt::Display for CheckFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each = |seconds: f64| seconds * 1e6 / self.transactions as f64;
        writeln!(
            f,
            "| --verify-blocks | serving, fetching, decoding: CPU per tx | more than off | index: CPU per tx | relative to off |"
        )?;
        writeln!(f, "|---|---|---|---|---|")?;
        for ((name, _), (fetched, indexed)) in LEVELS.into_iter().zip(self.fetched.into_iter().zip(self.indexed)) {
            writeln!(
                f,
                "| {name} | {:.2} us | {:.2} us | {:.2} us | {:.2} |",
                each(fetched),
                each(fetched - self.fetched[0]),
                each(indexed),
                indexed / self.indexed[0]
            )?;
        }
        Ok(())
    }
}
