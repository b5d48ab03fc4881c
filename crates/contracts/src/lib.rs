//! Reading contracts: their interfaces, proxies and diamonds, calls of view functions, and decoded calls, logs and errors.
//!
//! [`calls`] calls view functions of verified contracts by their own [`Interface`] and follows proxies, [`decode`] decodes their
//! calls, logs and errors; [`standards`] those of contracts that are not verified. [`Interfaces`] finds and caches the interfaces of
//! an address.

pub mod abi;
pub mod calls;
pub mod decode;
mod delegations;
#[doc(hidden)]
#[allow(clippy::expect_used, clippy::indexing_slicing, reason = "a fuzz target panics if a property does not hold")]
pub mod fuzzing;
mod interface;
mod interfaces;
mod minimal_proxy;
mod revert;
mod standards;
mod user_operations;

pub use delegations::Delegations;
pub use interface::Interface;
pub use interfaces::{Interfaces, InterfacesParts, KnownDiamond, KnownInterface, NodeAccess};
pub use minimal_proxy::minimal_proxy_target;
pub use revert::revert_reason;
pub use standards::standards;
pub use user_operations::{
    UserOperation, UserOperationRole, has_user_operations, list_user_operations, user_operations_of,
};
