//! Other APIs beside `/api/v1`: their routes pass through the same layers and use the same services.

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, Bytes},
    http::{HeaderMap, Method, header::RETRY_AFTER},
    response::Response,
};
use client_address::Client;
use contracts::calls::ContractCalls;
use domain::Address;
use enrichment::Accounts;
use futures::future::BoxFuture;
use node::NodeClient;
use store::{ChainReader, VerifiedContracts};
use verification::{KnownContracts, VerificationJobs, VerifyClient};

use crate::{
    clock::unix_now,
    error::ApiError,
    layers::Admission,
    limits::{FairSlots, LimitDecision, Slot, SlotBounds},
    params,
    wire::Problem,
};

/// Long bodies that may be read at a time before their sender is admitted.
const LONG_BODIES: SlotBounds = SlotBounds { total: 16, per_client: 4 };

/// An API in another format.
#[derive(Debug)]
pub struct Dialect {
    pub routes: Router,
    pub rules: DialectRules,
}

/// How the layers treat the requests of a dialect.
#[derive(Debug, Clone, Copy)]
pub struct DialectRules {
    /// Whether a path belongs to the dialect.
    pub owns: fn(&str) -> bool,
    pub admission: DialectAdmission,
    /// Writes an error in the format of the dialect.
    pub write_problem: fn(&Problem) -> Response,
}

/// How the requests of a dialect are admitted.
#[derive(Debug, Clone, Copy)]
pub enum DialectAdmission {
    /// As those of the API, except that some are not counted.
    Header { is_unlimited: fn(&Method, &str) -> bool },
    /// The handler calls [`Gate::admit`]: the key may be in the body.
    Handler,
}

impl DialectRules {
    /// The response in the format of the dialect, if it is an error of a layer.
    pub(crate) fn translate(&self, mut response: Response) -> Response {
        let Some(problem) = response.extensions_mut().remove::<Problem>() else { return response };
        let retry_after = response.headers_mut().remove(RETRY_AFTER);
        let mut translated = (self.write_problem)(&problem);
        if let Some(retry_after) = retry_after {
            translated.headers_mut().insert(RETRY_AFTER, retry_after);
        }
        translated
    }
}

/// The services behind the API, for dialects.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "traits without Debug")]
pub struct Services {
    pub chain: Arc<dyn ChainReader>,
    pub accounts: Arc<Accounts>,
    pub verified: Arc<dyn VerifiedContracts>,
    pub known: Arc<KnownContracts>,
    pub calls: Arc<ContractCalls>,
    pub jobs: VerificationJobs,
    pub node: NodeClient,
    pub gate: Gate,
}

/// Admits requests whose API key is not in `X-API-Key`.
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

/// An admitted or rejected request.
#[derive(Debug)]
pub struct Entry {
    /// The owner of the key, if one was sent; or why the request is rejected.
    pub owner: Result<Option<Address>, Problem>,
    limits: LimitDecision,
}

impl Entry {
    /// Writes the rate limit headers.
    pub fn write_headers(&self, headers: &mut HeaderMap) {
        self.limits.write_headers(headers, unix_now());
        if let (Some(seconds), Err(_)) = (self.limits.retry_after(), &self.owner) {
            headers.insert(RETRY_AFTER, seconds.into());
        }
    }
}

impl Gate {
    pub(crate) fn new(admission: Arc<Admission>) -> Self {
        Self { admission, bodies: Arc::new(FairSlots::new(LONG_BODIES)) }
    }

    /// Counts a request of a caller with this key, and admits or rejects it.
    pub fn admit<'a>(&'a self, client: Client, key: Option<&'a str>) -> BoxFuture<'a, Entry> {
        Box::pin(async move {
            let identity = self.admission.identify(key.map(str::as_bytes)).await;
            let (caller, limits) = self.admission.decide(client, identity).await;
            Entry { owner: caller.map(|caller| caller.owner()).map_err(|error| error.problem()), limits }
        })
    }

    /// Admits a request that is not counted.
    pub fn admit_unlimited(&self, client: Client) -> BoxFuture<'_, Entry> {
        Box::pin(async move { Entry { owner: Ok(None), limits: self.admission.limits.peek(client).await } })
    }

    /// A slot for reading a long body, so that clients cannot fill the memory with bodies before they are admitted.
    #[must_use]
    pub fn body_slot(&self, client: Client) -> Option<BodySlot> {
        self.bodies.take(client).ok().map(BodySlot)
    }
}

/// Held while a long body is read.
pub struct BodySlot(Slot<Client>);

impl BodySlot {
    /// Reads a complete body, unless it is too long or too slow, or another client needs the slot.
    pub fn read_body<'a>(
        &'a self,
        headers: &'a HeaderMap,
        body: Body,
        max: usize,
    ) -> BoxFuture<'a, Result<Bytes, Problem>> {
        Box::pin(async move {
            tokio::select! {
                body = read_body(headers, body, max) => body,
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
