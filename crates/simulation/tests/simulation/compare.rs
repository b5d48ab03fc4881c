//! Checks at the end of a run: query results against a fresh index, and deliveries against the chain.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
    time::Duration,
};

use domain::{
    Address, B256, BalanceSource, BlockId, BlockRange, Delivery, EventKind, Order, PageRequest, Stats, SyncStatus,
    Token, TokenPrefix, TradeFilter, TransactionFilter, TransferFilter,
};
use ingest::{Follower, Progress};
use node::Exchange;
use serde_json::Value;
use store::{
    AddressReader, ApprovalReader, BlockReader, ChainReader, NftReader, TokenReader, TradeReader, TransactionReader,
    TransferReader, WebhookRecords,
};
use store_embedded::{EmbeddedReader, EmbeddedStore};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use webhooks::{Matcher, Wake};

use crate::{
    process::{bind, ingest_config, node_client, runtime, store_options},
    scripted_node::ScriptedNode,
    world::{World, lock},
};

const ALL: PageRequest = PageRequest { offset: 0, limit: 100_000, order: Order::OldestFirst };

/// The results of all queries, one line per result.
pub(crate) struct QueryResults {
    lines: Vec<String>,
    /// Results that depend on the source of a token's balances.
    tokens: BTreeMap<Address, (BalanceSource, Vec<String>)>,
    fingerprint: B256,
}

impl QueryResults {
    /// Audits of balances run at different times in the two indexes, so balances of a token are compared only if both use the
    /// same source.
    pub(crate) fn assert_equals(&self, fresh: &Self) {
        let source = |results: &Self, token: &Address| results.tokens.get(token).map(|(source, _)| *source);
        let differs = |token: &Address| {
            let sources = [source(self, token), source(fresh, token)];
            sources[0] != sources[1] && sources.contains(&Some(BalanceSource::Calls))
        };
        let lines = |results: &Self| -> BTreeSet<String> {
            let tokens = results.tokens.iter().filter(|(token, _)| !differs(token));
            let of_tokens = tokens.flat_map(|(_, (_, lines))| lines);
            results.lines.iter().chain(of_tokens).cloned().collect()
        };
        let (ours, theirs) = (lines(self), lines(fresh));
        let show =
            |lines: Vec<&String>| -> String { lines.iter().take(3).map(|line| format!("\n  {line:.600}")).collect() };
        let wrong = show(ours.difference(&theirs).collect());
        let missing = show(theirs.difference(&ours).collect());
        assert!(ours == theirs, "results differ from those of a fresh index:{wrong}\nexpected:{missing}");
        if !self.tokens.keys().any(differs) {
            assert_eq!(self.fingerprint, fresh.fingerprint, "rows differ from those of a fresh index");
        }
    }
}

/// Removes the blocks at which contracts were read, which do not depend on the chain alone.
fn without_times(mut token: Token) -> Token {
    token.metadata.requested_at = None;
    token.audited_block = None;
    token
}

async fn query_everything(reader: &EmbeddedReader) -> QueryResults {
    let (mut lines, mut tokens) = (Vec::new(), BTreeMap::new());
    let mut addresses = BTreeSet::from([Address::ZERO]);
    // How far internal transactions reach depends on the time.
    let stats = Stats { traced_range: None, ..reader.stats().await.unwrap() };
    lines.push(format!("{stats:?}"));
    lines.push(format!("{:?}", reader.list_gas_prices(50).await.unwrap()));
    let blocks = reader.list_blocks(BlockRange::ALL, ALL).await.unwrap();
    lines.push(format!("{} blocks", blocks.total));
    for block in &blocks.items {
        addresses.insert(block.miner);
        lines.push(format!("{block:?}"));
        for id in [BlockId::Number(block.number), BlockId::Hash(block.hash)] {
            assert_eq!(reader.find_block(id).await.unwrap().as_ref(), Some(block), "{id:?}");
        }
        let filter = TransactionFilter { blocks: BlockRange::only(block.number), ..TransactionFilter::default() };
        let of_block = reader.list_transactions(&filter, ALL).await.unwrap();
        lines.push(format!("block {} has {}", block.number, of_block.total));
    }
    let transactions = reader.list_transactions(&TransactionFilter::default(), ALL).await.unwrap();
    for transaction in &transactions.items {
        addresses.extend([Some(transaction.from), transaction.to, transaction.created].into_iter().flatten());
        lines.push(format!("{transaction:?}"));
        let found = reader.find_transaction(transaction.hash).await.unwrap();
        assert_eq!(found.as_ref(), Some(transaction));
        let events = reader.find_transaction_events(transaction.hash, 0, 1_000).await.unwrap();
        lines.push(format!("{} {events:?}", transaction.hash));
    }
    let transfers = reader.list_transfers(&TransferFilter::default(), ALL).await.unwrap();
    for transfer in &transfers.items {
        addresses.extend([transfer.event.from, transfer.event.to, transfer.event.token]);
        lines.push(format!("{transfer:?}"));
    }
    let trades = reader.list_trades(&TradeFilter::default(), ALL).await.unwrap();
    for trade in &trades.items {
        addresses.insert(trade.pool.address);
        lines.push(format!("{trade:?}"));
    }
    for token in reader.list_tokens(ALL).await.unwrap().items {
        let holders = reader.list_holders(token.address, ALL).await.unwrap();
        let (address, source) = (token.address, token.balance_source);
        let of_token = vec![format!("{address} {holders:?}"), format!("{:?}", without_times(token))];
        tokens.insert(address, (source, of_token));
    }
    for address in addresses {
        query_address(reader, address, &mut lines, &mut tokens).await;
    }
    QueryResults { lines, tokens, fingerprint: reader.fingerprint().unwrap() }
}

