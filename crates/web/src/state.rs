use std::{
    net::SocketAddr,
    ops::Deref,
    sync::Arc,
    time::{Duration, Instant},
};

use admission::PageBudget;
use services::Services;

use crate::{
    address_names::AddressNames, api_limits::ApiLimits, base_path::BasePath, branding::Branding, names::Names,
    node_calls::NodeCalls, public_url::PublicUrl, recent_days::RecentDays, tour::TourStop,
    verified_names::VerifiedNames,
};

/// The dependencies of the pages.
#[expect(missing_debug_implementations, reason = "traits without Debug")]
pub struct WebParts {
    pub services: Services,
    pub names: Names,
    /// Links of the first page to what a newcomer may want to see; without any, there is no such panel.
    pub tour: Vec<TourStop>,
    pub branding: Branding,
    /// With one, there is a sitemap, and pages name their canonical URLs.
    pub public_url: Option<PublicUrl>,
    pub listens: SocketAddr,
    pub api_limits: ApiLimits,
    /// The limits of each client.
    pub budget: Arc<PageBudget>,
}

/// The state as handlers extract it.
pub(crate) type App = Arc<WebState>;

/// The state that handlers share.
pub(crate) struct WebState {
    services: Services,
    pub(crate) node_calls: NodeCalls,
    pub(crate) names: Names,
    pub(crate) tour: Vec<TourStop>,
    pub(crate) base_path: BasePath,
    pub(crate) branding: Branding,
    /// The public URL, without a slash at the end.
    pub(crate) site_url: Option<Arc<str>>,
    pub(crate) listens: SocketAddr,
    pub(crate) address_names: AddressNames,
    pub(crate) verified_names: VerifiedNames,
    pub(crate) days: RecentDays,
    pub(crate) api_limits: ApiLimits,
    pub(crate) budget: Arc<PageBudget>,
}

/// Handlers use the services as parts of the state.
impl Deref for WebState {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.services
    }
}

impl WebState {
    pub(crate) fn new(parts: WebParts) -> Self {
        let base_path = parts.public_url.as_ref().map(PublicUrl::base_path).unwrap_or_default();
        let site_url = parts.public_url.map(|url| url.to_string().into());
        let budget = parts.budget;
        Self {
            address_names: AddressNames::new(&parts.services),
            verified_names: VerifiedNames::new(&parts.services),
            days: RecentDays::new(Arc::clone(&parts.services.chain)),
            services: parts.services,
            node_calls: NodeCalls::new(Arc::clone(&budget)),
            budget,
            names: parts.names,
            api_limits: parts.api_limits,
            tour: parts.tour,
            base_path,
            branding: parts.branding,
            site_url,
            listens: parts.listens,
        }
    }

    /// None before the node has responded for the first time.
    pub(crate) fn chain_id(&self) -> Option<u64> {
        self.sync.borrow().chain.map(|chain| chain.chain_id)
    }

    /// See [`domain::SyncStatus::is_fresh`].
    pub(crate) fn is_fresh(&self, read_at: Instant, cached_for: Duration) -> bool {
        self.sync.borrow().is_fresh(read_at, cached_for)
    }
}
