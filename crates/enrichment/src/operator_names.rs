use std::sync::{
    Arc, PoisonError, RwLock,
    atomic::{AtomicU64, Ordering},
};

use crate::{Dexes, Labels};

/// The operator's names, which can be replaced while the service runs.
#[derive(Debug, Default)]
pub struct OperatorNames {
    current: RwLock<(Arc<Labels>, Arc<Dexes>)>,
    version: AtomicU64,
}

impl OperatorNames {
    #[must_use]
    pub fn new(labels: Labels, dexes: Dexes) -> Self {
        Self { current: RwLock::new((Arc::new(labels), Arc::new(dexes))), version: AtomicU64::new(0) }
    }

    #[must_use]
    pub fn labels(&self) -> Arc<Labels> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner).0)
    }

    #[must_use]
    pub fn dexes(&self) -> Arc<Dexes> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner).1)
    }

    /// Replaces both.
    pub fn replace(&self, labels: Arc<Labels>, dexes: Arc<Dexes>) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = (labels, dexes);
        // After the change: what is rendered from older names has an older version.
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Grows with every replacement.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }
}