async fn query_address(
    reader: &EmbeddedReader,
    address: Address,
    lines: &mut Vec<String>,
    tokens: &mut BTreeMap<Address, (BalanceSource, Vec<String>)>,
) {
    lines.push(format!("{:?}", reader.find_address(address).await.unwrap()));
    lines.push(format!("{address} code {:?}", reader.find_code_hash(address).await.unwrap()));
    lines.push(format!("{address} pool {:?}", reader.find_pool(address).await.unwrap()));
    for filter in [
        TransactionFilter::touching(address),
        TransactionFilter { from: Some(address), ..TransactionFilter::default() },
        TransactionFilter { to: Some(address), ..TransactionFilter::default() },
    ] {
        let page = reader.list_transactions(&filter, ALL).await.unwrap();
        let hashes: Vec<_> = page.items.iter().map(|transaction| transaction.hash).collect();
        lines.push(format!("{filter:?} {} {hashes:?}", page.total));
    }
    for filter in
        [TransferFilter::touching(address), TransferFilter { token: Some(address), ..TransferFilter::default() }]
    {
        let page = reader.list_transfers(&filter, ALL).await.unwrap();
        let places: Vec<_> = page.items.iter().map(|transfer| (transfer.tx_hash, transfer.event.log_index)).collect();
        lines.push(format!("{filter:?} {} {places:?}", page.total));
    }
    for filter in [
        TradeFilter { maker: Some(address), ..TradeFilter::default() },
        TradeFilter { pool: Some(address), ..TradeFilter::default() },
    ] {
        lines.push(format!("{filter:?} {:?}", reader.list_trades(&filter, ALL).await.unwrap()));
    }
    lines.push(format!("{address} ids {:?}", reader.list_nfts(address, ALL).await.unwrap()));
    lines.push(format!("{address} NFTs {:?}", reader.list_held_nfts(address, ALL).await.unwrap()));
    lines.push(format!("{address} approvals {:?}", reader.list_approvals(address, ALL).await.unwrap()));
    for held in reader.list_address_tokens(address, ALL).await.unwrap().items {
        let (_, of_token) = tokens.get_mut(&held.token.address).unwrap();
        of_token.push(format!("{address} holds {} {:?}", held.balance, without_times(held.token)));
    }
}

/// Runs all queries on an index without a writer.
pub(crate) fn query_folder(world: &World, data: &Path) -> QueryResults {
    runtime().block_on(async {
        let store = EmbeddedStore::open(data, store_options(world.plan.write_buffer_bytes)).unwrap();
        query_everything(&store.reader()).await
    })
}

/// Indexes the final chain without faults. Returns the query results, and the deliveries of webhooks that watch from the
/// first block on.
pub(crate) fn index_from_scratch(world: &Arc<World>, data: &Path) -> (QueryResults, Vec<Delivery>) {
    runtime().block_on(async {
        let store = Arc::new(EmbeddedStore::open(data, store_options(64 << 20)).unwrap());
        let nodes: [Arc<dyn Exchange>; 1] = [Arc::new(ScriptedNode::honest(world))];
        let node = node_client(world, &nodes, u64::MAX);
        let start_block = bind(&node, &store).await;
        let records: Arc<dyn WebhookRecords> = Arc::new(store.webhook_records());
        let mut acknowledged = lock(&world.acknowledged).clone();
        acknowledged.sort_by_key(|registered| registered.webhook);
        for registered in &acknowledged {
            let events = domain::EventKinds::default().with(EventKind::Tx).with(EventKind::TokenTransfer);
            let webhook = domain::NewWebhook {
                owner: Address::ZERO,
                url: String::new(),
                watched: registered.watched,
                events,
                secret: domain::SealedSecret::new(Vec::new()),
                created_at: 0,
            };
            let added = records.add_webhook(webhook).await.unwrap();
            assert_eq!(added.id, registered.webhook, "webhook ids must be consecutive from 1");
        }
        let (status, sync) = watch::channel(SyncStatus::starting());
        let reader = Arc::new(store.reader());
        let writer = Box::new(store.writer());
        let (config, progress) = (ingest_config(start_block), Arc::new(Progress::default()));
        let follower = Follower::new(node, writer, reader.clone(), config, status, progress);
        let following = tokio::spawn(follower.run(CancellationToken::new()));
        let matcher = Matcher::new(reader.clone(), Arc::clone(&records), sync, Wake::default(), TokenPrefix::Bep);
        let matching = tokio::spawn(matcher.run(CancellationToken::new()));
        let head = world.chain.head();
        while records.find_cursor().await.unwrap().is_none_or(|cursor| cursor.hash != head.hash) {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        tokio::time::sleep(Duration::from_secs(60)).await;
        following.abort();
        matching.abort();
        let mut deliveries = Vec::new();
        for registered in &acknowledged {
            deliveries.extend(records.list_deliveries(registered.webhook, ALL).await.unwrap().items);
        }
        (query_everything(&reader).await, deliveries)
    })
}

/// The highest inclusion count that a receiver accepted for an event, and for its `removed` message; 0 if there was none.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct LatestInclusion {
    sent: u64,
    removed: u64,
}

