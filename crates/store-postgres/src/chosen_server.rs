//! The server that a process uses, of those that a URL names.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use crate::same_chain::Origin;

/// The server that is used, and what is known of the others.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    pub(crate) chosen: watch::Sender<Chosen>,
    /// Held while all servers are asked.
    pub(crate) choosing: tokio::sync::Mutex<()>,
    /// Servers that can be written, and are behind what this process has seen.
    outdated: Mutex<BTreeSet<usize>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Chosen {
    /// By its place in the URL.
    pub(crate) server: Option<usize>,
    pub(crate) timeline: u64,
    pub(crate) origin: Option<Origin>,
}

impl Choice {
    /// Whether a server that can be written was refused because it is behind, and is still there.
    pub(crate) fn has_old_primary(&self) -> bool {
        !self.outdated().is_empty()
    }

    pub(crate) fn outdated(&self) -> MutexGuard<'_, BTreeSet<usize>> {
        self.outdated.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
