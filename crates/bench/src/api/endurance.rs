//! Memory and latency under many connections over a long time, while the chain grows.

use std::{fmt, time::Duration};

use super::{
    load::{self, Load, Measured, Requests},
    scenarios,
};
use crate::{
    chain::RecordedChain,
    explorer::Explorer,
    figures::{millis, quantile},
    progress::report,
};

const CONNECTIONS: u32 = 2_000;
/// So that every connection sends a request every two seconds, and is never idle long enough to be closed.
const REQUESTS_PER_SECOND: f64 = 1_000.0;
const TRANSACTIONS_PER_BLOCK: usize = 20;
const BLOCKS_PER_MINUTE: u32 = 20;
const MINUTE: Duration = Duration::from_secs(60);

pub(crate) struct EnduranceFigures {
    minutes: Vec<Minute>,
    measured: Measured,
}

struct Minute {
    megabytes: f64,
    descriptors: usize,
}

/// With a budget of so many megabytes of memory.
pub(crate) async fn measure(chain: &RecordedChain, minutes: u64, memory: u64) -> anyhow::Result<EnduranceFigures> {
    let data = tempfile::tempdir()?;
    let connections = (CONNECTIONS + 100).to_string();
    let options =
        ["--memory", &memory.to_string(), "--max-connections", &connections, "--max-connections-per-ip", &connections];
    let explorer = Explorer::start_with(&chain.url(), data.path(), &options).await?;
    explorer.wait_for_tip(chain.head).await?;
    let requests: Vec<Vec<u8>> =
        scenarios::all(&explorer, chain).await?.iter().flat_map(|scenario| scenario.different().to_vec()).collect();
    let requests = Requests::from(requests);
    let duration = MINUTE * u32::try_from(minutes)?;
    let rate = Load::PerSecond(REQUESTS_PER_SECOND);
    let load = load::run_over(CONNECTIONS, &explorer.url, &requests, rate, duration);
    let watch = async {
        let mut sampled = Vec::new();
        for minute in 0..minutes {
            for _ in 0..BLOCKS_PER_MINUTE {
                chain.mine_block(TRANSACTIONS_PER_BLOCK).await?;
                tokio::time::sleep(MINUTE / BLOCKS_PER_MINUTE).await;
            }
            let now = Minute { megabytes: explorer.resident_megabytes()?, descriptors: explorer.descriptors()? };
            report(format!("minute {}: {:.0} MB, {} descriptors", minute + 1, now.megabytes, now.descriptors));
            sampled.push(now);
        }
        anyhow::Ok(sampled)
    };
    let (measured, minutes) = tokio::try_join!(load, watch)?;
    explorer.stop().await?;
    Ok(EnduranceFigures { minutes, measured })
}

impl fmt::Display for EnduranceFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { minutes, measured } = self;
        let [median, p99, worst] = [0.5, 0.99, 1.0].map(|share| millis(quantile(&measured.latencies, share)));
        writeln!(
            f,
            "{CONNECTIONS} connections for {} minutes, {:.0} requests per second,",
            minutes.len(),
            measured.per_second()
        )?;
        writeln!(
            f,
            "a block of {TRANSACTIONS_PER_BLOCK} transactions every {} seconds.\n",
            (MINUTE / BLOCKS_PER_MINUTE).as_secs()
        )?;
        writeln!(f, "| requests | median | p99 | worst |\n|---|---|---|---|")?;
        writeln!(f, "| {} | {median} | {p99} | {worst} |\n", measured.latencies.len())?;
        let list = |values: Vec<String>| values.join(" ");
        let megabytes = minutes.iter().map(|minute| format!("{:.0}", minute.megabytes)).collect();
        let descriptors = minutes.iter().map(|minute| minute.descriptors.to_string()).collect();
        writeln!(f, "Resident memory in megabytes, once a minute:\n\n```\n{}\n```\n", list(megabytes))?;
        writeln!(f, "Open files and sockets:\n\n```\n{}\n```", list(descriptors))
    }
}
