use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

use axum::{
    extract::{ConnectInfo, Request},
    http::{HeaderMap, HeaderName},
};
use clients::{Client, TrustedProxies};

use crate::{
    clock::unix_millis_now,
    error::ApiError,
    keys::{Caller, KeyRing, KeyText},
    limits::{LimitDecision, LimitedCaller, RateLimits},
};

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const API: &str = "/api/";
/// Not rate limited: the API's description must always be readable, and streams have their own limit.
const UNLIMITED: [&str; 2] = ["/api/v1/openapi.json", "/api/v1/stream"];

/// Authenticates the caller and enforces the rate limits.
pub(crate) struct Admission {
    pub(crate) keys: Arc<KeyRing>,
    pub(crate) limits: RateLimits,
    pub(crate) proxies: TrustedProxies,
}

enum Identity {
    Known(Caller),
    /// The key is invalid or cannot be looked up now. The request counts as anonymous.
    Unknown(ApiError),
}

/// The result of admission.
pub(super) struct Admitted {
    /// Why the request is rejected.
    pub(super) rejection: Option<ApiError>,
    /// For the rate limit headers; None outside the API.
    pub(super) limits: Option<LimitDecision>,
}

impl Admission {
    /// Admits or rejects a request to the API. Adds the [`Client`] and the [`Caller`] to the request's extensions.
    pub(super) async fn admit(&self, request: &mut Request) -> Admitted {
        if !request.uri().path().starts_with(API) {
            return Admitted { rejection: None, limits: None };
        }
        let client = self.client_of(request);
        request.extensions_mut().insert(client);
        if UNLIMITED.contains(&request.uri().path()) {
            return Admitted { rejection: None, limits: Some(self.limits.peek(client)) };
        }
        let identity = self.identify(request.headers()).await;
        let decision = self.limits.try_acquire(client, limited_caller(&identity));
        let rejection = match (decision.retry_after(), identity) {
            (Some(retry_after), identity) => Some(rate_limited(retry_after, &identity)),
            (None, Identity::Unknown(error)) => Some(error),
            (None, Identity::Known(caller)) => {
                if let Caller::WithKey(key) = &caller {
                    self.keys.count_use(key, unix_millis_now());
                }
                request.extensions_mut().insert(caller);
                None
            }
        };
        Admitted { rejection, limits: Some(decision) }
    }

    fn client_of(&self, request: &Request) -> Client {
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
        let peer = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |ConnectInfo(peer)| peer.ip());
        self.proxies.client(peer, request.headers())
    }

    async fn identify(&self, headers: &HeaderMap) -> Identity {
        let mut values = headers.get_all(&API_KEY).iter();
        let text = match (values.next(), values.next()) {
            (None, _) => return Identity::Known(Caller::Anonymous),
            (Some(value), None) => KeyText::parse(value.as_bytes()),
            (Some(_), Some(_)) => None,
        };
        let Some(text) = text else { return Identity::Unknown(ApiError::InvalidKey) };
        match self.keys.find(&text).await {
            Ok(Some(key)) if key.active => Identity::Known(Caller::WithKey(key)),
            Ok(Some(_)) => Identity::Unknown(ApiError::RevokedKey),
            Ok(None) => Identity::Unknown(ApiError::InvalidKey),
            Err(error) => Identity::Unknown(error.into()),
        }
    }
}

fn limited_caller(identity: &Identity) -> LimitedCaller {
    match identity {
        Identity::Known(Caller::WithKey(key)) => {
            LimitedCaller::WithKey { id: key.id, requests_per_minute: key.requests_per_minute }
        }
        Identity::Known(Caller::Anonymous) | Identity::Unknown(_) => LimitedCaller::Anonymous,
    }
}

fn rate_limited(retry_after: u64, identity: &Identity) -> ApiError {
    let advice = match identity {
        Identity::Known(Caller::WithKey(_)) => "",
        Identity::Known(Caller::Anonymous) => ", or send an API key in X-API-Key: the limit is higher with a key",
        Identity::Unknown(_) => "; the key in X-API-Key is not valid, so the limit without a key applies",
    };
    ApiError::RateLimited { retry_after, advice }
}

#[cfg(test)]
mod tests;
