//! What goes over the wire: the JSON bodies of the API, each the face of a domain type.

mod address;
mod api_key;
mod block;
mod health;
mod problem;
mod scalar;
mod stats;
mod time;
mod token;
mod transaction;

pub use address::{AddressDetail, Contract};
pub use api_key::{ApiKey, ApiKeyList, CreatedKey, NewKeyRequest, RevokedKey};
pub use block::{Block, BlockList};
pub use health::{BlockTip, Health, HealthStatus, Phase};
pub use problem::{Problem, ProblemCode};
pub use scalar::{Address, Decimal, Hash, Receiver, Selector};
pub use stats::Stats;
pub use time::Timestamp;
pub use token::Token;
pub use transaction::{Transaction, TransactionList};
