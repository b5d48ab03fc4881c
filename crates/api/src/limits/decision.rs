use super::request_log::QuotaState;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quota {
    pub(crate) name: &'static str,
    pub(crate) state: QuotaState,
}

/// Whether a request is allowed, and what is left of the caller's quotas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LimitDecision {
    pub(crate) rejected: bool,
    pub(super) quotas: [Option<Quota>; 2],
}

impl LimitDecision {
    pub(super) fn new(quotas: [Option<Quota>; 2]) -> Self {
        Self { rejected: false, quotas }
    }

    pub(crate) fn quotas(&self) -> impl Iterator<Item = &Quota> {
        self.quotas.iter().flatten()
    }
}
