//! Repeated kills lose no message, and repeated messages are identical.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    hash::{BuildHasher, RandomState},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use alloy_primitives::{TxKind, U256};
use devchain::DevChainConfig;

use super::{launch, register};
use crate::support::{
    DevNode, eventually, expected_state,
    fixture::lower_hex,
    read_api,
    receiver::{Behavior, Receiver},
};

/// More in the environment: `EXPLORER_KILLS=1000`.
const KILLS: usize = 100;

fn random_below(limit: u64) -> u64 {
    RandomState::new().hash_one(()) % limit
}

#[tokio::test(flavor = "multi_thread")]
async fn kills_lose_no_message_and_no_block_and_repeats_are_identical() {
    let kills = std::env::var("EXPLORER_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    // Whether a block is traced depends on the moment at which it is fetched.
    let node = DevNode::with(DevChainConfig { traces: false, ..DevChainConfig::default() }).await;
    let mut explorer = launch(&node.ws_url()).start().await;
    node.wait_for(&explorer).await;
    let receiver = Receiver::start().await;
    let watched = [node.account(1), node.account(2)];
    for (place, address) in watched.iter().enumerate() {
        let url = receiver.url(&format!("/{place}"));
        register(&explorer, &url, &lower_hex(*address), &["tx"]).await;
    }

    // Payments continue meanwhile, several per block.
    let over = Arc::new(AtomicBool::new(false));
    let paying = {
        let (chain, over) = (node.chain.clone(), Arc::clone(&over));
        tokio::spawn(async move {
            let mut expected = BTreeSet::new();
            let mut number = 0_u64;
            while !over.load(Ordering::Relaxed) {
                for _ in 0..1 + number % 3 {
                    number += 1;
                    let to = watched[usize::try_from(number % 2).unwrap()];
                    expected.insert(chain.send(0, TxKind::Call(to), U256::from(number), []).unwrap().to_string());
                }
                chain.mine(None);
                tokio::time::sleep(Duration::from_millis(40)).await;
            }
            expected
        })
    };
    for kill in 0..kills {
        tokio::time::sleep(Duration::from_millis(random_below(250))).await;
        // Receivers fail at times too.
        let behavior = if kill % 10 == 3 {
            Behavior::StatusWithHeader(503, "retry-after", "1".to_owned())
        } else {
            Behavior::Status(200)
        };
        receiver.set_behavior("/1", behavior);
        let data = explorer.kill();
        explorer = launch(&node.ws_url()).on(&data).start().await;
    }
    receiver.set_behavior("/1", Behavior::Status(200));
    over.store(true, Ordering::Relaxed);
    let expected = paying.await.unwrap();
    node.wait_for(&explorer).await;
    assert!(expected.len() > kills, "{} payments", expected.len());

    eventually("every payment", async || {
        let delivered: BTreeSet<String> =
            receiver.all().iter().map(|message| message.json()["data"]["hash"].as_str().unwrap().to_owned()).collect();
        (delivered == expected).then_some(())
    })
    .await;
    let mut bodies: HashMap<String, String> = HashMap::new();
    let mut ids: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for message in receiver.all() {
        let first = bodies.entry(message.id().to_owned()).or_insert_with(|| message.body.clone());
        assert_eq!(*first, message.body, "the same id always has the same bytes");
        let hash = message.json()["data"]["hash"].as_str().unwrap().to_owned();
        ids.entry(hash).or_default().insert(message.id().to_owned());
    }
    assert!(ids.values().all(|ids| ids.len() == 1), "a payment to one watched address has one id");
    assert_eq!(ids.len(), expected.len());

    let on_chain = expected_state(&node.rpc, 0, []).await;
    read_api(&explorer, on_chain.address_names()).await.assert_equals(&on_chain, "explorer and node");
}
