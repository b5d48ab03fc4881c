use std::time::Duration;

use async_trait::async_trait;

use crate::StoreError;

/// Counts the requests of callers over all processes that serve from one store.
#[async_trait]
pub trait SharedQuotas: Send + Sync {
    /// Counts a request of every caller if each has its cost left in the window, else of none. The cost is at least 1.
    async fn take(&self, callers: &[QuotaCaller], cost: u32, window: Duration) -> Result<QuotaUse, StoreError>;

    /// What is left for the callers, without counting a request.
    async fn peek(&self, callers: &[QuotaCaller], window: Duration) -> Result<QuotaUse, StoreError>;

    /// Returns what this process may still count without the others. To be called after the last request.
    async fn finish(&self);
}

/// A caller with a limit of its own. Callers that are counted together are given in the same order everywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotaCaller {
    pub name: Vec<u8>,
    /// The cost in any window.
    pub limit: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotaUse {
    /// Whether every caller had the cost of the request left.
    pub allowed: bool,
    /// In the order of the callers.
    pub left: Vec<QuotaLeft>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaLeft {
    pub remaining: u32,
    /// Until a request that was not allowed is, otherwise until `remaining` grows by one; zero if no request counts.
    pub until_more: Duration,
}
