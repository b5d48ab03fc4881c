//! Rate limits: a cost of at most N in any 60 seconds per key and per client without a key, and if the operator wants it, a
//! limit per client over all keys that it uses. A plain request costs 1.

#[cfg(test)]
mod brute_force;
mod decision;
mod headers;
mod request_log;
mod shared;
mod windows;

use std::{num::NonZeroU32, sync::Arc};

use client_address::Client;
pub use decision::{LimitDecision, Quota};
use domain::ApiKeyId;
use futures::future::BoxFuture;
pub use headers::{COST, LIMIT, POLICY, RATE_LIMIT, REMAINING, RESET};
use request_log::{Moment, RequestLog};
use shared::{Counted, SharedLimits};
use store::SharedQuotas;
use tokio::time::Instant;
use windows::{Bounds, Windows};

/// Enough for a busy public service; about 30 MB when every caller is at its limit.
const BOUNDS: Bounds = Bounds { own: 1 << 17, shared: 1 << 12 };

/// Cost per minute; None means unlimited.
#[derive(Debug, Clone, Copy)]
pub struct LimitConfig {
    /// Per client without a key.
    pub anonymous: Option<NonZeroU32>,
    /// Per client over all its keys. A key with a higher limit raises it. None by default: each key has its limit, however
    /// many people share an address.
    pub keyed_client: Option<NonZeroU32>,
}

impl Default for LimitConfig {
    fn default() -> Self {
        Self { anonymous: NonZeroU32::new(10), keyed_client: None }
    }
}

/// The caller whose quota a request uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitedCaller {
    Anonymous,
    /// With a key that has a limit.
    WithKey {
        id: ApiKeyId,
        requests_per_minute: u32,
    },
    /// With a key that has no limit.
    Unlimited,
}

/// Counts what requests cost.
pub struct RateLimits {
    config: LimitConfig,
    started: Instant,
    anonymous: Windows<Client>,
    keys: Windows<ApiKeyId>,
    keyed_clients: Windows<Client>,
    /// Set if other processes serve, too. If it fails, each process counts by itself, with what it has counted before.
    shared: Option<SharedLimits>,
}

impl RateLimits {
    #[must_use]
    pub fn new(config: LimitConfig) -> Self {
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
    #[must_use]
    pub fn shared_by(self, quotas: Option<Arc<dyn SharedQuotas>>) -> Self {
        Self { shared: quotas.map(SharedLimits::new), ..self }
    }

    /// Allows a request and counts its cost, or rejects it and does not. A request that costs more than the whole limit is
    /// allowed if nothing else is counted.
    pub fn try_acquire(&self, client: Client, caller: LimitedCaller, cost: u32) -> BoxFuture<'_, LimitDecision> {
        Box::pin(async move {
            let counted = self.counted(client, caller);
            let cost = counted.iter().map(|(_, limit)| *limit).fold(cost.max(1), u32::min);
            if let Some(shared) = self.shared.as_ref().filter(|_| !counted.is_empty()) {
                match shared.try_acquire(&counted, cost).await {
                    Ok(decision) => {
                        if !decision.rejected {
                            self.note(client, caller, cost);
                        }
                        return decision;
                    }
                    Err(error) => tracing::warn!(%error, "requests are counted by this process alone"),
                }
            }
            self.try_acquire_at(client, caller, cost, self.now())
        })
    }

    /// The state of a caller's quota, without counting a request.
    pub fn peek(&self, client: Client, caller: LimitedCaller) -> BoxFuture<'_, LimitDecision> {
        Box::pin(async move {
            let counted = self.counted(client, caller);
            if let Some(shared) = self.shared.as_ref().filter(|_| !counted.is_empty())
                && let Ok(decision) = shared.peek(&counted).await
            {
                return decision;
            }
            let now = self.now();
            let quota = self.counted(client, caller).first().map(|(counted, limit)| {
                let state = |log: &mut RequestLog| log.state(*limit, 1, now);
                let state = match counted {
                    Counted::Key(id) => self.keys.peek(*id, state),
                    Counted::Anonymous(client) | Counted::KeyedClient(client) => self.anonymous.peek(*client, state),
                };
                Quota { name: counted.quota(), state }
            });
            LimitDecision::uncounted([quota, None])
        })
    }

    /// Lets other processes have what this one may still count. To be called after the last request.
    pub fn finish(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Some(shared) = &self.shared {
                shared.finish().await;
            }
        })
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

    /// Counts here what was counted by all, for the time in which they cannot be reached.
    fn note(&self, client: Client, caller: LimitedCaller, cost: u32) {
        let now = self.now();
        let record = |log: &mut RequestLog| {
            log.drop_expired(now);
            log.record(cost, now);
        };
        match caller {
            LimitedCaller::Unlimited => {}
            LimitedCaller::Anonymous => self.anonymous.with(client, now, record),
            LimitedCaller::WithKey { id, .. } => {
                self.keys.with(id, now, record);
                if self.config.keyed_client.is_some() {
                    self.keyed_clients.with(client, now, record);
                }
            }
        }
    }

    fn now(&self) -> Moment {
        // Overflows after 584 years.
        Moment(u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn try_acquire_at(&self, client: Client, caller: LimitedCaller, cost: u32, now: Moment) -> LimitDecision {
        match caller {
            LimitedCaller::Unlimited => LimitDecision::unlimited(cost),
            LimitedCaller::Anonymous => {
                let Some(limit) = self.config.anonymous else { return LimitDecision::unlimited(cost) };
                self.anonymous.with(client, now, |log| acquire_both(("anonymous", limit.get(), log), None, cost, now))
            }
            // Lock order: keys before clients.
            LimitedCaller::WithKey { id, requests_per_minute } => self.keys.with(id, now, |key_log| {
                let key = ("key", requests_per_minute, key_log);
                let Some(limit) = self.config.keyed_client else { return acquire_both(key, None, cost, now) };
                let limit = limit.get().max(requests_per_minute);
                self.keyed_clients
                    .with(client, now, |client_log| acquire_both(key, Some(("ip", limit, client_log)), cost, now))
            }),
        }
    }
}

type LocalQuota<'a> = (&'static str, u32, &'a mut RequestLog);

/// A request is counted in both logs if both allow it, and in neither otherwise.
fn acquire_both(first: LocalQuota<'_>, second: Option<LocalQuota<'_>>, cost: u32, now: Moment) -> LimitDecision {
    let mut counted = [Some(first), second];
    let allowed = counted.iter_mut().flatten().all(|(_, limit, log)| log.state(*limit, cost, now).remaining >= cost);
    let quotas = counted.map(|counted| {
        counted.map(|(name, limit, log)| {
            if allowed {
                log.record(cost, now);
            }
            // What is left for the next request, or when there will be enough for this one.
            Quota { name, state: log.state(limit, if allowed { 1 } else { cost }, now) }
        })
    });
    LimitDecision { rejected: !allowed, cost, quotas }
}

impl std::fmt::Debug for RateLimits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RateLimits").field("config", &self.config).finish_non_exhaustive()
    }
}
