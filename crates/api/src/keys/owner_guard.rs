use std::{convert::Infallible, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    extract::{ConnectInfo, FromRequestParts},
    http::request::Parts,
};
use domain::Address;

use super::access::{Caller, OwnerAccess};
use crate::{error::ApiError, state::ApiState};

/// Timeout for the node to report whether the chain is one for development, which is requested once.
const NODE_TIMEOUT: Duration = Duration::from_secs(1);

/// Decides whether the caller may read and change what belongs to an owner.
#[derive(Debug)]
pub(crate) struct OwnerGuard {
    pub(crate) caller: Caller,
    /// Whether no key is needed.
    pub(crate) is_open: bool,
}

impl OwnerGuard {
    /// Rejects callers that may not act for this owner.
    pub(crate) fn must_be(&self, owner: Address) -> Result<(), ApiError> {
        match self.caller.owner() {
            _ if self.is_open => Ok(()),
            None => Err(ApiError::KeyRequired),
            Some(caller) if caller != owner => Err(ApiError::NotOwner),
            Some(_) => Ok(()),
        }
    }

    /// Rejects callers without a key if they need one.
    pub(crate) fn must_be_known(&self) -> Result<(), ApiError> {
        if self.is_open { Ok(()) } else { self.caller.must_have_key().map(|_| ()) }
    }

    /// Whether what belongs to this owner is hidden from the caller. A key names its owner, also where none is needed.
    pub(crate) fn hides(&self, owner: Address) -> bool {
        self.caller.owner().is_some_and(|caller| caller != owner)
    }
}

impl FromRequestParts<Arc<ApiState>> for OwnerGuard {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<ApiState>) -> Result<Self, Infallible> {
        let caller = Caller::from_request_parts(parts, app).await?;
        let is_open = match app.access {
            OwnerAccess::Open => true,
            OwnerAccess::Guarded => false,
            OwnerAccess::Auto => caller.owner().is_none() && is_local(parts) && is_on_dev_chain(app).await,
        };
        Ok(Self { caller, is_open })
    }
}

fn is_local(parts: &Parts) -> bool {
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
    peer.is_some_and(|ConnectInfo(peer)| client_address::is_local(peer.ip(), parts))
}

/// No, if the node does not tell.
async fn is_on_dev_chain(app: &ApiState) -> bool {
    matches!(tokio::time::timeout(NODE_TIMEOUT, app.node.is_dev_chain()).await, Ok(Ok(true)))
}
