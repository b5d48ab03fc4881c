//! Goes on after a write has failed. The engine then refuses all further ones, so it is opened again once the disk takes
//! writes: readers have the old one until then.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use store::StoreError;
use tracing::{error, info, warn};

use super::failure::of_io;
use super::opened::{Opened, index_folder};
use super::{Shared, Trouble, journals};

const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// An engine that failed again this soon was opened too early.
const TOO_SOON: Duration = Duration::from_secs(60);
/// The disk has to take this much before the engine is opened again.
const PROBE_BYTES: usize = 4 << 20;
const PROBE_FILE: &str = "probe.tmp";
const READERS_POLL: Duration = Duration::from_millis(5);

/// Starts to try again, beside everything else; false where the system has no thread for it.
pub(super) fn begin(shared: &Arc<Shared>) -> bool {
    let weak = Arc::downgrade(shared);
    let spawned = std::thread::Builder::new().name("store-reopen".to_owned()).spawn(move || try_until_open(&weak));
    if let Err(error) = &spawned {
        warn!(%error, "no thread to open the index again: tried with the next write");
    }
    spawned.is_ok()
}

fn try_until_open(weak: &Weak<Shared>) {
    let mut pause = first_pause(weak);
    loop {
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
        let Some(shared) = weak.upgrade() else { return };
        match probe(&shared.data).and_then(|()| shared.reopen()) {
            Ok(()) => {
                info!("the disk takes writes again: the index was opened again");
                return;
            }
            Err(error) if error.is_transient() => shared.note(Trouble::passing(error)),
            Err(broken) => {
                error!(error = %broken, "the index cannot be opened again");
                shared.note(Trouble::Broken { found: broken.to_string() });
                return;
            }
        }
    }
}

/// Longer where the engine was opened a moment ago and failed again.
fn first_pause(weak: &Weak<Shared>) -> Duration {
    let Some(shared) = weak.upgrade() else { return FIRST_PAUSE };
    let mut commits = shared.commits();
    let too_soon = commits.reopened_at.is_some_and(|at| at.elapsed() < TOO_SOON);
    commits.pause = if too_soon { (commits.pause * 2).min(LONGEST_PAUSE) } else { FIRST_PAUSE };
    commits.pause
}

/// Whether the disk takes a few megabytes.
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
    written.and(removed).map_err(of_io)
}

impl Shared {
    /// Exchanges the engine for one that writes. Nobody commits meanwhile: a trouble is noted.
    fn reopen(&self) -> Result<(), StoreError> {
        if let Some(old) = self.exchange(None) {
            // The engine's lock is free once all who still read have ended.
            while Arc::strong_count(&old) > 1 {
                std::thread::sleep(READERS_POLL);
            }
            drop(old);
        }
        let mut commits = self.commits();
        let index = index_folder(&self.data);
        // What failed stays failed, though some of it may have reached the file.
        journals::rewrite_up_to(&index, commits.last)?;
        let (opened, last) = Opened::open(&self.data, &self.options)?;
        if last != commits.last {
            let found = journals::describe_cut(last, commits.last);
            return Err(StoreError::Damaged { found });
        }
        self.exchange(Some(Arc::new(opened)));
        commits.trouble = None;
        commits.is_reopening = false;
        commits.reopened_at = Some(Instant::now());
        Ok(())
    }

    fn note(&self, trouble: Trouble) {
        let mut commits = self.commits();
        if commits.trouble.as_ref() != Some(&trouble) {
            warn!(reason = trouble.reason(), "the index cannot be written");
        }
        commits.trouble = Some(trouble);
    }
}
