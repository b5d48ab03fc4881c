//! Tokens that imitate others: the same symbol or name, or one that looks the same.
//!
//! Originals are sought among the tokens with the most holders. They are read together, not with each page: as long as reading them
//! took, a thousand times that passes before the next time.

mod known;
mod likeness;
mod rule;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use domain::{Address, Token};
use futures::future::BoxFuture;
use quick_cache::sync::Cache;
use store::{ChainReader, StateVersion, StoreError};

pub use self::{known::Imitated, rule::Likeness};
use self::{
    known::{KnownTokens, Named},
    likeness::Look,
};
use crate::OperatorNames;

/// The reading takes at most this part of the time.
const PAUSE_AFTER: u32 = 1_000;
const MIN_PAUSE: Duration = Duration::from_millis(300);
const MAX_PAUSE: Duration = Duration::from_secs(300);
/// Tokens beyond the known ones whose verdicts are cached.
const CACHED_TOKENS: usize = 1_000;

/// Finds out which tokens imitate others.
pub struct Imitations {
    chain: Arc<dyn ChainReader>,
    names: Arc<OperatorNames>,
    current: Mutex<Option<Arc<Current>>>,
    is_reading: AtomicBool,
}

/// The known tokens, and what was found out with them.
struct Current {
    known: KnownTokens,
    state: Option<StateVersion>,
    names: u64,
    read_at: Instant,
    pause: Duration,
    /// Of tokens that are not among the known ones.
    others: Cache<Address, Option<Arc<Imitated>>>,
}

/// Ends with the request that reads, also if that is cancelled.
struct Reading<'a>(&'a AtomicBool);

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// The tokens of a page that imitate others.
#[derive(Debug, Clone, Default)]
pub struct FoundImitations(HashMap<Address, Arc<Imitated>>);

impl FoundImitations {
    /// What a token imitates.
    #[must_use]
    pub fn find(&self, token: &Address) -> Option<&Arc<Imitated>> {
        self.0.get(token)
    }
}

impl std::fmt::Debug for Imitations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Imitations").finish_non_exhaustive()
    }
}

impl Imitations {
    #[must_use]
    pub fn new(chain: Arc<dyn ChainReader>, names: Arc<OperatorNames>) -> Self {
        Self { chain, names, current: Mutex::default(), is_reading: AtomicBool::new(false) }
    }

    /// What a token with this symbol and name imitates.
    pub fn find<'a>(
        &'a self,
        token: Address,
        symbol: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<Arc<Imitated>>, StoreError>> {
        Box::pin(async move {
            let current = self.current().await?;
            if current.known.contains(&token) {
                return Ok(current.known.find(&token).cloned());
            }
            if let Some(found) = current.others.get(&token) {
                return Ok(found);
            }
            let named = Named { address: token, symbol: Look::of(symbol), name: Look::of(name) };
            let found = match current.known.has_alike(&named) {
                true => {
                    // It has fewer holders than each of the known ones.
                    let candidate = known::candidate(&*self.chain, &self.names.labels(), named, 0).await?;
                    current.known.original_of(&candidate)
                }
                false => None,
            };
            current.others.insert(token, found.clone());
            Ok(found)
        })
    }

    /// Those of some tokens that imitate others.
    pub fn among<'a>(&'a self, tokens: Vec<&'a Token>) -> BoxFuture<'a, Result<FoundImitations, StoreError>> {
        Box::pin(async move {
            let mut found = HashMap::new();
            for token in tokens {
                let imitated = self.find(token.address, &token.metadata.symbol, &token.metadata.name).await?;
                found.extend(imitated.map(|imitated| (token.address, imitated)));
            }
            Ok(FoundImitations(found))
        })
    }

    async fn current(&self) -> Result<Arc<Current>, StoreError> {
        let (state, names) = (self.chain.state(), self.names.version());
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(current) = current {
            let is_same = state.is_some() && current.state == state;
            if current.names == names && (is_same || current.read_at.elapsed() < current.pause) {
                return Ok(current);
            }
            // One request reads them again, and meanwhile others use what is there.
            if self.is_reading.swap(true, Ordering::Acquire) {
                return Ok(current);
            }
        }
        let _reading = Reading(&self.is_reading);
        self.read(state, names).await
    }

    async fn read(&self, state: Option<StateVersion>, names: u64) -> Result<Arc<Current>, StoreError> {
        let started = Instant::now();
        let known = KnownTokens::read(&*self.chain, &self.names.labels()).await?;
        let pause = started.elapsed().saturating_mul(PAUSE_AFTER).clamp(MIN_PAUSE, MAX_PAUSE);
        let read_at = Instant::now();
        let current = Arc::new(Current { known, state, names, read_at, pause, others: Cache::new(CACHED_TOKENS) });
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&current));
        Ok(current)
    }
}
