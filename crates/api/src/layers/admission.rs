use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

use admission::{Area, LimitDecision, LimitedCaller, PageBudget, RateLimits};
use axum::{
    extract::{ConnectInfo, Request},
    http::{HeaderMap, HeaderName, HeaderValue},
};
use client_address::{Client, TrustedProxies};

use super::dialect_rules::{DialectAdmission, DialectRules};
use crate::{
    ApiMetrics,
    error::ApiError,
    keys::{Caller, KeyRing, KeyText},
};

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const API: &str = "/api/";

/// Authenticates the caller and enforces the rate limits.
pub(crate) struct Admission {
    pub(crate) keys: Arc<KeyRing>,
    pub(crate) limits: Arc<RateLimits>,
    pub(crate) page_budget: Arc<PageBudget>,
    pub(crate) proxies: TrustedProxies,
    pub(crate) metrics: Arc<ApiMetrics>,
}

pub(crate) enum Identity {
    Known(Caller),
    /// The key is invalid or cannot be looked up now. The request counts as anonymous.
    Unknown(ApiError),
}

/// The result of a check.
pub(super) struct Checked {
    /// Why the request is rejected.
    pub(super) rejection: Option<ApiError>,
    /// For the rate limit headers; None outside the API.
    pub(super) limits: Option<LimitDecision>,
}

impl Admission {
    /// Accepts or rejects a request to the API or to a dialect. Adds the [`Client`] and the [`Caller`] to the request's
    /// extensions.
    pub(super) async fn check(&self, request: &mut Request, dialect: Option<&DialectRules>) -> Checked {
        let scope = Scope::of(request, dialect);
        if scope == Scope::Outside {
            return Checked { rejection: None, limits: None };
        }
        let client = self.client_of(request);
        request.extensions_mut().insert(client);
        let cost = match scope {
            Scope::Outside | Scope::Handler => return Checked { rejection: None, limits: None },
            Scope::Free => return self.check_free(client).await,
            Scope::Costs(cost) => cost,
        };
        let identity = self.identify_header(request.headers()).await;
        let (caller, decision) = self.decide(client, identity, cost).await;
        match caller {
            Ok(caller) => {
                request.extensions_mut().insert(caller);
                Checked { rejection: None, limits: Some(decision) }
            }
            Err(error) => Checked { rejection: Some(error), limits: Some(decision) },
        }
    }

    async fn check_free(&self, client: Client) -> Checked {
        let rejection = self.take_page(client).err();
        Checked { rejection, limits: Some(self.peek(client).await) }
    }

    /// Documents can always be read, and jobs polled, but not without end: they count as pages.
    pub(crate) fn take_page(&self, client: Client) -> Result<(), ApiError> {
        self.page_budget.take(client, 1).map_err(|wait| ApiError::RateLimited {
            retry_after: wait.as_secs() + 1,
            reason: "too many pages, documents and polls were requested from this address".to_owned(),
            advice: "",
        })
    }

    /// Counts the cost of a request, and accepts or rejects it.
    pub(crate) async fn decide(
        &self,
        client: Client,
        identity: Identity,
        cost: u32,
    ) -> (Result<Caller, ApiError>, LimitDecision) {
        let decision = self.limits.try_acquire(client, limited_caller(&identity), cost).await;
        let caller = match (decision.retry_after(), identity) {
            (Some(retry_after), identity) => {
                self.metrics.rate_limited.count(&decision);
                Err(rate_limited(retry_after, &decision, &identity))
            }
            (None, Identity::Unknown(error)) => Err(error),
            (None, Identity::Known(caller)) => {
                if let Caller(Some(key)) = &caller {
                    self.keys.count_use(key, unix_time::millis());
                }
                Ok(caller)
            }
        };
        (caller, decision)
    }

    /// What is left of the quota of a client without a key.
    pub(crate) async fn peek(&self, client: Client) -> LimitDecision {
        self.limits.peek(client, LimitedCaller::Anonymous).await
    }

    fn client_of(&self, request: &Request) -> Client {
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
        let peer = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |ConnectInfo(peer)| peer.ip());
        self.proxies.client(peer, request.headers())
    }

    async fn identify_header(&self, headers: &HeaderMap) -> Identity {
        let mut values = headers.get_all(&API_KEY).iter();
        match (values.next(), values.next()) {
            (Some(_), Some(_)) => Identity::Unknown(ApiError::InvalidKey),
            (value, _) => self.identify(value.map(HeaderValue::as_bytes)).await,
        }
    }

    /// The caller with this key.
    pub(crate) async fn identify(&self, key: Option<&[u8]>) -> Identity {
        let Some(text) = key else { return Identity::Known(Caller::ANONYMOUS) };
        let Some(text) = KeyText::parse(text) else { return Identity::Unknown(ApiError::InvalidKey) };
        match self.keys.find(&text).await {
            Ok(Some(key)) if key.active => Identity::Known(Caller(Some(key))),
            Ok(Some(_)) => Identity::Unknown(ApiError::RevokedKey),
            Ok(None) => Identity::Unknown(ApiError::InvalidKey),
            Err(error) => Identity::Unknown(error.into()),
        }
    }
}

/// How a request is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Not a request to an API.
    Outside,
    /// Counted with its cost.
    Costs(u32),
    /// Counted as a page.
    Free,
    /// By its handler.
    Handler,
}

impl Scope {
    fn of(request: &Request, dialect: Option<&DialectRules>) -> Self {
        let path = request.uri().path();
        match dialect.map(|dialect| dialect.admission) {
            Some(DialectAdmission::Handler) => Self::Handler,
            Some(DialectAdmission::Header(area)) => area.cost(path).map_or(Self::Free, Self::Costs),
            None if !path.starts_with(API) => Self::Outside,
            None => Area::Api.cost(path).map_or(Self::Free, Self::Costs),
        }
    }
}

pub(crate) fn limited_caller(identity: &Identity) -> LimitedCaller {
    match identity {
        Identity::Known(Caller(Some(key))) if key.requests_per_minute == 0 => LimitedCaller::Unlimited,
        Identity::Known(Caller(Some(key))) => {
            LimitedCaller::WithKey { id: key.id, requests_per_minute: key.requests_per_minute }
        }
        Identity::Known(Caller(None)) | Identity::Unknown(_) => LimitedCaller::Anonymous,
    }
}

fn rate_limited(retry_after: u64, decision: &LimitDecision, identity: &Identity) -> ApiError {
    let advice = match identity {
        Identity::Known(Caller(Some(_))) => "",
        Identity::Known(Caller(None)) => ", or send an API key in X-API-Key: the limit is higher with a key",
        Identity::Unknown(_) => "; the key in X-API-Key is not valid, so the limit without a key applies",
    };
    ApiError::RateLimited { retry_after, reason: decision.explain(), advice }
}

#[cfg(test)]
mod tests;
