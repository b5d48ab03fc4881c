use std::{convert::Infallible, sync::Arc};

use axum::{extract::FromRequestParts, http::request::Parts};
use domain::Address;

use super::ring::KnownKey;
use crate::error::ApiError;

/// Who may read and change the keys and webhooks of an owner.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OwnerAccess {
    /// As `Open` for programs on this machine while the chain is one for development, else as `Guarded`.
    #[default]
    Auto,
    /// Callers with a key of that owner.
    Guarded,
    /// Everyone: for demos and private networks.
    Open,
}

/// Who sends a request.
#[derive(Clone)]
pub struct Caller(pub(crate) Option<Arc<KnownKey>>);

impl Caller {
    pub(crate) const ANONYMOUS: Self = Self(None);

    /// The owner of the key that was sent.
    #[must_use]
    pub fn owner(&self) -> Option<Address> {
        self.0.as_ref().map(|key| key.owner)
    }

    /// The owner of the caller's key.
    pub(crate) fn must_have_key(&self) -> Result<Address, ApiError> {
        self.owner().ok_or(ApiError::KeyRequired)
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or(Self::ANONYMOUS))
    }
}

impl std::fmt::Debug for Caller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Caller").field("owner", &self.owner()).finish()
    }
}
