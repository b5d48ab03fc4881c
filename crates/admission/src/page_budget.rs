//! Limits of pages and of node calls per minute.
//!
//! Pages need no key, so they are limited by client. The limit of pages is generous. The limit of node calls is not: all clients
//! share the node, and a page without the node's data is still useful. What the API sends without counting it, such as its
//! document, counts as pages.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    num::NonZeroU32,
    time::Duration,
};

use axum::{
    extract::{ConnectInfo, Request},
    middleware::Next,
    response::Response,
};
use client_address::{Client, TrustedProxies};
use futures::future::BoxFuture;

use crate::{
    buckets::{BucketRate, Buckets},
    fair_permits::{FairPermits, Permit, PermitBounds, TooManyWaiting},
};

const fn rate(per_minute: u32, burst: u32) -> BucketRate {
    match (NonZeroU32::new(per_minute), NonZeroU32::new(burst)) {
        (Some(per_minute), Some(burst)) => BucketRate { per_minute, burst },
        _ => panic!("rate and burst must be above 0"),
    }
}

/// Node calls of all pages together.
const NODE_CALLS: BucketRate = rate(9_000, 1_800);
/// Node calls of the pages of one client: somebody who reads a page every two seconds, some of which make thirty, is not limited.
const NODE_CALLS_PER_CLIENT: BucketRate = rate(1_200, 360);
/// Work on the node at a time, for pages, the API and its dialects.
const CONCURRENT_CALLS: PermitBounds =
    PermitBounds { total: 16, per_client: 4, waiting_per_client: 64, stuck_after: None };

tokio::task_local! {
    /// The client of the current page. Task-local, since node calls are made deep below the handler, on the same task.
    static CLIENT: Client;
}

/// What each client may have of the pages.
#[derive(Debug)]
pub struct PageBudget {
    /// None means unlimited.
    pages: Option<Buckets<Client>>,
    node_calls: Buckets<()>,
    node_calls_per_client: Buckets<Client>,
    permits: FairPermits<Client>,
    proxies: TrustedProxies,
}

impl PageBudget {
    #[must_use]
    pub fn new(pages_per_minute: Option<NonZeroU32>, proxies: TrustedProxies) -> Self {
        Self {
            pages: pages_per_minute.map(|pages| Buckets::new(BucketRate::per_minute(pages))),
            node_calls: Buckets::new(NODE_CALLS),
            node_calls_per_client: Buckets::new(NODE_CALLS_PER_CLIENT),
            permits: FairPermits::new(CONCURRENT_CALLS),
            proxies,
        }
    }

    /// Whether the current page may make this many node calls. Allowed calls are counted.
    pub fn allows_node_calls(&self, calls: u32) -> bool {
        let client_allows =
            CLIENT.try_with(|client| self.node_calls_per_client.take(*client, calls).is_ok()).unwrap_or(true);
        client_allows && self.node_calls.take((), calls).is_ok()
    }

    /// Permission for a node call of the current page.
    ///
    /// # Errors
    /// If too many calls of its client wait already.
    pub fn node_call(&self) -> BoxFuture<'_, Result<Permit<Client>, TooManyWaiting>> {
        self.node_call_of(Self::current_client())
    }

    /// The same for a request of the API or of a dialect.
    ///
    /// # Errors
    /// If too many calls of the client wait already.
    pub fn node_call_of(&self, client: Client) -> BoxFuture<'_, Result<Permit<Client>, TooManyWaiting>> {
        self.permits.acquire(client)
    }

    /// The client of the current page.
    pub fn current_client() -> Client {
        CLIENT.try_with(|client| *client).unwrap_or_else(|_| Client::of(Ipv4Addr::UNSPECIFIED.into()))
    }

    /// Counts the cost of a page for a client.
    ///
    /// # Errors
    /// How long to wait, if it has too little left.
    pub fn take(&self, client: Client, cost: u32) -> Result<(), Duration> {
        self.pages.as_ref().map_or(Ok(()), |pages| pages.take(client, cost))
    }

    /// Counts the cost of a page for its client, and shows it.
    ///
    /// # Errors
    /// How long to wait, if the client has too little left.
    pub fn show(&self, request: Request, cost: u32, next: Next) -> BoxFuture<'_, Result<Response, Duration>> {
        Box::pin(async move {
            let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
            let peer = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |ConnectInfo(peer)| peer.ip());
            let client = self.proxies.client(peer, request.headers());
            self.take(client, cost)?;
            Ok(CLIENT.scope(client, next.run(request)).await)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn calls_allowed(budget: &PageBudget, peer: [u8; 4]) -> usize {
        let client = budget.proxies.client(IpAddr::from(peer), &axum::http::HeaderMap::new());
        CLIENT.scope(client, async { (0..10_000).filter(|_| budget.allows_node_calls(3)).count() }).await
    }

    #[tokio::test]
    async fn one_client_cannot_use_up_the_node_calls_of_others() {
        let budget = PageBudget::new(None, TrustedProxies::default());
        let first = calls_allowed(&budget, [192, 0, 2, 1]).await;
        assert!((120..140).contains(&first), "{first}");
        let second = calls_allowed(&budget, [192, 0, 2, 2]).await;
        assert!((120..140).contains(&second), "{second}");
    }

    #[tokio::test]
    async fn many_clients_cannot_exceed_the_total_of_node_calls() {
        let budget = PageBudget::new(None, TrustedProxies::default());
        let mut calls = 0;
        for number in 0..=255 {
            calls += 3 * calls_allowed(&budget, [192, 0, 2, number]).await;
        }
        assert!((1_700..4_000).contains(&calls), "{calls}");
    }
}
