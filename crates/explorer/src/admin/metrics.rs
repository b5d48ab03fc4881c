//! The metrics of a process. Every process writes the names of all of them; those of parts that it does not have are without
//! values.

pub(crate) mod http;
mod index;
mod node;
mod process;
mod webhooks;

use std::{sync::Arc, time::Duration};

use ::node::NodeClient;
use ::webhooks::DeliveryMetrics;
use api::ApiMetrics;
use domain::{ReplicaStatus, SyncStatus, TaskState, TaskStatus};
use enrichment::TopAccounts;
use ingest::Progress;
use metrics::{Counter, Text};
use store::{CacheUse, Store, WebhookRecords};
use tokio::sync::watch;
use verification::VerificationJobs;

use self::http::HttpMetrics;
use crate::config::{memory::MemoryBudget, roles::Roles};

/// For what has to be read from the store. A scrape without it is better than none.
const STORE_TIMEOUT: Duration = Duration::from_secs(2);

/// Where the values come from.
pub(crate) struct Sources {
    pub(crate) roles: Roles,
    /// Whether the store is a database.
    pub(crate) is_shared: bool,
    pub(crate) memory: MemoryBudget,
    pub(crate) sync: watch::Receiver<SyncStatus>,
    pub(crate) progress: Arc<Progress>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) replica: Option<watch::Receiver<ReplicaStatus>>,
    pub(crate) node: Option<NodeClient>,
    pub(crate) tasks: watch::Receiver<Vec<TaskStatus>>,
    pub(crate) webhooks: Option<Arc<dyn WebhookRecords>>,
    pub(crate) deliveries: Arc<DeliveryMetrics>,
    pub(crate) served: Option<Served>,
}

/// What a process that serves counts.
pub(crate) struct Served {
    pub(crate) http: Arc<HttpMetrics>,
    pub(crate) api: Arc<ApiMetrics>,
    pub(crate) jobs: VerificationJobs,
    pub(crate) top_accounts: Option<Arc<TopAccounts>>,
}

impl Sources {
    /// All metrics in the text format of Prometheus.
    pub(crate) async fn write(&self) -> String {
        let mut text = Text::default();
        let stats = tokio::time::timeout(STORE_TIMEOUT, self.store.reader().stats()).await;
        let stats = stats.ok().and_then(Result::ok);
        self.write_service(&mut text);
        index::write(&mut text, &self.sync.borrow().clone(), stats.as_ref(), &self.progress);
        self.write_store(&mut text);
        node::write(&mut text, self.node.as_ref());
        let queues = match &self.webhooks {
            Some(records) => Some(webhooks::Queues::read(records.as_ref(), STORE_TIMEOUT).await),
            None => None,
        };
        webhooks::write(&mut text, queues.as_ref(), Some(&*self.deliveries).filter(|_| self.roles.deliver));
        self.write_verifications(&mut text);
        self.write_top_accounts(&mut text);
        http::write(&mut text, self.served.as_ref().map(|served| &*served.http));
        self.write_rate_limits(&mut text);
        process::write(&mut text);
        text.into_string()
    }

    fn write_service(&self, text: &mut Text) {
        text.gauge("explorer_build_info", "The version of this process; always 1.")
            .sample(&[("version", env!("CARGO_PKG_VERSION"))], 1_u64);
        let store = if self.is_shared { "postgres" } else { "embedded" };
        text.gauge("explorer_store_info", "The store of this process; always 1.").sample(&[("store", store)], 1_u64);
        let Roles { index, serve, deliver } = self.roles;
        text.gauge("explorer_role", "Whether this process has a role: 1 or 0.")
            .sample(&[("role", "index")], index)
            .sample(&[("role", "serve")], serve)
            .sample(&[("role", "deliver")], deliver);
        let tasks = self.tasks.borrow().clone();
        let mut running = text.gauge("explorer_task_running", "Whether a background task runs: 1 or 0.");
        for task in &tasks {
            running.sample(&[("task", task.name)], task.state == TaskState::Running);
        }
        let mut restarts = text.counter("explorer_task_restarts_total", "Restarts of a background task that failed.");
        for task in &tasks {
            restarts.sample(&[("task", task.name)], task.restarts);
        }
        let mut budget = text.gauge("explorer_memory_budget_bytes", "The most memory that a part of the process uses.");
        for (part, bytes) in self.memory.parts() {
            budget.sample(&[("part", part)], bytes);
        }
    }

