//! Several processes that send webhooks: each webhook is sent by one of them, and moves when one ends, stands still or comes.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{TxKind, U256};
use devchain::DevChainConfig;

use super::{role, server::Server, wait_for_log};
use crate::{
    support::{
        DevNode, Launch, Stopwatch, TestExplorer, eventually,
        fixture::lower_hex,
        permits,
        process::Process,
        receiver::{Received, Receiver},
        wrong_clock::with_clock,
    },
    webhooks::register,
};

/// So many that by chance one of two processes has all of them once in 30,000 runs.
const WEBHOOKS: usize = 16;

/// A chain, its index, and webhooks for some accounts, each with a path of the receiver.
struct Scene {
    server: std::sync::Arc<Server>,
    url: String,
    node: DevNode,
    receiver: Receiver,
    /// The payments of each account, in groups.
    paid: Vec<Vec<String>>,
    serving: TestExplorer,
    _indexing: Process,
}

impl Scene {
    async fn start() -> Self {
        let server = Server::shared();
        let url = server.database().await;
        let node = DevNode::with(DevChainConfig { accounts: WEBHOOKS + 1, ..DevChainConfig::default() }).await;
        let indexing = role(&node.url(), &url, "index").spawn();
        let serving = role(&node.url(), &url, "serve").start().await;
        node.wait_for(&serving).await;
        let receiver = Receiver::start().await;
        for account in 1..=WEBHOOKS {
            let address = lower_hex(node.account(account));
            register(&serving, &receiver.url(&path(account)), &address, &["tx"]).await;
        }
        let paid = vec![Vec::new(); WEBHOOKS];
        Self { server, url, node, receiver, paid, serving, _indexing: indexing }
    }

    fn deliverer(&self) -> Launch {
        role(&self.node.url(), &self.url, "deliver")
    }

    /// Pays each account, some times.
    fn pay(&mut self, payments: u64) {
        for _ in 0..payments {
            for (account, paid) in (1..).zip(&mut self.paid) {
                let value = U256::from(1 + paid.len());
                let to = TxKind::Call(self.node.account(account));
                paid.push(self.node.chain.send(0, to, value, []).unwrap().to_string());
            }
            self.node.chain.mine(None);
        }
    }

    async fn wait_for_all(&self) {
        for (account, paid) in (1..).zip(&self.paid) {
            let what = format!("all {} messages about account {account}", paid.len());
            eventually(&what, async || {
                let received: BTreeSet<String> = self.receiver.at_path(&path(account)).iter().map(hash_of).collect();
                paid.iter().all(|hash| received.contains(hash)).then_some(())
            })
            .await;
        }
    }

    /// Each message arrived, and those of a group before those of the next one. Returns how many arrived more than once.
    fn check(&self, group: usize) -> usize {
        let mut repeated = 0;
        for (account, paid) in (1..).zip(&self.paid) {
            let received = self.receiver.at_path(&path(account));
            let (mut bodies, mut order) = (BTreeMap::new(), Vec::new());
            for message in &received {
                match bodies.insert(message.id().to_owned(), &message.body) {
                    Some(before) => {
                        assert_eq!(before, &message.body, "a repeated message is the same");
                        repeated += 1;
                    }
                    None => order.push(hash_of(message)),
                }
            }
            // Several messages to a receiver may be in flight at once, so the order holds between the groups.
            for (received, paid) in order.chunks(group).zip(paid.chunks(group)) {
                assert_eq!(BTreeSet::from_iter(received), BTreeSet::from_iter(paid), "{order:?}");
            }
            assert_eq!(order.len(), paid.len());
        }
        repeated
    }

    /// How many processes own webhooks.
    async fn owners(&self) -> i64 {
        let client = self.server.connect(&self.url).await;
        let sql = "select count(distinct owner) from explorer.queue_owner";
        client.query_one(sql, &[]).await.unwrap().get(0)
    }
}

fn path(account: usize) -> String {
    format!("/{account}")
}

fn hash_of(message: &Received) -> String {
    message.json()["data"]["hash"].as_str().unwrap().to_owned()
}

/// Waits until both processes send.
async fn wait_for_both(first: &Process, second: &Process) {
    for process in [first, second] {
        wait_for_log(process, "processes share the sending of webhooks processes=2").await;
    }
}

