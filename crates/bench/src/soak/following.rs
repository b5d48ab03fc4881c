//! `explorer run` at the head of a dev chain with the traffic of the demo. The chain is in this process.

use std::net::Ipv4Addr;

use devchain::{DevChain, DevChainConfig, traffic::Traffic};

use super::{Memory, SoakPlan};
use crate::explorer::Explorer;

const ACCOUNTS: usize = 40;

pub(super) async fn measure(plan: SoakPlan, budget: u64) -> anyhow::Result<Memory> {
    let chain = DevChain::new(DevChainConfig { accounts: ACCOUNTS, ..DevChainConfig::default() });
    let mut traffic = Traffic::new(chain.clone(), 1);
    traffic.deploy()?;
    traffic.showcase()?;
    let node = chain.serve((Ipv4Addr::LOCALHOST, 0).into()).await?;
    let data = tempfile::tempdir()?;
    let explorer = Explorer::start_with(&node.ws_url(), data.path(), &["--memory", &budget.to_string()]).await?;
    let mut memory = Memory::new();
    let mut mined = 0;
    loop {
        let tip = chain.head().number;
        explorer.wait_for_tip(tip).await?;
        memory.sample("run", &explorer, tip)?;
        if mined >= plan.blocks {
            break;
        }
        for _ in 0..plan.step() {
            let chain = chain.clone();
            traffic = tokio::task::spawn_blocking(move || {
                traffic.step()?;
                chain.mine(None);
                anyhow::Ok(traffic)
            })
            .await??;
            tokio::time::sleep(plan.interval).await;
        }
        mined += plan.step();
    }
    explorer.stop().await?;
    node.shutdown().await;
    Ok(memory)
}