    fn write_store(&self, text: &mut Text) {
        text.histogram("explorer_store_commit_duration_seconds", "Time to commit a batch of blocks.")
            .buckets(&[], &self.progress.commit_times);
        text.histogram("explorer_store_read_duration_seconds", "Time of a query of the index.")
            .buckets(&[], self.store.read_times());
        let mut caches = self.store.cache_uses();
        if let Some(Served { api, .. }) = &self.served {
            let (hits, misses) = (api.response_cache.hits.get(), api.response_cache.misses.get());
            caches.push(CacheUse { cache: "responses", hits, misses });
        }
        let mut hits = text.counter("explorer_cache_hits_total", "Lookups that a cache answered.");
        for CacheUse { cache, hits: count, .. } in &caches {
            hits.sample(&[("cache", cache)], *count);
        }
        let mut misses = text.counter("explorer_cache_misses_total", "Lookups that a cache did not answer.");
        for CacheUse { cache, misses: count, .. } in &caches {
            misses.sample(&[("cache", cache)], *count);
        }
        let replica = self.replica.as_ref().map(|replica| replica.borrow().clone());
        text.gauge("explorer_read_database_used", "Whether reads use the standby (--read-database): 1 or 0.")
            .value(replica.as_ref().map(|replica| replica.is_used));
        text.gauge(
            "explorer_read_database_lag_seconds",
            "For how long the standby has lacked a change that the database has.",
        )
        .value(replica.map(|replica| replica.behind.as_secs_f64()));
    }

    fn write_verifications(&self, text: &mut Text) {
        let jobs = self.served.as_ref().map(|served| &served.jobs);
        text.gauge("explorer_verifications_running", "Verifications of contracts that run or wait.")
            .value(jobs.map(VerificationJobs::running));
        let mut times = text.histogram(
            "explorer_verification_duration_seconds",
            "Time from the submission of a verification to its result, by result.",
        );
        if let Some(metrics) = jobs.map(VerificationJobs::metrics) {
            times
                .buckets(&[("result", "verified")], &metrics.verified)
                .buckets(&[("result", "refused")], &metrics.refused)
                .buckets(&[("result", "failed")], &metrics.failed);
        }
    }

    fn write_top_accounts(&self, text: &mut Text) {
        let top_accounts = self.served.as_ref().and_then(|served| served.top_accounts.as_ref());
        let listing = top_accounts.map(|top_accounts| top_accounts.listing());
        text.gauge("explorer_top_accounts_block", "The block of the balances in the list of top accounts.")
            .value(listing.as_ref().and_then(|listing| listing.block).map(|block| block.number));
        text.gauge("explorer_top_accounts_addresses_read", "Addresses whose balances were read for the list.")
            .value(listing.as_ref().map(|listing| listing.addresses_read));
        text.gauge("explorer_top_accounts_complete", "Whether the balances of all addresses were read: 1 or 0.")
            .value(listing.map(|listing| listing.is_complete));
    }

    fn write_rate_limits(&self, text: &mut Text) {
        let mut rejected =
            text.counter("explorer_rate_limited_requests_total", "Requests refused by a rate limit, by limit.");
        if let Some(Served { api, http, .. }) = &self.served {
            let limited = &api.rate_limited;
            let of = |counter: &Counter| counter.get();
            rejected
                .sample(&[("limit", "anonymous")], of(&limited.anonymous))
                .sample(&[("limit", "key")], of(&limited.key))
                .sample(&[("limit", "ip")], of(&limited.ip))
                .sample(&[("limit", "pages")], http.pages_limited());
        }
    }
}
