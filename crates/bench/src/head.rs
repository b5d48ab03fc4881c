//! How soon a new block can be seen once the node has told it.

use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::bail;
use reqwest::StatusCode;

use crate::chain::RecordedChain;
use crate::explorer::Explorer;
use crate::figures::{millis, quantile, verdict};
use crate::progress::tell;

const TRANSACTIONS: usize = 200;
const LONGEST: Duration = Duration::from_millis(50);
/// Between two looks at the API.
const LOOK_EVERY: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_secs(10);
const TOLD_EVERY: usize = 50;

pub(crate) struct HeadFigures {
    indexed: u64,
    from_answer: Vec<Duration>,
    from_mined: Vec<Duration>,
}

pub(crate) async fn measure(chain: &RecordedChain, data: &Path, blocks: usize) -> anyhow::Result<HeadFigures> {
    let explorer = Explorer::start(&chain.url(), data).await?;
    explorer.wait_for_tip(chain.head).await?;
    let client = reqwest::Client::new();
    let (mut from_answer, mut from_mined) = (Vec::with_capacity(blocks), Vec::with_capacity(blocks));
    for block in 0..blocks {
        if block % TOLD_EVERY == 0 {
            tell(format!("head: {block} of {blocks} blocks"));
        }
        let number = chain.grow(TRANSACTIONS).await?;
        let mined = Instant::now();
        let answered = tokio::time::timeout(PATIENCE, chain.near().given(number)).await??;
        wait_until_visible(&client, &format!("{}/api/v1/blocks/{number}", explorer.url)).await?;
        from_answer.push(answered.elapsed());
        from_mined.push(mined.elapsed());
    }
    explorer.stop().await?;
    from_answer.sort_unstable();
    from_mined.sort_unstable();
    Ok(HeadFigures { indexed: chain.transactions, from_answer, from_mined })
}

async fn wait_until_visible(client: &reqwest::Client, url: &str) -> anyhow::Result<()> {
    let begun = Instant::now();
    loop {
        let answer = client.get(url).send().await?;
        match answer.status() {
            StatusCode::OK => return Ok(()),
            StatusCode::NOT_FOUND if begun.elapsed() < PATIENCE => tokio::time::sleep(LOOK_EVERY).await,
            status => bail!("{url} answers {status}"),
        }
    }
}

impl fmt::Display for HeadFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let blocks = self.from_answer.len();
        writeln!(
            f,
            "| {blocks} blocks of {TRANSACTIONS} transactions on top of {} | median | p99 | worst |",
            self.indexed
        )?;
        writeln!(f, "|---|---|---|---|")?;
        let mut row = |name: &str, sample: &[Duration]| {
            let [median, p99, worst] = [0.5, 0.99, 1.0].map(|share| millis(quantile(sample, share)));
            writeln!(f, "| {name} | {median} | {p99} | {worst} |")
        };
        row("from the node's answer until it is visible in the API", &self.from_answer)?;
        row("from when it was mined, with the wait for the next question to the node", &self.from_mined)?;
        let kept = quantile(&self.from_answer, 0.99) < LONGEST;
        writeln!(f, "\nBound for the p99 from the node's answer: {}, {}.", millis(LONGEST), verdict(kept))
    }
}
