use store::StoreError;
use tokio_postgres::error::SqlState;

use crate::old_server::OldServer;

/// Why a database cannot be used. The messages contain no password.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("invalid database URL: {0}")]
    InvalidUrl(String),
    #[error("cannot connect with TLS: {0}")]
    Tls(String),
    #[error("the server refuses the user or the password: {0}")]
    Refused(String),
    #[error("the server has no such database: {0}")]
    NoDatabase(String),
    #[error("the user lacks rights: {0}")]
    MissingRights(String),
    #[error("{0}")]
    OldServer(String),
    #[error(transparent)]
    Store(StoreError),
}

impl From<StoreError> for OpenError {
    fn from(error: StoreError) -> Self {
        let StoreError::Backend(cause) = &error else { return Self::Store(error) };
        if let Some(old) = cause.downcast_ref::<OldServer>() {
            return Self::OldServer(old.to_string());
        }
        let Some(cause) = cause.downcast_ref::<tokio_postgres::Error>() else { return Self::Store(error) };
        let Some(reported) = cause.as_db_error() else {
            // Neither the server nor the network: the URL cannot be parsed, or asks for what this client cannot do.
            let detail = std::error::Error::source(cause).map(ToString::to_string);
            return Self::InvalidUrl(detail.unwrap_or_else(|| cause.to_string()));
        };
        let message = reported.message().to_owned();
        match reported.code() {
            code if code.code().starts_with("28") => Self::Refused(message),
            &SqlState::INVALID_CATALOG_NAME => Self::NoDatabase(message),
            &SqlState::INSUFFICIENT_PRIVILEGE => Self::MissingRights(message),
            _ => Self::Store(error),
        }
    }
}
