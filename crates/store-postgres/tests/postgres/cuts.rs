//! Connections that are cut at every statement, before the server gets it or after, so that nobody knows whether it took
//! effect. Nothing is lost, and nothing happens twice.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use domain::{BlockChanges, Order, PageRequest, TransactionFilter};
use store::{ChainReader, ChainWriter, Failure, StoreError, TransactionReader, Undo};
use store_conformance::RandomChain;
use store_postgres::PostgresStore;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, UnixStream},
    task::JoinHandle,
};

use crate::{
    processes::eventually,
    server::{DEFAULT_PORT, Server, options},
};

const KEEP: Undo = Undo::Keep { down_to: 0 };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// The server does not get what the client sends.
    Before,
    /// The server gets it, and the client does not get the response.
    After,
}

/// When to cut: after this many messages of clients.
type Plan = Arc<Mutex<Option<(u32, Cut)>>>;

/// Passes connections on to a server, until it cuts them.
struct Proxy {
    port: u16,
    plan: Plan,
    accepting: JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Proxy {
    async fn start(server: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let socket = server.folder().join(format!(".s.PGSQL.{DEFAULT_PORT}"));
        let plan = Plan::default();
        let accepting = tokio::spawn({
            let plan = Arc::clone(&plan);
            async move {
                while let Ok((client, _)) = listener.accept().await {
                    tokio::spawn(pass(client, socket.clone(), Arc::clone(&plan)));
                }
            }
        });
        Self { port, plan, accepting }
    }

    fn cut_after(&self, messages: u32, cut: Cut) {
        *self.plan.lock().unwrap() = Some((messages, cut));
    }

    /// Whether it has cut since.
    fn has_cut(&self) -> bool {
        self.plan.lock().unwrap().take().is_none()
    }
}

/// Whether to cut now.
fn count(plan: &Plan) -> Option<Cut> {
    let mut plan = plan.lock().unwrap();
    let (left, cut) = (*plan)?;
    *plan = left.checked_sub(1).map(|left| (left, cut));
    (left == 0).then_some(cut)
}

async fn pass(mut client: TcpStream, socket: PathBuf, plan: Plan) {
    let Ok(mut server) = UnixStream::connect(socket).await else { return };
    let (mut sent, mut received) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        tokio::select! {
            read = client.read(&mut sent) => {
                let Some(length) = read.ok().filter(|length| *length > 0) else { return };
                match count(&plan) {
                    Some(Cut::Before) => return,
                    cut => {
                        if server.write_all(&sent[..length]).await.is_err() {
                            return;
                        }
                        if cut.is_some() {
                            // The server does its work, and responds to nobody.
                            let _ = tokio::time::timeout(Duration::from_millis(100), server.read(&mut received)).await;
                            return;
                        }
                    }
                }
            }
            read = server.read(&mut received) => {
                let Some(length) = read.ok().filter(|length| *length > 0) else { return };
                if client.write_all(&received[..length]).await.is_err() {
                    return;
                }
            }
        }
    }
}

async fn assert_same(one: &PostgresStore, other: &PostgresStore) {
    let page = PageRequest { offset: 0, limit: 1_000, order: Order::OldestFirst };
    let (one, other) = (one.reader(), other.reader());
    assert_eq!(one.find_tip().await.unwrap(), other.find_tip().await.unwrap());
    assert_eq!(one.stats().await.unwrap(), other.stats().await.unwrap());
    let all = TransactionFilter::default();
    let transactions = one.list_transactions(&all, page).await.unwrap();
    assert_eq!(transactions, other.list_transactions(&all, page).await.unwrap());
    for tx in &transactions.items {
        let filter = TransactionFilter::touching(tx.from);
        let (ours, theirs) = (one.list_transactions(&filter, page).await, other.list_transactions(&filter, page).await);
        assert_eq!(ours.unwrap(), theirs.unwrap());
    }
}

/// Repeats a change until it took effect, as following does: after a failure, the tip tells.
async fn apply(store: &PostgresStore, block: &BlockChanges, change: impl AsyncFn() -> Result<(), StoreError>) {
    if let Err(error) = change().await {
        assert_eq!(error.failure(), Failure::Transient, "{error}");
        let tip = eventually("the connection is back", async || store.writer().tip().await.ok()).await;
        if tip != Some(block.block.id()) {
            eventually("the change", async || change().await.ok()).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_cut_at_any_statement_loses_and_repeats_nothing() {
    let server = Server::shared();
    let (url, plain) = (server.database().await, server.store().await);
    let proxy = Proxy::start(&server).await;
    let name = url.rsplit('/').next().unwrap();
    let through_proxy = format!("postgres://explorer@127.0.0.1:{}/{name}?sslmode=disable", proxy.port);
    let store = PostgresStore::open(&through_proxy, options()).await.unwrap();
    let mut chain = RandomChain::new(21);
    let genesis = chain.next_block(None);
    for store in [&store, &plain] {
        store.writer().commit(vec![genesis.clone()], KEEP).await.unwrap();
    }
    let (mut cuts, mut tip) = (0, genesis);
    for messages in 0.. {
        let mut was_cut = false;
        for cut in [Cut::Before, Cut::After] {
            let next = chain.next_block(Some(&tip.block));
            proxy.cut_after(messages, cut);
            apply(&store, &next, async || store.writer().commit(vec![next.clone()], KEEP).await).await;
            let commit_was_cut = proxy.has_cut();
            proxy.cut_after(messages, cut);
            apply(&store, &tip, async || store.writer().revert_to(tip.block.number).await).await;
            let revert_was_cut = proxy.has_cut();
            was_cut |= commit_was_cut || revert_was_cut;
            cuts += u32::from(commit_was_cut) + u32::from(revert_was_cut);
            for store in [&store, &plain] {
                store.writer().commit(vec![next.clone()], KEEP).await.unwrap();
            }
            tip = next;
        }
        if !was_cut {
            break;
        }
    }
    assert!(cuts > 40, "{cuts} cuts");
    assert_same(&store, &plain).await;
}
