//! The conformance suite of `store-conformance` on PostgreSQL.

use std::{collections::VecDeque, sync::Arc};

use domain::PageRequest;
use store::{Store, VerifiedContracts, WebhookLimits};
use store_conformance::{
    Plan, Subject, VerifiedSubject, run, run_contract_data, run_raw_records, run_start_over, run_user_records,
    run_verified_contracts, run_webhook_limits, run_webhook_records, run_writers,
};
use store_postgres::{PostgresOptions, PostgresStore};

use crate::server::{Server, open, options};

async fn run_on_a_new_store(server: &Server, plan: Plan, options: PostgresOptions) {
    let store = PostgresStore::open(&server.database().await, options).await.unwrap();
    run(Subject::of(&store), plan).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hundreds_of_random_blocks_with_reorgs_match_the_model() {
    let server = Server::shared();
    let plan = Plan { seed: 1, blocks: 800, steps_between_checks: 100 };
    run_on_a_new_store(&server, plan, options()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_that_are_walked_in_one_step_match_the_model() {
    let server = Server::shared();
    let plan = Plan { seed: 98, blocks: 300, steps_between_checks: 60 };
    let list_step = PostgresOptions::default().list_step;
    run_on_a_new_store(&server, plan, PostgresOptions { list_step, ..options() }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_short_chains_match_the_model() {
    let server = Server::shared();
    for seed in 2..10 {
        let plan = Plan { seed, blocks: 120, steps_between_checks: 10 };
        run_on_a_new_store(&server, plan, options()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_with_a_tiny_cache_matches_the_model() {
    let server = Server::shared();
    let plan = Plan { seed: 99, blocks: 300, steps_between_checks: 60 };
    run_on_a_new_store(&server, plan, PostgresOptions { writer_cache_entries: 4, ..options() }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_data_is_fetched_when_the_rules_say() {
    let server = Server::shared();
    let mut stores = VecDeque::new();
    for _ in 0..11 {
        stores.push_back(server.store().await);
    }
    // A store that is dropped no longer knows the version of its data.
    let mut used = Vec::new();
    run_contract_data(|| {
        let store = stores.pop_front().expect("a store for each check");
        let subject = Subject::of(&store);
        used.push(store);
        subject
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_writer_replaces_the_one_before() {
    let server = Server::shared();
    for _ in 0..5 {
        run_writers(&server.store().await).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn user_records_pass_the_suite() {
    let server = Server::shared();
    let store = server.store().await;
    run_user_records(Arc::new(store.user_records())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn webhook_records_pass_the_suite() {
    let server = Server::shared();
    let store = server.store().await;
    run_webhook_records(Arc::new(store.webhook_records())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn webhook_records_enforce_their_limits() {
    let server = Server::shared();
    let store = server.store().await;
    let limits =
        WebhookLimits { webhooks: 30, per_address: 12, pending_per_webhook: 20, pending_per_owner: 50, pending: 110 };
    run_webhook_limits(Store::webhook_records(&store, limits), limits).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn verified_contracts_pass_the_suite_and_survive_a_restart() {
    let server = Server::shared();
    let url = server.database().await;
    let before = {
        let store = open(&url).await;
        let subject = VerifiedSubject {
            writer: Box::new(store.writer()),
            reader: Arc::new(store.reader()),
            records: Arc::new(store.verified_contracts()),
        };
        run_verified_contracts(subject, 0).await;
        store.verified_contracts().list_verified(PageRequest::newest(1_000)).await.unwrap()
    };
    let records = open(&url).await.verified_contracts();
    assert_eq!(records.list_verified(PageRequest::newest(1_000)).await.unwrap(), before);
    let first = &before.items[0];
    let found = records.find_verified(first.address, first.code_hash).await.unwrap().unwrap();
    assert_eq!((&found.code.name, found.code.sources.len()), (&first.name, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn all_records_are_copied_to_another_database() {
    let server = Server::shared();
    run_raw_records(&server.store().await, &server.store().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_started_over_matches_the_model() {
    let server = Server::shared();
    let store = PostgresStore::open(&server.database().await, options()).await.unwrap();
    run_start_over(&store, Plan { seed: 200, blocks: 120, steps_between_checks: 20 }).await;
}
