use alloy_primitives::Address;
use devchain::{
    DevChain, DevChainConfig, RpcServer,
    traffic::{HistoryPlan, Traffic},
};

use super::{Port, Rpc, TestExplorer, eventually, permits};

/// A dev chain, served by the test process.
#[derive(Debug)]
pub(crate) struct DevNode {
    pub(crate) chain: DevChain,
    pub(crate) rpc: Rpc,
    server: Option<RpcServer>,
    /// It keeps the port while it does not serve.
    port: Port,
}

impl DevNode {
    pub(crate) async fn start() -> Self {
        Self::with(DevChainConfig::default()).await
    }

    pub(crate) async fn with(config: DevChainConfig) -> Self {
        Self::serve(DevChain::new(config)).await
    }

    /// A chain with all contracts and this many transactions, and the traffic generator to continue it.
    pub(crate) async fn with_traffic(transactions: u64) -> (Self, Traffic) {
        Self::with_traffic_on(DevChainConfig::default(), transactions).await
    }

    /// The same on a chain with this id.
    pub(crate) async fn with_traffic_on_chain(chain_id: u64, transactions: u64) -> (Self, Traffic) {
        Self::with_traffic_on(DevChainConfig { chain_id, ..DevChainConfig::default() }, transactions).await
    }

    /// The same without traces: whether a block is traced depends on faults and reorgs at the moment it is fetched.
    pub(crate) async fn with_traffic_without_traces(transactions: u64) -> (Self, Traffic) {
        Self::with_traffic_on(DevChainConfig { traces: false, ..DevChainConfig::default() }, transactions).await
    }

    pub(crate) async fn with_traffic_on(config: DevChainConfig, transactions: u64) -> (Self, Traffic) {
        permits::enter();
        if transactions >= permits::LONG_CHAIN {
            permits::busy().await;
        }
        let plan = HistoryPlan { transactions, end: 1_800_000_000, block_seconds: 3, days: 0 };
        let genesis_timestamp = plan.genesis_timestamp();
        let config = DevChainConfig { genesis_timestamp, accounts: 12, ..config };
        let made = tokio::task::spawn_blocking(move || {
            let chain = DevChain::new(config);
            let mut traffic = Traffic::new(chain.clone(), 7);
            traffic.deploy().unwrap();
            traffic.history(&plan).unwrap();
            (chain, traffic)
        });
        let (chain, traffic) = made.await.unwrap();
        (Self::serve(chain).await, traffic)
    }

    pub(crate) async fn serve(chain: DevChain) -> Self {
        permits::enter();
        let port = Port::reserve();
        let server = chain.serve(port.address()).await.unwrap();
        Self { chain, rpc: Rpc::new(server.url()), server: Some(server), port }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.port.address())
    }

    pub(crate) fn ws_url(&self) -> String {
        format!("ws://{}", self.port.address())
    }

    pub(crate) fn account(&self, index: usize) -> Address {
        self.chain.accounts()[index].address()
    }

    /// Stops the server; the chain stays.
    pub(crate) async fn stop_serving(&mut self) {
        if let Some(server) = self.server.take() {
            server.shutdown().await;
        }
    }

    /// Serves the chain at the same address again.
    pub(crate) async fn resume_serving(&mut self) {
        // A process that another test is about to start has a copy of the closed listener for a moment.
        self.server = Some(eventually("a free port", async || self.chain.serve(self.port.address()).await.ok()).await);
    }

    /// Waits until the explorer has the head of the chain.
    pub(crate) async fn wait_for(&self, explorer: &TestExplorer) {
        let head = self.chain.head();
        explorer.wait_for_tip(head.number, &head.hash.to_string()).await;
    }
}
