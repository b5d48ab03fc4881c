//! The paths of the admin interface.

pub(crate) const METRICS: &str = "/metrics";
pub(crate) const KEYS: &str = "/keys";
pub(crate) const WEBHOOKS: &str = "/webhooks";
pub(crate) const CONTRACTS: &str = "/contracts";
pub(crate) const TOKEN: &str = "/token";
pub(crate) const BLOCKS: &str = "/blocks";
pub(crate) const LOG: &str = "/log";
pub(crate) const RELOAD: &str = "/reload";
pub(crate) const COMPACT: &str = "/compact";
pub(crate) const SNAPSHOT: &str = "/snapshot";
pub(crate) const ARCHIVE: &str = "/archive";
pub(crate) const RECORDS: &str = "/records";
