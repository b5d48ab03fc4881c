//! How often one may ask: at most N requests in any 60 seconds, for each key and for each client without one, and at
//! most so many for each client over all the keys it uses.

mod buckets;
mod client;
mod fair_slots;
mod headers;
#[cfg(test)]
mod oracle;
mod pass_log;
mod windows;

use std::{num::NonZeroU32, time::Instant};

use domain::ApiKeyId;

pub use buckets::{BucketRate, Buckets};
pub use client::{Client, TrustedProxies};
pub(crate) use fair_slots::{FairSlots, NoSlot, Slot, SlotBounds};
pub(crate) use headers::{LIMIT, POLICY, RATE_LIMIT, REMAINING, RESET};
use pass_log::{Moment, PassLog, Standing};
use windows::{Bounds, Windows};

/// Enough for a busy public service; some 30 MB when all of them are at their limit.
const BOUNDS: Bounds = Bounds { own: 1 << 17, shared: 1 << 12 };

/// How often may be asked; None: as often as one likes.
#[derive(Debug, Clone, Copy)]
pub struct LimitConfig {
    /// For each client without a key.
    pub anonymous: Option<NonZeroU32>,
    /// For each client over all its keys. A key that is allowed more counts for itself.
    pub keyed_client: Option<NonZeroU32>,
}

impl Default for LimitConfig {
    fn default() -> Self {
        Self { anonymous: NonZeroU32::new(10), keyed_client: NonZeroU32::new(600) }
    }
}

/// Who is asking, as far as limits are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asking {
    Anonymous,
    WithKey { id: ApiKeyId, requests_per_minute: u32 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quota {
    pub(crate) name: &'static str,
    pub(crate) standing: Standing,
}

/// Whether a request may pass, and how the caller stands after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) refused: bool,
    quotas: [Option<Quota>; 2],
}

impl Verdict {
    fn new(quotas: [Option<Quota>; 2]) -> Self {
        Self { refused: false, quotas }
    }

    pub(crate) fn quotas(&self) -> impl Iterator<Item = &Quota> {
        self.quotas.iter().flatten()
    }
}

pub(crate) struct RateLimits {
    config: LimitConfig,
    began: Instant,
    anonymous: Windows<Client>,
    keys: Windows<ApiKeyId>,
    keyed_clients: Windows<Client>,
}

impl RateLimits {
    pub(crate) fn new(config: LimitConfig) -> Self {
        Self::bounded(config, BOUNDS)
    }

    fn bounded(config: LimitConfig, bounds: Bounds) -> Self {
        Self {
            config,
            began: Instant::now(),
            anonymous: Windows::new(bounds),
            keys: Windows::new(bounds),
            keyed_clients: Windows::new(bounds),
        }
    }

    /// Lets a request pass and counts it, or refuses it and does not.
    pub(crate) fn draw(&self, client: Client, asking: Asking) -> Verdict {
        self.draw_at(client, asking, self.now())
    }

    /// How a caller stands, without counting anything.
    pub(crate) fn look(&self, client: Client) -> Verdict {
        let now = self.now();
        let standing = |limit: NonZeroU32| self.anonymous.peek(client, |log| log.standing(limit.get(), now));
        Verdict::new([self.config.anonymous.map(|limit| Quota { name: "anonymous", standing: standing(limit) }), None])
    }

    fn now(&self) -> Moment {
        // Five hundred years fit.
        Moment(u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn draw_at(&self, client: Client, asking: Asking, now: Moment) -> Verdict {
        match asking {
            Asking::Anonymous => {
                let Some(limit) = self.config.anonymous else { return Verdict::new([None, None]) };
                self.anonymous.with(client, now, |log| draw_both(("anonymous", limit.get(), log), None, now))
            }
            // Keys are locked before clients, always.
            Asking::WithKey { id, requests_per_minute } => self.keys.with(id, now, |of_key| {
                let key = ("key", requests_per_minute, of_key);
                let Some(ceiling) = self.config.keyed_client else { return draw_both(key, None, now) };
                let ceiling = ceiling.get().max(requests_per_minute);
                self.keyed_clients.with(client, now, |of_client| draw_both(key, Some(("ip", ceiling, of_client)), now))
            }),
        }
    }
}

type Counted<'a> = (&'static str, u32, &'a mut PassLog);

/// A request that both let pass counts in both; one that either refuses counts in neither.
fn draw_both(first: Counted<'_>, second: Option<Counted<'_>>, now: Moment) -> Verdict {
    let mut counted = [Some(first), second];
    let free = counted.iter_mut().flatten().all(|(_, limit, log)| log.standing(*limit, now).remaining > 0);
    let quotas = counted.map(|counted| {
        counted.map(|(name, limit, log)| {
            if free {
                log.record(now);
            }
            Quota { name, standing: log.standing(limit, now) }
        })
    });
    Verdict { refused: !free, quotas }
}
