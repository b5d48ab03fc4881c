//! Webhooks under faults: reorgs, receivers that are down for long, owners at their limits.

mod branches;
mod egress;
mod identity;
mod limits;
mod retry_after;
