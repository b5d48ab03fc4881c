//! What requests cost, and who may send how many. `prices` is the one table of costs: the limits of the API, the budget of
//! pages, the document and the benchmark read it. `fair_slots` shares what is held for long, such as connections;
//! `fair_permits` shares work, such as a call to the node, and `turns` the processors.

mod buckets;
mod fair_permits;
mod fair_slots;
mod limits;
pub mod long_bodies;
mod page_budget;
mod prices;
mod turns;

pub use fair_permits::{FairPermits, Permit, PermitBounds, TooManyWaiting};
pub use fair_slots::{FairSlots, NoSlot, Slot, SlotBounds};
pub use limits::{
    COST, LIMIT, LimitConfig, LimitDecision, LimitedCaller, POLICY, Quota, RATE_LIMIT, REMAINING, RESET, RateLimits,
};
pub use page_budget::PageBudget;
pub use prices::{AUTHORIZATION_OUTCOMES, Area, Price, Work, prices};
pub use turns::{Turn, Turns};
