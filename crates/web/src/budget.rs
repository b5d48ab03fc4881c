//! What a visitor may have the pages do: so many pages, and so many node calls, each a minute.
//!
//! Pages need no key, so they are bounded by client. The bound on pages is generous. The one on node calls is not: the
//! node is shared by everybody, and a page without its part is still a page from the index.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use api::{BucketRate, Buckets, Client, TrustedProxies};
use axum::extract::{ConnectInfo, Request, State};
use axum::middleware::Next;
use axum::response::Response;

use crate::error::too_many_pages;

/// Style, scripts and icons cost nothing, and a browser keeps them.
const FREE: [&str; 2] = ["/assets/", "/favicon"];

const fn rate(per_minute: u32, burst: u32) -> BucketRate {
    match (NonZeroU32::new(per_minute), NonZeroU32::new(burst)) {
        (Some(per_minute), Some(burst)) => BucketRate { per_minute, burst },
        _ => panic!("a rate is above 0"),
    }
}

/// Node calls for all pages together, and for those of one client.
const NODE_CALLS: BucketRate = rate(6_000, 600);
const NODE_CALLS_OF_CLIENT: BucketRate = rate(600, 120);

tokio::task_local! {
    /// For whom a page is made. Set around every page; node calls are made deep below, and always on its task.
    static CLIENT: Client;
}

pub(crate) struct PageBudget {
    /// None: no bound.
    pages: Option<Buckets<Client>>,
    node_calls: Buckets<()>,
    node_calls_of_client: Buckets<Client>,
    proxies: TrustedProxies,
}

impl PageBudget {
    pub(crate) fn new(pages_per_minute: Option<NonZeroU32>, proxies: TrustedProxies) -> Self {
        Self {
            pages: pages_per_minute.map(|pages| Buckets::new(BucketRate::per_minute(pages))),
            node_calls: Buckets::new(NODE_CALLS),
            node_calls_of_client: Buckets::new(NODE_CALLS_OF_CLIENT),
            proxies,
        }
    }

    /// Whether so many calls may be made to the node for the page at hand. Calls that may be made are counted.
    pub(crate) fn allows_node_calls(&self, calls: u32) -> bool {
        let own = CLIENT.try_with(|client| self.node_calls_of_client.take(*client, calls).is_ok()).unwrap_or(true);
        own && self.node_calls.take((), calls).is_ok()
    }

    fn client_of(&self, request: &Request) -> Client {
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
        let peer = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |ConnectInfo(peer)| peer.ip());
        self.proxies.client(peer, request.headers())
    }

    fn take_page(&self, client: Client) -> Result<(), Duration> {
        self.pages.as_ref().map_or(Ok(()), |pages| pages.take(client, 1))
    }
}

/// Counts a page for its client, or refuses it.
pub(crate) async fn count(State(budget): State<Arc<PageBudget>>, request: Request, next: Next) -> Response {
    if FREE.iter().any(|start| request.uri().path().starts_with(start)) {
        return next.run(request).await;
    }
    let client = budget.client_of(&request);
    match budget.take_page(client) {
        Ok(()) => CLIENT.scope(client, next.run(request)).await,
        Err(wait) => too_many_pages(wait),
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
    async fn one_client_cannot_spend_the_node_calls_of_all() {
        let budget = PageBudget::new(None, TrustedProxies::default());
        let first = calls_allowed(&budget, [192, 0, 2, 1]).await;
        assert!((40..60).contains(&first), "{first}");
        let second = calls_allowed(&budget, [192, 0, 2, 2]).await;
        assert!((40..60).contains(&second), "{second}");
    }

    #[tokio::test]
    async fn a_crowd_cannot_make_more_node_calls_than_there_are_for_pages() {
        let budget = PageBudget::new(None, TrustedProxies::default());
        let mut calls = 0;
        for number in 0..=255 {
            calls += 3 * calls_allowed(&budget, [192, 0, 2, number]).await;
        }
        assert!((500..2_000).contains(&calls), "{calls}");
    }
}
