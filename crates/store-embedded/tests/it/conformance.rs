//! The conformance suite of `store-conformance` on the embedded store.

use store_conformance::{Plan, Subject, run, run_contract_data, run_start_over, run_writers};
use store_embedded::{EmbeddedStore, StoreOptions};

async fn run_on_a_new_store(plan: Plan, options: StoreOptions) {
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(folder.path(), options).unwrap();
    run(Subject::of(&store), plan).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_random_blocks_with_reorgs_match_the_model() {
    let plan = Plan { seed: 1, blocks: 3_000, steps_between_checks: 150 };
    run_on_a_new_store(plan, StoreOptions::default()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_short_chains_match_the_model() {
    for seed in 2..26 {
        let plan = Plan { seed, blocks: 120, steps_between_checks: 5 };
        run_on_a_new_store(plan, StoreOptions::default()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_with_a_tiny_cache_matches_the_model() {
    let plan = Plan { seed: 99, blocks: 800, steps_between_checks: 60 };
    run_on_a_new_store(plan, StoreOptions { writer_cache_entries: 4, ..StoreOptions::default() }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_data_is_fetched_when_the_rules_say() {
    let parent = tempfile::tempdir().unwrap();
    let mut stores = 0;
    run_contract_data(|| {
        stores += 1;
        let folder = parent.path().join(stores.to_string());
        Subject::of(&EmbeddedStore::open(&folder, StoreOptions::default()).unwrap())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_writer_replaces_the_one_before() {
    for _ in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        run_writers(&EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_started_over_matches_the_model() {
    for seed in 200..204 {
        let folder = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
        run_start_over(&store, Plan { seed, blocks: 120, steps_between_checks: 20 }).await;
    }
}
