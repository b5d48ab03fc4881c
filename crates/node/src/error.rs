use std::time::Duration;

use domain::ChainIdentity;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why the node did not tell what was asked. No variant carries an endpoint's secrets.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    #[error("no endpoint of a node is configured")]
    NoEndpoint,
    #[error("the client for {endpoint} cannot be set up")]
    Setup { endpoint: String, source: BoxError },
    #[error("{endpoint} cannot be reached")]
    Unreachable { endpoint: String, source: BoxError },
    #[error("{endpoint} did not answer {method} within {timeout:?}")]
    TimedOut { endpoint: String, method: &'static str, timeout: Duration },
    #[error("{endpoint} answered {method} with HTTP status {status}")]
    HttpStatus { endpoint: String, method: &'static str, status: u16 },
    #[error("{endpoint} wants fewer requests, it said to {method}: {message}")]
    Limited { endpoint: String, method: &'static str, message: String },
    #[error("the node refused {method}: {message} (code {code})")]
    Rpc { method: &'static str, code: i64, message: String },
    #[error("the node's answer to {method} is not to be believed: {what}")]
    BadAnswer { method: &'static str, what: String },
    #[error("{endpoint} serves another chain: expected {expected:?}, found {found:?}")]
    WrongChain { endpoint: String, expected: ChainIdentity, found: ChainIdentity },
}
