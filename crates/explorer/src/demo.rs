//! `explorer demo`: a demo chain with traffic, and its explorer.

mod config;
mod names;
mod tour;
mod verified;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::Context;
use api::IssuedKey;
use devchain::{
    DevChain, DevChainConfig, RpcServer,
    traffic::{Collection, DeployedContracts, HistoryPlan, SHOWCASE_BLOCKS, Showcase, Traffic},
};
use domain::Address;
use node::{Genesis, NodeClient, NodeConfig};
use tokio_util::sync::CancellationToken;
use verification::CompilationRecorder;

use crate::{
    cli::DemoOptions,
    config::{
        log::{LogConfig, LogFormat},
        names::{NameFiles, NamesConfig},
    },
    logging,
    process::shutdown,
    service::Service,
    terminal::print,
};

/// Accounts on the demo chain.
const ACCOUNTS: usize = 40;
/// Charts are by day.
const HISTORY_DAYS: u64 = 14;
/// Blocks that can be traced: an hour with the default interval.
const HISTORY: usize = 1_800;
/// Memory for these blocks and their states. If they need more, fewer can be traced.
const HISTORY_BYTES: usize = 128 << 20;

/// A chain with a history, and what is on it.
struct DemoChain {
    chain: DevChain,
    traffic: Traffic,
    contracts: DeployedContracts,
    showcase: Showcase,
}

pub(crate) async fn run(options: DemoOptions) -> anyhow::Result<()> {
    let log = logging::start(&LogConfig { filter: options.log.clone(), format: LogFormat::Text })?;
    let cancel = shutdown::on_signal()?;
    print(&format!("Creating a chain with {} transactions ...\n", options.transactions));
    let DemoChain { chain, traffic, contracts, showcase } = make_chain(&options).await?;
    let owner = chain.accounts().first().map(|signer| signer.address()).unwrap_or_default();
    let rpc = serve_chain(&chain, options.rpc_listen).await?;

    // The chain is in memory, so its index is temporary, too.
    let data = tempfile::tempdir().context("cannot create a temporary folder for the demo's index")?;
    let mut node = NodeConfig::new(vec![rpc.url().parse()?]);
    node.genesis = Some(Arc::new(Genesis::of_balances(chain.genesis_balances())));
    let names = NamesConfig {
        labels: names::labels(&contracts, &showcase.contracts, owner)?,
        dexes: names::dexes(&contracts)?,
        files: NameFiles::default(),
    };
    let config = config::config(&options, node.clone(), data.path(), names, tour::tour(&contracts, &showcase))?;
    let service = Service::start(config, log, cancel.clone()).await?;
    let demo_key = issue_demo_key(&service, owner, options.key_requests_per_minute).await?;
    let block_time = options.block_millis.map_or(Duration::from_secs(options.block_time), Duration::from_millis);
    let running_traffic = tokio::spawn(devchain::traffic::run(traffic, block_time, cancel.clone()));
    wait_until_synced(&service, &chain, &cancel).await;
    let published = contracts.published().into_iter().chain(showcase.contracts.published()).collect();
    let recorder = CompilationRecorder {
        node: NodeClient::new(node)?,
        chain: service.store().reader(),
        records: service.store().verified_contracts(),
    };
    let _ = cancel.run_until_cancelled(verified::record(&recorder, published, unix_time::millis())).await;
    if !cancel.is_cancelled() {
        print(&banner(service.local_addr().unwrap_or(options.listen), &rpc, &chain, &demo_key, &options));
    }
    let result = service.finish().await;
    running_traffic.abort();
    rpc.shutdown().await;
    result
}

async fn make_chain(options: &DemoOptions) -> anyhow::Result<DemoChain> {
    let plan = HistoryPlan {
        transactions: options.transactions,
        end: unix_time::seconds().saturating_sub(SHOWCASE_BLOCKS * options.block_time),
        block_seconds: options.block_time,
        days: HISTORY_DAYS,
    };
    let config = DevChainConfig {
        chain_id: options.chain_id,
        seed: options.seed,
        genesis_timestamp: plan.genesis_timestamp(),
        block_seconds: options.block_time,
        accounts: ACCOUNTS,
        history: HISTORY,
        history_bytes: HISTORY_BYTES,
        ..DevChainConfig::default()
    };
    let seed = options.seed;
    tokio::task::spawn_blocking(move || {
        let chain = DevChain::new(config);
        let mut traffic = Traffic::new(chain.clone(), seed).with_collection(Collection::Pictures);
        let contracts = traffic.deploy()?.clone();
        traffic.history(&plan)?;
        let showcase = *traffic.showcase()?;
        Ok(DemoChain { chain, traffic, contracts, showcase })
    })
    .await?
}

async fn serve_chain(chain: &DevChain, listen: SocketAddr) -> anyhow::Result<RpcServer> {
    match chain.serve(listen).await {
        Ok(server) => Ok(server),
        // A local node may already use the default port.
        Err(_) => chain.serve(SocketAddr::new(listen.ip(), 0)).await.context("cannot serve the demo chain"),
    }
}

async fn wait_until_synced(service: &Service, chain: &DevChain, cancel: &CancellationToken) {
    let head = chain.head().number;
    let mut sync = service.sync();
    let synced = sync.wait_for(|status| status.tip.is_some_and(|tip| tip.number >= head));
    let _ = cancel.run_until_cancelled(synced).await;
}

/// Creates an API key, so that the anonymous rate limit does not stop users of the demo.
async fn issue_demo_key(service: &Service, owner: Address, per_minute: u32) -> anyhow::Result<IssuedKey> {
    let label = "demo".to_owned();
    let records = service.user_records();
    let issued = api::issue_key(&*records, owner, label, None, unix_time::millis()).await;
    let mut issued = issued.context("cannot create the demo's API key")?;
    if let Some(key) = records.set_requests_per_minute(issued.key.id, per_minute).await? {
        issued.key = key;
    }
    Ok(issued)
}

fn shown_limit(requests: u32) -> String {
    if requests == 0 { "unlimited".to_owned() } else { requests.to_string() }
}

fn banner(address: SocketAddr, rpc: &RpcServer, chain: &DevChain, demo: &IssuedKey, options: &DemoOptions) -> String {
    let block_time = options.block_time;
    let base = format!("http://{address}");
    let owner = format!("{:#x}", demo.key.owner);
    format!(
        "
  Explorer is running on a demo chain with a block every {block_time} s.

  Open   {base}/
         {base}/docs     API reference

  Try    curl {base}/api/v1/blocks
         curl '{base}/api/v1/transactions?limit=5'
         curl '{base}/api/v1/transactions?address={owner}'
         curl {base}/api/v1/addresses/{owner}

  Key    {key}
         curl -H 'X-API-Key: {key}' {base}/api/v1/stats
         {per_minute} requests per minute with the key, {anonymous} without. The key belongs to {owner}.
         Owners' data is open to everyone here, as with --owner-access open.

  Hook   POST /api/v1/webhooks sends events to your URL. Loopback addresses and plain http are allowed here,
         as with --webhook-allow-insecure.

  Chain  {rpc}   JSON-RPC for wallets and cast, chain id {chain_id}

  Ctrl-C ends it and deletes its data.

",
        key = demo.text.reveal(),
        per_minute = shown_limit(demo.key.requests_per_minute),
        anonymous = shown_limit(options.anonymous_requests_per_minute),
        rpc = rpc.url(),
        chain_id = chain.chain_id(),
    )
}
