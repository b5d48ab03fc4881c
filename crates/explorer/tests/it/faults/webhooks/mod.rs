//! Webhooks under faults: chains that change their mind, receivers that are down for long, owners who ask for too much.

mod branches;
mod egress;
mod identity;
mod limits;
mod retry_after;
mod tasks;
