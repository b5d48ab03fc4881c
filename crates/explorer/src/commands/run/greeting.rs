//! What `explorer run` says at its start: where everything is, and what a newcomer has to know.

use std::{
    net::{Ipv4Addr, SocketAddr},
    num::NonZeroU32,
};

use api::OwnerAccess;
use egress::Insecure;

use crate::config::service_config::ServiceConfig;

pub(crate) struct Greeting {
    public_url: Option<String>,
    anonymous: Option<NonZeroU32>,
    access: OwnerAccess,
    insecure_webhooks: Insecure,
}

impl Greeting {
    pub(crate) fn new(config: &ServiceConfig) -> Self {
        Self {
            public_url: config.pages.public_url.as_ref().map(ToString::to_string),
            anonymous: config.limits.requests.anonymous,
            access: config.limits.access,
            insecure_webhooks: config.webhooks.egress.insecure,
        }
    }

    pub(crate) fn text(&self, listening: SocketAddr) -> String {
        let base = self.public_url.clone().unwrap_or_else(|| format!("http://{}", reachable(listening)));
        let anonymous = self.anonymous.map_or_else(|| "any number of".to_owned(), |limit| limit.to_string());
        let owners = match self.access {
            OwnerAccess::Auto => {
                "keys and webhooks need a key of their owner; on a dev chain, programs on this machine need none"
            }
            OwnerAccess::Guarded => "keys and webhooks need a key of their owner",
            OwnerAccess::Open => "keys and webhooks are open to everyone (--owner-access open)",
        };
        let hooks = match self.insecure_webhooks {
            Insecure::Allowed => "loopback addresses and plain http are allowed (--webhook-allow-insecure)",
            Insecure::Refused => {
                "public https addresses; to test with a receiver on this machine, add --webhook-allow-insecure"
            }
        };
        let per_key = api::REQUESTS_PER_MINUTE;
        format!(
            "Listening on http://{listening}
  Pages   {base}/
  API     {base}/docs, for example {base}/api/v1/stats, OpenAPI document {base}/api/v1/openapi.json
  Limits  {anonymous} requests per minute without a key, {per_key} with a key from POST /api/v1/keys
  Owners  {owners}
  Hooks   {hooks}
"
        )
    }
}

/// Where a browser on this machine finds what listens there.
fn reachable(listening: SocketAddr) -> SocketAddr {
    if listening.ip().is_unspecified() { (Ipv4Addr::LOCALHOST, listening.port()).into() } else { listening }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greeting() -> Greeting {
        Greeting {
            public_url: None,
            anonymous: NonZeroU32::new(10),
            access: OwnerAccess::Auto,
            insecure_webhooks: Insecure::Refused,
        }
    }

    #[test]
    fn everything_is_in_five_lines_below_the_address() {
        insta::assert_snapshot!(greeting().text("127.0.0.1:8080".parse().unwrap()), @r"
        Listening on http://127.0.0.1:8080
          Pages   http://127.0.0.1:8080/
          API     http://127.0.0.1:8080/docs, for example http://127.0.0.1:8080/api/v1/stats, OpenAPI document http://127.0.0.1:8080/api/v1/openapi.json
          Limits  10 requests per minute without a key, 100 with a key from POST /api/v1/keys
          Owners  keys and webhooks need a key of their owner; on a dev chain, programs on this machine need none
          Hooks   public https addresses; to test with a receiver on this machine, add --webhook-allow-insecure
        ");
    }

    #[test]
    fn what_the_operator_chose_is_said() {
        let chosen = Greeting {
            public_url: Some("https://explorer.example/bsc".to_owned()),
            anonymous: None,
            access: OwnerAccess::Open,
            insecure_webhooks: Insecure::Allowed,
        };
        let said = chosen.text("0.0.0.0:8080".parse().unwrap());
        for expected in [
            "Listening on http://0.0.0.0:8080\n",
            "  Pages   https://explorer.example/bsc/\n",
            "any number of requests",
            "open to everyone",
            "loopback addresses and plain http are allowed",
        ] {
            assert!(said.contains(expected), "{expected}: {said}");
        }
        let said = greeting().text("0.0.0.0:8080".parse().unwrap());
        assert!(said.contains("  Pages   http://127.0.0.1:8080/\n"), "{said}");
    }
}
