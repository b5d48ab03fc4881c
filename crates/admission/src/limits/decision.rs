use std::fmt::Write as _;

use super::request_log::QuotaState;

/// What is left of one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    pub name: &'static str,
    pub(super) state: QuotaState,
}

/// Whether a request is allowed, and what is left of the caller's quotas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitDecision {
    pub rejected: bool,
    /// What the request costs; 0 if it is not counted.
    pub cost: u32,
    pub(super) quotas: [Option<Quota>; 2],
}

impl Quota {
    /// Whether there was not enough left for a request.
    fn lacks(&self, cost: u32) -> bool {
        self.state.remaining < cost
    }

    /// Whom it limits.
    fn subject(&self) -> &'static str {
        match self.name {
            "key" => "of this API key",
            "ip" => "that the operator allows one IP address over all its keys",
            _ => "of one IP address without a key",
        }
    }
}

impl LimitDecision {
    pub(super) fn unlimited(cost: u32) -> Self {
        Self { rejected: false, cost, quotas: [None, None] }
    }

    pub(super) fn uncounted(quotas: [Option<Quota>; 2]) -> Self {
        Self { rejected: false, cost: 0, quotas }
    }

    pub fn quotas(&self) -> impl Iterator<Item = &Quota> {
        self.quotas.iter().flatten()
    }

    /// The same for a request that has paid for something else before.
    #[must_use]
    pub fn after(self, paid: u32) -> Self {
        Self { cost: self.cost.saturating_add(paid), ..self }
    }

    /// Whether anything is left.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.quotas().all(|quota| quota.state.remaining > 0)
    }

    /// The limits that reject the request.
    pub fn exceeded(&self) -> impl Iterator<Item = &Quota> {
        self.quotas().filter(|quota| self.rejected && quota.lacks(self.cost))
    }

    /// What a rejected request costs, and which limit has too little left for it.
    #[must_use]
    pub fn explain(&self) -> String {
        let mut text = format!("this request costs {}", self.cost);
        for (index, quota) in self.exceeded().enumerate() {
            let joined = if index == 0 { ", but" } else { ", and" };
            let QuotaState { limit, remaining, .. } = quota.state;
            // Writing to a string cannot fail.
            let _ = write!(text, "{joined} {remaining} are left of the {limit} in a minute {}", quota.subject());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_rejection_names_the_cost_and_the_limit() {
        let quota = |name, limit, remaining| {
            Some(Quota { name, state: QuotaState { limit, remaining, until_more: Duration::ZERO } })
        };
        let decision = |cost, quotas: [Option<Quota>; 2]| LimitDecision { rejected: true, cost, quotas }.explain();
        assert_eq!(
            decision(10, [quota("anonymous", 10, 4), None]),
            "this request costs 10, but 4 are left of the 10 in a minute of one IP address without a key"
        );
        assert_eq!(
            decision(1, [quota("key", 100, 50), quota("ip", 600, 0)]),
            "this request costs 1, but 0 are left of the 600 in a minute that the operator allows one IP address over all its keys"
        );
    }
}
