use std::{convert::Infallible, sync::Arc};

use axum::{extract::FromRequestParts, http::request::Parts};
use domain::Address;

use super::KnownKey;
use crate::error::ApiError;

/// Who may see and change what belongs to an owner.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OwnerAccess {
    /// Who calls with a key of that owner.
    #[default]
    Guarded,
    /// Everybody: for demonstrations and private networks.
    Open,
}

/// Who is calling.
#[derive(Clone)]
pub(crate) enum Caller {
    Anonymous,
    WithKey(Arc<KnownKey>),
}

impl Caller {
    pub(crate) fn owner(&self) -> Option<Address> {
        match self {
            Self::Anonymous => None,
            Self::WithKey(key) => Some(key.owner),
        }
    }

    /// Refuses a caller that has no business with what belongs to this owner.
    pub(crate) fn must_be(&self, owner: Address, access: OwnerAccess) -> Result<(), ApiError> {
        match (access, self.owner()) {
            (OwnerAccess::Open, _) => Ok(()),
            (OwnerAccess::Guarded, None) => Err(ApiError::KeyRequired),
            (OwnerAccess::Guarded, Some(caller)) if caller != owner => Err(ApiError::NotOwner),
            (OwnerAccess::Guarded, Some(_)) => Ok(()),
        }
    }

    /// The owner of the key that was sent.
    pub(crate) fn must_have_key(&self) -> Result<Address, ApiError> {
        self.owner().ok_or(ApiError::KeyRequired)
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or(Self::Anonymous))
    }
}
