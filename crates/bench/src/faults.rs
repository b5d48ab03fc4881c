//! Indexing from a node that often fails in all ways at once, and from one with a rate limit.

use std::{fmt, time::Duration};

use crate::{chain::RecordedChain, figures::reached, index::full_index, progress::report, replay::Conditions};

const ROUND_TRIP: Duration = Duration::from_millis(20);
const SPOILED: f64 = 0.2;
/// Bound: share of the rate without faults.
const MIN_WITH_FAULTS: f64 = 0.5;
/// Bound: share of the requests that the limit allows.
const MIN_UNDER_LIMIT: f64 = 0.8;
/// With a rate limit, only the start of the chain is indexed.
const LIMITED_BLOCKS: u64 = 400;

pub(crate) struct FaultFigures {
    blocks: u64,
    fault_free: Duration,
    with_faults: Duration,
    per_second: usize,
    limited: Duration,
    served: u64,
    refused: u64,
}

pub(crate) async fn measure(chain: &RecordedChain, per_second: usize) -> anyhow::Result<FaultFigures> {
    let blocks = chain.head + 1;
    report(format!("faults: {blocks} blocks without faults, with {SPOILED} of the requests spoiled, and with a limit"));
    let conditions = Conditions { round_trip: ROUND_TRIP, ..Conditions::default() };
    let fault_free = full_index(&chain.serve(conditions).await?.url(), chain.head).await?;
    let faulty = chain.serve(Conditions { spoiled: SPOILED, ..conditions }).await?;
    let with_faults = full_index(&faulty.url(), chain.head).await?;
    let replay = chain.serve(Conditions { per_second: Some(per_second), ..conditions }).await?;
    let limited = full_index(&replay.url(), LIMITED_BLOCKS.min(chain.head)).await?;
    let (served, refused) = (replay.requests(), replay.refused());
    Ok(FaultFigures { blocks, fault_free, with_faults, per_second, limited, served, refused })
}

impl fmt::Display for FaultFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = |took: Duration| self.blocks as f64 / took.as_secs_f64();
        let ratio = rate(self.with_faults) / rate(self.fault_free);
        let used = self.served as f64 / (self.per_second as f64 * self.limited.as_secs_f64());
        writeln!(f, "| {} ms round trip | |", ROUND_TRIP.as_millis())?;
        writeln!(f, "|---|---|")?;
        writeln!(f, "| without faults, process start included | {:.0} blocks/s |", rate(self.fault_free))?;
        writeln!(
            f,
            "| with {:.0}% of the requests spoiled, in eight ways | {:.0} blocks/s |",
            SPOILED * 100.0,
            rate(self.with_faults)
        )?;
        writeln!(
            f,
            "| of the rate without (bound: {MIN_WITH_FAULTS}) | {ratio:.2}, {} |",
            reached(ratio >= MIN_WITH_FAULTS)
        )?;
        writeln!(
            f,
            "| under a limit of {} requests/s, requests served and refused | {}, {} |",
            self.per_second, self.served, self.refused
        )?;
        writeln!(
            f,
            "| of what the limit allows (bound: {MIN_UNDER_LIMIT}) | {used:.2}, {} |",
            reached(used >= MIN_UNDER_LIMIT)
        )
    }
}
