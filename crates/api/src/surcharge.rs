use std::{
    convert::Infallible,
    sync::{Arc, OnceLock},
};

use admission::{LimitDecision, LimitedCaller};
use axum::{Extension, extract::FromRequestParts, http::request::Parts};
use client_address::Client;

use crate::{
    keys::Caller,
    layers::{Identity, limited_caller},
    state::App,
};

/// What a request costs beyond the price of its route, once its handler knows that it needs more.
pub(crate) struct Surcharge {
    app: App,
    client: Client,
    caller: LimitedCaller,
    paid: OnceLock<LimitDecision>,
}

impl Surcharge {
    /// Counts it against the limit of the caller. False if that has too little left: then nothing is counted, and the response is made
    /// without what it is for.
    pub(crate) async fn pay(&self, cost: u32) -> bool {
        let decision = self.app.admission.limits.try_acquire(self.client, self.caller, cost).await;
        !decision.rejected && self.paid.set(decision).is_ok()
    }

    /// For the response, whose headers say what the request cost in all.
    pub(crate) fn paid(&self) -> Option<Extension<LimitDecision>> {
        self.paid.get().copied().map(Extension)
    }
}

impl FromRequestParts<App> for Surcharge {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        let client = Client::from_request_parts(parts, app).await?;
        let caller = limited_caller(&Identity::Known(Caller::from_request_parts(parts, app).await?));
        Ok(Self { app: Arc::clone(app), client, caller, paid: OnceLock::new() })
    }
}
