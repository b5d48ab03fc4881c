//! Memory over a day of blocks, of the demo and of an explorer at the head of a chain. The blocks are mined in minutes.

mod demo;
mod following;

use std::{fmt, time::Duration};

use crate::{explorer::Explorer, figures::reached, progress::report};

const BLOCKS_PER_DAY: f64 = 43_200.0;
const SAMPLES: u64 = 24;
const MAX_DEMO_MEGABYTES: f64 = 600.0;
/// Above the noise of caches and of the allocator, and little: 84 MB in a day.
const MAX_KILOBYTES_PER_BLOCK: f64 = 2.0;

#[derive(Debug, Clone, Copy)]
pub(crate) struct SoakPlan {
    pub(crate) blocks: u64,
    pub(crate) interval: Duration,
}

pub(crate) struct SoakFigures {
    plan: SoakPlan,
    /// Of the followed chain's explorer, in megabytes.
    budget: u64,
    demo: Memory,
    following: Memory,
}

/// Resident memory by block.
struct Memory {
    samples: Vec<Sample>,
}

#[derive(Debug, Clone, Copy)]
struct Sample {
    block: u64,
    megabytes: f64,
}

/// The explorer of the followed chain has a budget of so many megabytes.
pub(crate) async fn measure(plan: SoakPlan, budget: u64) -> anyhow::Result<SoakFigures> {
    let demo = demo::measure(plan).await?;
    let following = following::measure(plan, budget).await?;
    Ok(SoakFigures { plan, budget, demo, following })
}

impl SoakPlan {
    /// Blocks from one sample to the next.
    fn step(self) -> u64 {
        (self.blocks / SAMPLES).max(1)
    }
}

impl Memory {
    fn new() -> Self {
        Self { samples: Vec::new() }
    }

    fn sample(&mut self, name: &str, explorer: &Explorer, block: u64) -> anyhow::Result<()> {
        let megabytes = explorer.resident_megabytes()?;
        report(format!("soak: {name} at block {block}: {megabytes:.0} MB"));
        self.samples.push(Sample { block, megabytes });
        Ok(())
    }

    fn second_half(&self) -> &[Sample] {
        self.samples.get(self.samples.len() / 2..).unwrap_or_default()
    }

    /// The slope of the line through the samples of the second half, in megabytes per block.
    fn growth(&self) -> f64 {
        let half = self.second_half();
        let mean = |of: fn(&Sample) -> f64| half.iter().map(of).sum::<f64>() / half.len().max(1) as f64;
        let (block, megabytes) = (mean(|sample| sample.block as f64), mean(|sample| sample.megabytes));
        let distances = half.iter().map(|sample| (sample.block as f64 - block, sample.megabytes - megabytes));
        let (along, across) = distances.fold((0.0, 0.0), |(along, across), (x, y)| (along + x * x, across + x * y));
        if along > 0.0 { across / along } else { 0.0 }
    }

    /// The last sample, extrapolated if the run was shorter than a day.
    fn after_a_day(&self) -> f64 {
        let (Some(first), Some(last)) = (self.samples.first(), self.samples.last()) else { return 0.0 };
        let missing = (BLOCKS_PER_DAY - (last.block - first.block) as f64).max(0.0);
        last.megabytes + missing * self.growth().max(0.0)
    }

    fn write_row(&self, f: &mut fmt::Formatter<'_>, name: &str, bound: &str, is_reached: bool) -> fmt::Result {
        let at = |sample: Option<&Sample>| sample.map(|sample| sample.megabytes).unwrap_or_default();
        let (start, half, end) = (at(self.samples.first()), at(self.second_half().first()), at(self.samples.last()));
        writeln!(
            f,
            "| {name} | {start:.0} MB | {half:.0} MB | {end:.0} MB | {:.2} KB | {:.0} MB | {bound}, {} |",
            self.growth() * 1024.0,
            self.after_a_day(),
            reached(is_reached)
        )
    }
}

impl fmt::Display for SoakFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { plan, budget, demo, following } = self;
        writeln!(
            f,
            "| resident memory over {} blocks, one every {} ms | at the start | after half | at the end | growth per block in \
             the second half | after {BLOCKS_PER_DAY} blocks | bound |",
            plan.blocks,
            plan.interval.as_millis()
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|")?;
        let bound = format!("{MAX_DEMO_MEGABYTES} MB after a day");
        demo.write_row(f, "`demo`", &bound, demo.after_a_day() <= MAX_DEMO_MEGABYTES)?;
        let bound = format!("{MAX_KILOBYTES_PER_BLOCK} KB per block");
        let name = format!("`run --memory {budget}` at the head");
        following.write_row(f, &name, &bound, following.growth() * 1024.0 <= MAX_KILOBYTES_PER_BLOCK)?;
        for (name, memory) in [("demo", demo), ("run", following)] {
            let megabytes: Vec<String> =
                memory.samples.iter().map(|sample| format!("{:.0}", sample.megabytes)).collect();
            writeln!(f, "\nMegabytes of `{name}`, every {} blocks:\n\n```\n{}\n```", plan.step(), megabytes.join(" "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(megabytes: impl Fn(u64) -> f64) -> Memory {
        let samples = (0..=10).map(|step| Sample { block: step * 1_000, megabytes: megabytes(step * 1_000) });
        Memory { samples: samples.collect() }
    }

    #[test]
    fn growth_is_that_of_the_second_half_and_is_extrapolated_to_a_day() {
        let filling = memory(|block| 100.0 + 0.05 * block.min(5_000) as f64);
        assert_eq!((filling.growth(), filling.after_a_day()), (0.0, 350.0));
        let growing = memory(|block| 100.0 + 0.01 * block as f64);
        assert!((growing.growth() - 0.01).abs() < 1e-9, "{}", growing.growth());
        assert!((growing.after_a_day() - 532.0).abs() < 1e-6, "{}", growing.after_a_day());
        let shrinking = memory(|block| 300.0 - 0.01 * block as f64);
        assert_eq!(shrinking.after_a_day(), 200.0, "not extrapolated");
    }
}