/// The blocks that were orphaned and came back, with the newest webhook that was registered when each was matched first.
/// Later ones do not get its events: for them, it is an old block.
pub(crate) fn known_blocks(world: &World, data: &Path, expected: &[Delivery]) -> BTreeMap<B256, u64> {
    runtime().block_on(async {
        let store = EmbeddedStore::open(data, store_options(world.plan.write_buffer_bytes)).unwrap();
        let (records, mut known) = (store.webhook_records(), BTreeMap::new());
        for block in expected.iter().filter_map(|delivery| Some(delivery.location?.block)) {
            if let Some(orphaning) = records.find_orphaning(block).await.unwrap() {
                known.insert(block.hash, orphaning.known_to);
            }
        }
        known
    })
}

/// Whether a webhook was registered before a block was mined.
fn is_older(world: &World, webhook: u64, block: B256) -> bool {
    let trace = world.trace();
    let position = |wanted: &dyn Fn(&str) -> bool| trace.iter().position(|(_, what)| wanted(what));
    let registered = position(&|what| what.starts_with(&format!("registered {webhook} ")));
    let mined = position(&|what| what.starts_with("block ") && what.ends_with(&block.to_string()));
    registered.zip(mined).is_some_and(|(registered, mined)| registered < mined)
}

/// Compares the messages of the receivers with the events of the chain. Returns the number of events.
pub(crate) fn check_deliveries(world: &World, expected: &[Delivery], known: &BTreeMap<B256, u64>) -> usize {
    let acknowledged = lock(&world.acknowledged).clone();
    let mut latest: BTreeMap<(usize, String), LatestInclusion> = BTreeMap::new();
    let mut bodies = BTreeMap::new();
    for message in world.message_log.all() {
        let body: Value = serde_json::from_slice(&message.body).unwrap();
        let inclusion = body["inclusion"].as_u64().unwrap_or(1);
        let key = (message.receiver, message.id.clone(), inclusion);
        let first = bodies.entry(key).or_insert_with(|| message.body.clone());
        assert_eq!(*first, message.body, "two bodies of the same message: {}", message.id);
        if !message.accepted {
            continue;
        }
        if let Some(removed) = body["data"]["removedDelivery"].as_str() {
            let latest = latest.entry((message.receiver, removed.to_owned())).or_default();
            latest.removed = latest.removed.max(inclusion);
        } else {
            let latest = latest.entry((message.receiver, message.id)).or_default();
            latest.sent = latest.sent.max(inclusion);
        }
    }
    let mut canonical = BTreeSet::new();
    let mut checked = 0;
    for registered in &acknowledged {
        let after = registered.after.map(|after| world.last_common(after));
        for delivery in expected.iter().filter(|delivery| delivery.webhook == registered.webhook) {
            let key = (registered.receiver, delivery.id.to_string());
            canonical.insert(key.clone());
            let location = delivery.location.unwrap();
            if after.is_some_and(|after| location.block.number <= after) {
                continue;
            }
            let is_old = known.get(&location.block.hash).is_some_and(|known_to| registered.webhook > *known_to);
            if is_old && !is_older(world, registered.webhook, location.block.hash) {
                continue;
            }
            let latest = latest.get(&key).copied().unwrap_or_default();
            assert!(latest.sent > 0, "never delivered: {key:?} at {location:?}, {registered:?}");
            assert!(latest.sent > latest.removed, "removed although canonical: {key:?} {latest:?} at {location:?}");
            checked += 1;
        }
    }
    for (key, latest) in latest.iter().filter(|(key, _)| !canonical.contains(*key)) {
        assert!(
            latest.removed >= latest.sent,
            "orphaned but not removed: {key:?} {latest:?}\n{}",
            world.history_of(&key.1).join("\n")
        );
        checked += 1;
    }
    checked
}
