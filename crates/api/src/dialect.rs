//! Other APIs beside `/api/v1`: their routes pass through the same layers and use the same services.

use std::sync::Arc;

use admission::{FairSlots, LimitDecision, Slot, SlotBounds};
use axum::{
    Router,
    body::{Body, Bytes},
    http::{HeaderMap, header::RETRY_AFTER},
};
use client_address::Client;
use domain::Address;
use futures::future::BoxFuture;
use verification::VerifyClient;

pub use crate::layers::{DialectAdmission, DialectRules};
use crate::{error::ApiError, layers::Admission, params, wire::Problem};

/// Long bodies that may be read at a time before their sender is identified.
const LONG_BODIES: SlotBounds = SlotBounds { total: 16, per_client: 4 };

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
    bodies: Arc<FairSlots<Client>>,
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
        Self { admission, bodies: Arc::new(FairSlots::new(LONG_BODIES)) }
    }

    /// Counts the cost of a request of a caller with this key, and accepts or rejects it.
    pub fn check<'a>(&'a self, client: Client, key: Option<&'a str>, cost: u32) -> BoxFuture<'a, Entry> {
        Box::pin(async move {
            let identity = self.admission.identify(key.map(str::as_bytes)).await;
            let (caller, limits) = self.admission.decide(client, identity, cost).await;
            Entry { owner: caller.map(|caller| caller.owner()).map_err(|error| error.problem()), limits }
        })
    }

    /// Accepts a request that is not counted.
    pub fn check_uncounted(&self, client: Client) -> BoxFuture<'_, Entry> {
        Box::pin(async move { Entry { owner: Ok(None), limits: self.admission.limits.peek(client).await } })
    }

    /// Whether a request without a key would be accepted now, as far as one can tell without counting it.
    pub fn has_room(&self, client: Client) -> BoxFuture<'_, bool> {
        Box::pin(async move { self.admission.limits.peek(client).await.has_room() })
    }

    /// A slot for reading a long body, so that clients cannot fill the memory with bodies before they are identified.
    #[must_use]
    pub fn body_slot(&self, client: Client) -> Option<BodySlot> {
        self.bodies.take(client).ok().map(BodySlot)
    }
}

/// Whether a body is worth reading to its end, by its beginning.
type WorthReading<'a> = &'a (dyn Fn(&[u8]) -> bool + Sync);

/// Held while a long body is read.
pub struct BodySlot(Slot<Client>);

impl BodySlot {
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
pub fn read_body(headers: &HeaderMap, body: Body, max: usize) -> BoxFuture<'_, Result<Bytes, Problem>> {
    Box::pin(async move { params::read_body(headers, body, max).await.map_err(|error| error.problem()) })
}

/// The client of a verification, for fair scheduling.
#[must_use]
pub fn verify_client(client: Client, owner: Option<Address>) -> VerifyClient {
    VerifyClient { site: client.address(), owner }
}
