use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use domain::DayFigures;
use store::{ChainReader, StoreError};

/// The figures that were read last, by the number of days.
pub(crate) struct RecentDays {
    chain: Arc<dyn ChainReader>,
    cached: Mutex<Vec<CachedDays>>,
}

#[derive(Debug)]
struct CachedDays {
    days: u32,
    read_at: Instant,
    figures: Arc<[DayFigures]>,
}

impl RecentDays {
    pub(crate) fn new(chain: Arc<dyn ChainReader>) -> Self {
        Self { chain, cached: Mutex::default() }
    }

    /// `is_fresh` says whether figures that were read at some time may still be shown.
    pub(crate) async fn list(
        &self,
        days: u32,
        is_fresh: impl Fn(Instant) -> bool,
    ) -> Result<Arc<[DayFigures]>, StoreError> {
        let find = || {
            let cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
            let recent = cached.iter().find(|cached| cached.days == days && is_fresh(cached.read_at));
            recent.map(|recent| Arc::clone(&recent.figures))
        };
        if let Some(figures) = find() {
            return Ok(figures);
        }
        let figures: Arc<[DayFigures]> = self.chain.list_days(days).await?.into();
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        cached.retain(|cached| cached.days != days);
        cached.push(CachedDays { days, read_at: Instant::now(), figures: Arc::clone(&figures) });
        Ok(figures)
    }
}
