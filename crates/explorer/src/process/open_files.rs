//! Limits on open files and sockets, and how they are divided. Shells and services often set a soft limit of about a
//! thousand, which the process can raise.

/// Enough for all parts, which have their own limits.
const WANTED: u64 = 16_384;
/// Files of the store: cached tables and tables being written. Indexing stops if a table cannot be opened, so these are
/// reserved.
const STORE: u64 = 1_024;
/// Standard streams, listeners, the runtime, the node's connections, compilers.
const PROCESS: u64 = 128;

/// File descriptors reserved for the store: at most half of the limit.
pub(crate) fn store_share() -> usize {
    usize::try_from(store_share_of(raise_limit())).unwrap_or(usize::MAX)
}

/// File descriptors left for the sockets of clients and webhook receivers together.
pub(crate) fn socket_share() -> usize {
    usize::try_from(socket_share_of(raise_limit())).unwrap_or(usize::MAX)
}

fn store_share_of(limit: u64) -> u64 {
    STORE.min(limit / 2)
}

fn socket_share_of(limit: u64) -> u64 {
    limit.saturating_sub(store_share_of(limit)).saturating_sub(PROCESS.min(limit / 4))
}

/// Maximum client connections: half of all descriptors. The other half is reserved for the store, webhook receivers, the
/// node and compilers.
pub(crate) fn for_connections() -> usize {
    usize::try_from(raise_limit() / 2).unwrap_or(usize::MAX)
}

/// Raises the limit on open files as far as possible and returns it.
#[cfg(unix)]
pub(crate) fn raise_limit() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let target_limit = target_limit(current, maximum);
    if current.is_none_or(|current| current >= target_limit) {
        return current.unwrap_or(u64::MAX);
    }
    match setrlimit(Resource::Nofile, Rlimit { current: Some(target_limit), maximum }) {
        Ok(()) => target_limit,
        Err(_) => current.unwrap_or(target_limit),
    }
}

#[cfg(not(unix))]
pub(crate) fn raise_limit() -> u64 {
    WANTED
}

#[cfg(unix)]
fn target_limit(current: Option<u64>, maximum: Option<u64>) -> u64 {
    WANTED.max(current.unwrap_or(WANTED)).min(maximum.unwrap_or(u64::MAX))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_raised_up_to_the_maximum_and_never_lowered() {
        assert_eq!(target_limit(Some(1_024), Some(524_288)), 16_384);
        assert_eq!(target_limit(Some(1_024), Some(4_096)), 4_096);
        assert_eq!(target_limit(Some(20_000), Some(20_000)), 20_000);
        assert_eq!(target_limit(Some(1_024), None), 16_384);
        let raised = raise_limit();
        assert_eq!(raise_limit(), raised);
    }

    #[test]
    fn the_store_keeps_its_share_of_descriptors() {
        for limit in [64, 256, 1_024, 4_096, 16_384, u64::MAX] {
            let (store, sockets) = (store_share_of(limit), socket_share_of(limit));
            assert!(store + sockets < limit && sockets > 0, "{store} and {sockets} of {limit}");
        }
        assert_eq!((store_share_of(16_384), socket_share_of(16_384)), (1_024, 15_232));
        assert_eq!(store_share_of(256), 128);
    }
}
