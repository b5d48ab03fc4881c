use std::time::Duration;

use crate::{CompilerConfig, queue::QueueConfig};

/// Limits of verification.
#[derive(Debug, Clone)]
pub struct VerifierConfig {
    pub compilers: CompilerConfig,
    /// Scheduling of verifications.
    pub queue: QueueConfig,
    /// CPU time for all compilations of one verification.
    pub cpu_time: Duration,
    /// Time for the search for settings, once the compiler is available. Several times the CPU time: compilers have a low priority, and
    /// a source that is right is not refused because the machine is busy.
    pub search_time: Duration,
    /// Full compilations per search.
    pub search_compilations: u32,
}

impl VerifierConfig {
    #[must_use]
    pub fn new(compilers: CompilerConfig) -> Self {
        Self {
            compilers,
            queue: QueueConfig::default(),
            cpu_time: Duration::from_secs(45),
            search_time: Duration::from_secs(180),
            search_compilations: 24,
        }
    }
}
