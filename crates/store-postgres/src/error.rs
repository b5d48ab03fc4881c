//! Errors of the client as errors of the store.

use deadpool::managed::PoolError;
use store::StoreError;
use tokio_postgres::{Error, error::SqlState};

/// An error that may be gone after a while is reported as such: a lost connection, a server that is starting or stopping, a
/// full disk, a standby that has not been promoted.
pub(crate) fn store_error(error: Error) -> StoreError {
    let is_transient = match error.code() {
        Some(code) => is_transient(code),
        // The server did not answer.
        None => error.is_closed() || is_io(&error),
    };
    if is_transient { StoreError::Unavailable { reason: describe(&error) } } else { StoreError::Backend(error.into()) }
}

pub(crate) fn pool_error(error: PoolError<StoreError>) -> StoreError {
    match error {
        PoolError::Backend(error) => error,
        PoolError::Timeout(_) => StoreError::Unavailable { reason: "no free connection to the database".to_owned() },
        other => StoreError::Backend(other.into()),
    }
}

fn is_transient(code: &SqlState) -> bool {
    // Classes: connection, transaction rollback, resources, operator intervention.
    ["08", "40", "53", "57"].iter().any(|class| code.code().starts_with(class))
        || [
            SqlState::LOCK_NOT_AVAILABLE,
            SqlState::READ_ONLY_SQL_TRANSACTION,
            SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        ]
        .contains(code)
}

/// Whether the handshake failed: the certificate is not trusted, or the server has none.
pub(crate) fn is_tls(error: &Error) -> bool {
    // The client library does not tell the kind of an error in another way.
    error.to_string().starts_with("error performing TLS handshake")
}

fn is_io(error: &Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        if cause.is::<std::io::Error>() {
            return true;
        }
        source = cause.source();
    }
    false
}

pub(crate) fn describe(error: &Error) -> String {
    match error.as_db_error() {
        Some(reported) => format!("the database says: {}", reported.message()),
        None => {
            let mut text = error.to_string();
            let mut source = std::error::Error::source(error);
            while let Some(cause) = source {
                text = format!("{text}: {cause}");
                source = cause.source();
            }
            text
        }
    }
}
