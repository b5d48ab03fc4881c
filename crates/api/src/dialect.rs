//! Other APIs beside `/api/v1`: their routes pass through the same layers and use the same services.

use std::sync::Arc;

use admission::{LimitDecision, Permit, Slot, TooManyWaiting, long_bodies};
use axum::{
    Router,
    body::{Body, Bytes},
    http::{HeaderMap, header::RETRY_AFTER},
};
use client_address::Client;
use domain::Address;
use futures::future::BoxFuture;
use verification::VerifyClient;

use crate::{
    error::ApiError,
    layers::{Admission, limited_caller},
    params,
    wire::Problem,
};
pub use crate::{
    layers::{DialectAdmission, DialectRules},
    params::ReadBody,
};

/// An API in another format.
#[derive(Debug)]
pub struct Dialect {
    pub routes: Router,
    pub rules: DialectRules,
}

/// Identifies and counts requests whose API key is not in `X-API-Key`.
#[derive(Clone)]
pub struct Gate {
    admission: Arc<Admission>,
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate").finish_non_exhaustive()
    }
}

/// An accepted or rejected request.
#[derive(Debug)]
pub struct Entry {
    /// The owner of the key, if one was sent; or why the request is rejected.
    pub owner: Result<Option<Address>, Problem>,
    limits: LimitDecision,
}

impl Entry {
    /// Writes the rate limit headers.
    pub fn write_headers(&self, headers: &mut HeaderMap) {
        self.limits.write_headers(headers, unix_time::now());
        if let (Some(seconds), Err(_)) = (self.limits.retry_after(), &self.owner) {
            headers.insert(RETRY_AFTER, seconds.into());
        }
    }
}

impl Gate {
    pub(crate) fn new(admission: Arc<Admission>) -> Self {
        Self { admission }
    }

    /// Counts the cost of a request of a caller with this key, and accepts or rejects it.
    pub fn check<'a>(&'a self, client: Client, key: Option<&'a str>, cost: u32) -> BoxFuture<'a, Entry> {
        Box::pin(async move {
            let identity = self.admission.identify(key.map(str::as_bytes)).await;
            let (caller, limits) = self.admission.decide(client, identity, cost).await;
            Entry { owner: caller.map(|caller| caller.owner()).map_err(|error| error.problem()), limits }
        })
    }

    /// Accepts a request that counts as a page, or rejects it.
    pub fn check_free(&self, client: Client) -> BoxFuture<'_, Entry> {
        Box::pin(async move {
            let owner = self.admission.take_page(client).map(|()| None).map_err(|error| error.problem());
            Entry { owner, limits: self.admission.peek(client).await }
        })
    }

    /// Whether a plain request of a caller with this key would be accepted now, without counting it.
    pub fn has_room<'a>(&'a self, client: Client, key: Option<&'a str>) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let identity = self.admission.identify(key.map(str::as_bytes)).await;
            self.admission.limits.peek(client, limited_caller(&identity)).await.has_room()
        })
    }

    /// Permission to call the node, of those that the API and the pages have, too.
    ///
    /// # Errors
    /// If too many calls of the client wait already.
    pub fn node_call(&self, client: Client) -> BoxFuture<'_, Result<Permit<Client>, TooManyWaiting>> {
        self.admission.page_budget.node_call_of(client)
    }
}

/// Whether a body is worth reading to its end, by its beginning.
type WorthReading<'a> = &'a (dyn Fn(&[u8]) -> bool + Sync);

/// Held until a long body is parsed.
pub struct BodySlot(Slot<Client>);

impl BodySlot {
    /// A slot for reading a long body, so that clients cannot fill the memory with bodies before they are identified.
    #[must_use]
    pub fn take(client: Client) -> Option<Self> {
        long_bodies::take_slot(client).ok().map(Self)
    }

    /// Reads a complete body, unless it is too long or too slow, or another client needs the slot. None if its first `checked`
    /// bytes say that it is not worth it.
    pub fn read_body_if<'a>(
        &'a self,
        headers: &'a HeaderMap,
        body: Body,
        max: usize,
        checked: usize,
        is_worth_reading: WorthReading<'a>,
    ) -> BoxFuture<'a, Result<Option<Bytes>, Problem>> {
        Box::pin(async move {
            tokio::select! {
                body = params::read_body_if(headers, body, max, checked, is_worth_reading) => {
                    body.map_err(|error| error.problem())
                }
                () = self.0.evicted() => Err(ApiError::BodyTooSlow.problem()),
            }
        })
    }
}

impl std::fmt::Debug for BodySlot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BodySlot").finish_non_exhaustive()
    }
}

/// Reads a complete body, unless it is too long or too slow.
pub fn read_body(
    client: Client,
    headers: &HeaderMap,
    body: Body,
    max: usize,
) -> BoxFuture<'_, Result<ReadBody, Problem>> {
    Box::pin(async move { ReadBody::of(client, headers, body, max).await.map_err(|error| error.problem()) })
}

/// The client of a verification, for fair scheduling.
#[must_use]
pub fn verify_client(client: Client, owner: Option<Address>) -> VerifyClient {
    VerifyClient { network: client.address(), owner }
}
