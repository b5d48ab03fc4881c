use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use domain::DayFigures;
use store::{ChainReader, StoreError};

/// The figures that were read last, by the number of days.
pub(crate) struct RecentDays {
    chain: Arc<dyn ChainReader>,
    read: Mutex<Vec<ReadDays>>,
}

#[derive(Debug)]
struct ReadDays {
    days: u32,
    read_at: Instant,
    figures: Arc<[DayFigures]>,
}

impl RecentDays {
    pub(crate) fn new(chain: Arc<dyn ChainReader>) -> Self {
        Self { chain, read: Mutex::default() }
    }

    /// `is_fresh` says whether figures that were read at some time may still be shown.
    pub(crate) async fn list(
        &self,
        days: u32,
        is_fresh: impl Fn(Instant) -> bool,
    ) -> Result<Arc<[DayFigures]>, StoreError> {
        let find = || {
            let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
            let recent = read.iter().find(|read| read.days == days && is_fresh(read.read_at));
            recent.map(|recent| Arc::clone(&recent.figures))
        };
        if let Some(figures) = find() {
            return Ok(figures);
        }
        let figures: Arc<[DayFigures]> = self.chain.list_days(days).await?.into();
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.retain(|read| read.days != days);
        read.push(ReadDays { days, read_at: Instant::now(), figures: Arc::clone(&figures) });
        Ok(figures)
    }
}