#[tokio::test]
async fn webhooks_are_shared_and_move_when_a_process_is_killed_or_stops() {
    permits::timely().await;
    let mut scene = Scene::start().await;
    let mut first = scene.deliverer().spawn();
    let mut second = scene.deliverer().spawn();
    wait_for_both(&first, &second).await;
    scene.pay(3);
    scene.wait_for_all().await;
    assert_eq!(scene.check(3), 0, "nothing is sent twice");
    assert_eq!(scene.owners().await, 2, "each process has some webhooks");

    first.kill();
    scene.pay(3);
    scene.wait_for_all().await;
    let mut first = scene.deliverer().spawn();
    wait_for_log(&first, "processes share the sending of webhooks processes=2").await;
    scene.pay(3);
    scene.wait_for_all().await;

    // One that stops passes its webhooks on at once.
    let ended = second.stop(crate::support::process::Signal::Terminate).await;
    assert!(ended.status.success(), "{ended:?}");
    let watch = Stopwatch::start();
    scene.pay(3);
    scene.wait_for_all().await;
    watch.assert_within(7);
    assert_eq!(scene.owners().await, 1);
    // What was in flight when one was killed may be sent again.
    let repeated = scene.check(3);
    assert!(repeated <= WEBHOOKS * 3, "{repeated}");
    let ended = first.stop(crate::support::process::Signal::Terminate).await;
    assert!(ended.status.success(), "{ended:?}");
    assert_eq!(scene.owners().await, 0);
    let health = eventually("all is sent, as another process knows", async || {
        let health = scene.serving.json("/health").await;
        (health["webhooks"]["pending"] == 0).then_some(health)
    })
    .await;
    assert_eq!(health["webhooks"]["count"], WEBHOOKS, "{health}");
}

#[tokio::test]
async fn a_deliverer_that_stands_still_is_replaced_and_nothing_is_lost() {
    let mut scene = Scene::start().await;
    let first = scene.deliverer().spawn();
    wait_for_log(&first, "this process matches blocks with webhooks").await;
    let second = scene.deliverer().spawn();
    wait_for_log(&second, "another process matches blocks with webhooks, standing by").await;
    wait_for_both(&first, &second).await;
    scene.pay(5);
    scene.wait_for_all().await;
    first.pause();
    scene.pay(5);
    scene.wait_for_all().await;
    wait_for_log(&second, "this process matches blocks with webhooks").await;
    first.resume();
    scene.pay(5);
    scene.wait_for_all().await;
    wait_for_log(&first, "another process matches blocks with webhooks, standing by").await;
    scene.check(5);
}

#[tokio::test]
async fn a_deliverer_with_a_wrong_clock_sends_like_the_others() {
    let mut scene = Scene::start().await;
    let ahead = with_clock(scene.deliverer(), "FAKETIME", "+3600").spawn();
    wait_for_log(&ahead, "the clock of this machine differs from the database's").await;
    scene.pay(2);
    scene.wait_for_all().await;
    // Failed messages are due by the same clock, whichever process sends them next.
    for account in 1..=WEBHOOKS {
        scene.receiver.set_behavior(&path(account), crate::support::receiver::Behavior::Status(500));
    }
    scene.pay(1);
    for account in 1..=WEBHOOKS {
        scene.receiver.wait_for(&path(account), 3).await;
    }
    let behind = with_clock(scene.deliverer(), "FAKETIME", "-3600").spawn();
    wait_for_both(&ahead, &behind).await;
    for account in 1..=WEBHOOKS {
        scene.receiver.set_behavior(&path(account), crate::support::receiver::Behavior::Status(200));
    }
    scene.pay(1);
    scene.wait_for_all().await;
    eventually("the failed messages are sent again", async || {
        (scene.serving.json("/health").await["webhooks"]["pending"] == 0).then_some(())
    })
    .await;
    let now = unix_time::seconds();
    for message in scene.receiver.all() {
        let signed_at: u64 = message.header("webhook-timestamp").parse().unwrap();
        assert!(signed_at.abs_diff(now) < 300, "a receiver accepts five minutes: {signed_at} at {now}");
    }
}
