//! Recovers from a failed write. The engine then rejects all further writes, so it is reopened when the disk accepts
//! writes again; until then, readers use the old instance.

use std::{
    fs,
    io::{self, Write},
    path::Path,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use store::StoreError;
use tracing::{error, info, warn};

use super::{
    Shared, WriteFailure,
    errors::from_io_error,
    journals,
    opened::{Opened, index_folder},
};

const MIN_BACKOFF: Duration = Duration::from_millis(250);
const MAX_BACKOFF: Duration = Duration::from_secs(30);
/// If the engine fails again within this time, it was reopened too early.
const TOO_SOON: Duration = Duration::from_secs(60);
/// Bytes that the disk must accept before the engine is reopened.
const PROBE_BYTES: usize = 4 << 20;
const PROBE_FILE: &str = "probe.tmp";
const READERS_POLL: Duration = Duration::from_millis(5);

/// Starts a thread that retries; false if the system cannot start one.
pub(super) fn begin(shared: &Arc<Shared>) -> bool {
    let weak = Arc::downgrade(shared);
    let spawned = std::thread::Builder::new().name("store-reopen".to_owned()).spawn(move || try_until_open(&weak));
    if let Err(error) = &spawned {
        warn!(%error, "cannot start a thread to reopen the index: retried with the next write");
    }
    spawned.is_ok()
}

fn try_until_open(weak: &Weak<Shared>) {
    let mut backoff = first_backoff(weak);
    loop {
        std::thread::sleep(backoff);
        backoff = (backoff * 2).min(MAX_BACKOFF);
        let Some(shared) = weak.upgrade() else { return };
        match probe(&shared.data).and_then(|()| shared.reopen()) {
            Ok(()) => {
                info!("the disk accepts writes again: the index was reopened");
                return;
            }
            Err(error) if error.is_transient() => shared.note(WriteFailure::transient(error)),
            Err(fatal) => {
                error!(error = %fatal, "cannot reopen the index");
                shared.note(WriteFailure::Fatal { found: fatal.to_string() });
                return;
            }
        }
    }
}

/// Longer if the engine was reopened recently and failed again.
fn first_backoff(weak: &Weak<Shared>) -> Duration {
    let Some(shared) = weak.upgrade() else { return MIN_BACKOFF };
    let mut commits = shared.commits();
    let too_soon = commits.reopened_at.is_some_and(|at| at.elapsed() < TOO_SOON);
    commits.backoff = if too_soon { (commits.backoff * 2).min(MAX_BACKOFF) } else { MIN_BACKOFF };
    commits.backoff
}

/// Checks that the disk accepts a few megabytes.
fn probe(data: &Path) -> Result<(), StoreError> {
    let path = data.join(PROBE_FILE);
    let written = fs::File::create(&path).and_then(|mut file| {
        file.write_all(&vec![0xa5; PROBE_BYTES])?;
        file.sync_all()
    });
    let removed = match fs::remove_file(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    };
    written.and(removed).map_err(from_io_error)
}

impl Shared {
    /// Replaces the engine by one that accepts writes. No commit can run meanwhile, since a failure is recorded.
    fn reopen(&self) -> Result<(), StoreError> {
        if let Some(old) = self.replace_opened(None) {
            // The engine releases its lock when the last reader has dropped it.
            while Arc::strong_count(&old) > 1 {
                std::thread::sleep(READERS_POLL);
            }
            drop(old);
        }
        let mut commits = self.commits();
        let index = index_folder(&self.data);
        // A commit that failed must stay failed, although parts of it may have reached the file.
        journals::rewrite_up_to(&index, commits.last)?;
        let (opened, last) = Opened::open(&self.data, &self.options)?;
        if last != commits.last {
            let found = journals::describe_cut(last, commits.last);
            return Err(StoreError::Damaged { found });
        }
        self.replace_opened(Some(Arc::new(opened)));
        commits.failure = None;
        commits.is_reopening = false;
        commits.reopened_at = Some(Instant::now());
        Ok(())
    }

    fn note(&self, failure: WriteFailure) {
        let mut commits = self.commits();
        if commits.failure.as_ref() != Some(&failure) {
            warn!(reason = failure.reason(), "cannot write to the index");
        }
        commits.failure = Some(failure);
    }
}
