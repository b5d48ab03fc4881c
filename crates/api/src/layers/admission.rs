use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

use axum::{
    extract::{ConnectInfo, Request},
    http::{HeaderMap, HeaderName},
};

use crate::{
    clock::unix_millis_now,
    error::ApiError,
    keys::{Caller, KeyRing, KeyText},
    limits::{Asking, Client, RateLimits, TrustedProxies, Verdict},
};

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const API: &str = "/api/";
/// Whoever wants to know how to ask should not be stopped for it, and a page that stays open is not a request each time it
/// is opened: streams have a bound of their own.
const UNCOUNTED: [&str; 2] = ["/api/v1/openapi.json", "/api/v1/stream"];

/// Finds out who is calling, and whether he may.
pub(crate) struct Admission {
    pub(crate) keys: Arc<KeyRing>,
    pub(crate) limits: RateLimits,
    pub(crate) proxies: TrustedProxies,
}

/// Who a caller turns out to be.
enum Identity {
    Known(Caller),
    /// What he sent as a key is none, or cannot be looked up now. He counts as one without, and is told.
    Unknown(ApiError),
}

/// What became of a request at the door.
pub(super) struct Admitted {
    /// Why it is not to be answered.
    pub(super) refusal: Option<ApiError>,
    /// How the caller stands; None where nothing is counted.
    pub(super) standing: Option<Verdict>,
}

impl Admission {
    /// Lets a request to the API in, or turns it away; either way it is known how the caller stands. Handlers find who he
    /// is among the request's extensions.
    pub(super) async fn admit(&self, request: &mut Request) -> Admitted {
        if !request.uri().path().starts_with(API) {
            return Admitted { refusal: None, standing: None };
        }
        let client = self.client_of(request);
        request.extensions_mut().insert(client);
        if UNCOUNTED.contains(&request.uri().path()) {
            return Admitted { refusal: None, standing: Some(self.limits.look(client)) };
        }
        let identity = self.identify(request.headers()).await;
        let verdict = self.limits.draw(client, asking(&identity));
        let refusal = match (verdict.retry_after(), identity) {
            (Some(retry_after), identity) => Some(refuse(retry_after, &identity)),
            (None, Identity::Unknown(error)) => Some(error),
            (None, Identity::Known(caller)) => {
                if let Caller::WithKey(key) = &caller {
                    self.keys.note_use(key, unix_millis_now());
                }
                request.extensions_mut().insert(caller);
                None
            }
        };
        Admitted { refusal, standing: Some(verdict) }
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

fn asking(identity: &Identity) -> Asking {
    match identity {
        Identity::Known(Caller::WithKey(key)) => {
            Asking::WithKey { id: key.id, requests_per_minute: key.requests_per_minute }
        }
        Identity::Known(Caller::Anonymous) | Identity::Unknown(_) => Asking::Anonymous,
    }
}

fn refuse(retry_after: u64, identity: &Identity) -> ApiError {
    let advice = match identity {
        Identity::Known(Caller::WithKey(_)) => "",
        Identity::Known(Caller::Anonymous) => ", or send an API key in X-API-Key: more may be asked with one",
        Identity::Unknown(_) => "; the value of X-API-Key is not a key in use, so the limit without a key holds",
    };
    ApiError::RateLimited { retry_after, advice }
}

#[cfg(test)]
mod tests;
