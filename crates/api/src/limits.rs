//! Rate limits: at most N requests in any 60 seconds per key and per client without a key, and a limit per client over all
//! keys that it uses.

#[cfg(test)]
mod brute_force;
mod decision;
mod fair_slots;
mod headers;
mod request_log;
mod shared;
mod windows;

use std::{num::NonZeroU32, sync::Arc};

use client_address::Client;
pub(crate) use decision::{LimitDecision, Quota};
use domain::ApiKeyId;
pub(crate) use fair_slots::{FairSlots, NoSlot, Slot, SlotBounds};
pub(crate) use headers::{LIMIT, POLICY, RATE_LIMIT, REMAINING, RESET};
use request_log::{Moment, RequestLog};
use shared::{Counted, SharedLimits};
use store::SharedQuotas;
use tokio::time::Instant;
use windows::{Bounds, Windows};

/// Enough for a busy public service; about 30 MB when every caller is at its limit.
const BOUNDS: Bounds = Bounds { own: 1 << 17, shared: 1 << 12 };

/// Requests per minute; None means unlimited.
#[derive(Debug, Clone, Copy)]
pub struct LimitConfig {
    /// Per client without a key.
    pub anonymous: Option<NonZeroU32>,
    /// Per client over all its keys. A key with a higher limit raises it.
    pub keyed_client: Option<NonZeroU32>,
}

impl Default for LimitConfig {
    fn default() -> Self {
        Self { anonymous: NonZeroU32::new(10), keyed_client: NonZeroU32::new(600) }
    }
}

/// The caller whose quota a request uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LimitedCaller {
    Anonymous,
    WithKey {
        id: ApiKeyId,
        requests_per_minute: u32,
    },
    /// With a key that has no limit.
    Unlimited,
}

pub(crate) struct RateLimits {
    config: LimitConfig,
    started: Instant,
    anonymous: Windows<Client>,
    keys: Windows<ApiKeyId>,
    keyed_clients: Windows<Client>,
    /// Set if other processes serve, too. If it fails, each process counts by itself.
    shared: Option<SharedLimits>,
}

impl RateLimits {
    pub(crate) fn new(config: LimitConfig) -> Self {
        Self::bounded(config, BOUNDS)
    }

    fn bounded(config: LimitConfig, bounds: Bounds) -> Self {
        Self {
            config,
            started: Instant::now(),
            anonymous: Windows::new(bounds),
            keys: Windows::new(bounds),
            keyed_clients: Windows::new(bounds),
            shared: None,
        }
    }

    /// Counts together with all other processes.
    pub(crate) fn shared_by(self, quotas: Option<Arc<dyn SharedQuotas>>) -> Self {
        Self { shared: quotas.map(SharedLimits::new), ..self }
    }

    /// Allows a request and counts it, or rejects it and does not.
    pub(crate) async fn try_acquire(&self, client: Client, caller: LimitedCaller) -> LimitDecision {
        if let Some(shared) = self.shared.as_ref().filter(|_| caller != LimitedCaller::Unlimited) {
            match shared.try_acquire(&self.counted(client, caller)).await {
                Ok(decision) => return decision,
                Err(error) => tracing::warn!(%error, "requests are counted by this process alone"),
            }
        }
        self.try_acquire_at(client, caller, self.now())
    }

    /// The state of an anonymous caller's quota, without counting a request.
    pub(crate) async fn peek(&self, client: Client) -> LimitDecision {
        if let Some(shared) = &self.shared
            && let Ok(decision) = shared.peek(&self.counted(client, LimitedCaller::Anonymous)).await
        {
            return decision;
        }
        let now = self.now();
        let state = |limit: NonZeroU32| self.anonymous.peek(client, |log| log.state(limit.get(), now));
        LimitDecision::new([self.config.anonymous.map(|limit| Quota { name: "anonymous", state: state(limit) }), None])
    }

    /// What a request is counted by, with the limits.
    fn counted(&self, client: Client, caller: LimitedCaller) -> Vec<(Counted, u32)> {
        match caller {
            LimitedCaller::Unlimited => Vec::new(),
            LimitedCaller::Anonymous => {
                self.config.anonymous.map(|limit| (Counted::Anonymous(client), limit.get())).into_iter().collect()
            }
            LimitedCaller::WithKey { id, requests_per_minute } => {
                let of_client = self.config.keyed_client.map(|limit| limit.get().max(requests_per_minute));
                let of_client = of_client.map(|limit| (Counted::KeyedClient(client), limit));
                [(Counted::Key(id), requests_per_minute)].into_iter().chain(of_client).collect()
            }
        }
    }

    fn now(&self) -> Moment {
        // Overflows after 584 years.
        Moment(u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn try_acquire_at(&self, client: Client, caller: LimitedCaller, now: Moment) -> LimitDecision {
        match caller {
            LimitedCaller::Unlimited => LimitDecision::new([None, None]),
            LimitedCaller::Anonymous => {
                let Some(limit) = self.config.anonymous else { return LimitDecision::new([None, None]) };
                self.anonymous.with(client, now, |log| acquire_both(("anonymous", limit.get(), log), None, now))
            }
            // Lock order: keys before clients.
            LimitedCaller::WithKey { id, requests_per_minute } => self.keys.with(id, now, |key_log| {
                let key = ("key", requests_per_minute, key_log);
                let Some(limit) = self.config.keyed_client else { return acquire_both(key, None, now) };
                let limit = limit.get().max(requests_per_minute);
                self.keyed_clients
                    .with(client, now, |client_log| acquire_both(key, Some(("ip", limit, client_log)), now))
            }),
        }
    }
}

type LocalQuota<'a> = (&'static str, u32, &'a mut RequestLog);

/// A request is counted in both logs if both allow it, and in neither otherwise.
fn acquire_both(first: LocalQuota<'_>, second: Option<LocalQuota<'_>>, now: Moment) -> LimitDecision {
    let mut counted = [Some(first), second];
    let allowed = counted.iter_mut().flatten().all(|(_, limit, log)| log.state(*limit, now).remaining > 0);
    let quotas = counted.map(|counted| {
        counted.map(|(name, limit, log)| {
            if allowed {
                log.record(now);
            }
            Quota { name, state: log.state(limit, now) }
        })
    });
    LimitDecision { rejected: !allowed, quotas }
}
