//! Limits that hold over all processes that serve from one store.

use std::{
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use client_address::Client;
use domain::ApiKeyId;
use quick_cache::sync::Cache;
use store::{QuotaCaller, QuotaUse, SharedQuotas, StoreError};

use super::{
    decision::{LimitDecision, Quota},
    request_log::{QuotaState, WINDOW},
};

/// How many rejected callers are cached.
const CACHED_REJECTIONS: usize = 1 << 16;

/// What a request is counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Counted {
    Anonymous(Client),
    Key(ApiKeyId),
    KeyedClient(Client),
}

impl Counted {
    /// The name of the quota in the headers.
    pub(super) fn quota(self) -> &'static str {
        match self {
            Self::Anonymous(_) => "anonymous",
            Self::Key(_) => "key",
            Self::KeyedClient(_) => "ip",
        }
    }

    fn caller(self, limit: u32) -> QuotaCaller {
        let mut name = self.quota().as_bytes().to_vec();
        name.push(b' ');
        match self {
            Self::Key(id) => name.extend(id.to_be_bytes()),
            Self::Anonymous(client) | Self::KeyedClient(client) => match client.address() {
                IpAddr::V4(address) => name.extend(address.octets()),
                IpAddr::V6(address) => name.extend(address.octets()),
            },
        }
        QuotaCaller { name, limit }
    }
}

/// A caller above its limit: it needs no lookup until a request is allowed again.
#[derive(Debug, Clone, Copy)]
struct Rejected {
    limit: u32,
    at: Instant,
    until_more: Duration,
}

pub(super) struct SharedLimits {
    quotas: Arc<dyn SharedQuotas>,
    rejected: Cache<Counted, Rejected>,
}

impl SharedLimits {
    pub(super) fn new(quotas: Arc<dyn SharedQuotas>) -> Self {
        Self { quotas, rejected: Cache::new(CACHED_REJECTIONS) }
    }

    /// Counts a request by all of these, or by none if one of them has too little left.
    pub(super) async fn try_acquire(&self, counted: &[(Counted, u32)], cost: u32) -> Result<LimitDecision, StoreError> {
        if let Some(decision) = self.known_rejection(counted, cost) {
            return Ok(decision);
        }
        let callers: Vec<QuotaCaller> = counted.iter().map(|(counted, limit)| counted.caller(*limit)).collect();
        let used = self.quotas.take(&callers, cost, WINDOW).await?;
        // How long a dear request waits says nothing about others.
        if !used.allowed && cost == 1 {
            for ((counted, limit), left) in counted.iter().zip(&used.left).filter(|(_, left)| left.remaining == 0) {
                let rejected = Rejected { limit: *limit, at: Instant::now(), until_more: left.until_more };
                self.rejected.insert(*counted, rejected);
            }
        }
        Ok(decision(counted, cost, &used))
    }

    /// What is left, without counting a request.
    pub(super) async fn peek(&self, counted: &[(Counted, u32)]) -> Result<LimitDecision, StoreError> {
        let callers: Vec<QuotaCaller> = counted.iter().map(|(counted, limit)| counted.caller(*limit)).collect();
        let used = self.quotas.peek(&callers, WINDOW).await?;
        Ok(LimitDecision { rejected: false, ..decision(counted, 0, &used) })
    }

    pub(super) async fn finish(&self) {
        self.quotas.finish().await;
    }

    /// So that a flood of requests above the limit does not reach the store.
    fn known_rejection(&self, counted: &[(Counted, u32)], cost: u32) -> Option<LimitDecision> {
        let rejection = |(counted, limit): &(Counted, u32)| {
            let rejected = self.rejected.get(counted).filter(|rejected| rejected.limit == *limit)?;
            let until_more = rejected.until_more.checked_sub(rejected.at.elapsed()).filter(|left| !left.is_zero())?;
            Some(Quota { name: counted.quota(), state: QuotaState { limit: *limit, remaining: 0, until_more } })
        };
        let mut quotas = counted.iter().filter_map(rejection);
        let quotas = [Some(quotas.next()?), quotas.next()];
        Some(LimitDecision { rejected: true, cost, quotas })
    }
}

fn decision(counted: &[(Counted, u32)], cost: u32, used: &QuotaUse) -> LimitDecision {
    let mut quotas = counted.iter().zip(&used.left).map(|((counted, limit), left)| Quota {
        name: counted.quota(),
        state: QuotaState { limit: *limit, remaining: left.remaining, until_more: left.until_more },
    });
    LimitDecision { rejected: !used.allowed, cost, quotas: [quotas.next(), quotas.next()] }
}
