//! What checking blocks costs: CPU time with and without, beside fetching and decoding alone and beside the whole index.
//! Ratios count: each round measures all three levels one after the other, and the quietest round of each is taken.

use std::fmt;

use node::BlockChecks;

use crate::chain::RecordedChain;
use crate::download;
use crate::explorer::{Explorer, cpu_seconds};
use crate::progress::tell;

const ROUNDS: usize = 3;
const LEVELS: [(&str, BlockChecks); 3] =
    [("off", BlockChecks::Off), ("cheap", BlockChecks::Cheap), ("full", BlockChecks::Full)];

pub(crate) struct CheckFigures {
    transactions: u64,
    /// CPU seconds by level: of this process, which serves the blocks as well, and of the explorer's.
    fetched: [f64; LEVELS.len()],
    indexed: [f64; LEVELS.len()],
}

pub(crate) async fn measure(chain: &RecordedChain) -> anyhow::Result<CheckFigures> {
    let mut fetched = [f64::MAX; LEVELS.len()];
    let mut indexed = [f64::MAX; LEVELS.len()];
    for round in 1..=ROUNDS {
        for (place, (name, checks)) in LEVELS.into_iter().enumerate() {
            tell(format!("checks: round {round} of {ROUNDS}, {name}"));
            let before = cpu_seconds(std::process::id())?;
            download::checked(&chain.url(), chain.head, checks).await?;
            fetched[place] = fetched[place].min(cpu_seconds(std::process::id())? - before);
            let data = tempfile::tempdir()?;
            let options = ["--verify-blocks", name];
            let explorer = Explorer::start_with(&chain.url(), data.path(), &options).await?;
            explorer.wait_for_tip(chain.head).await?;
            indexed[place] = indexed[place].min(explorer.cpu_seconds()?);
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
            "| --verify-blocks | serving, fetching, decoding: CPU a tx | more than off | index: CPU a tx | of off |"
        )?;
        writeln!(f, "|---|---|---|---|---|")?;
        for (place, (name, _)) in LEVELS.into_iter().enumerate() {
            let (fetched, indexed) = (self.fetched[place], self.indexed[place]);
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
