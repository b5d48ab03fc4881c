//! The OpenAPI document: the routes describe themselves, this module adds what they have in common.

mod parameters;
mod responses;
mod schemas;
#[cfg(test)]
mod tests;

use std::num::NonZeroU32;

use admission::Area;
use axum::body::Bytes;
pub(crate) use responses::{
    BadBody, BadCall, BadParameter, BadProof, BadQuery, CallFailed, CompilersUnavailable, ImagePending, InProgress,
    KeyConflict, NeedsKey, NoArtifact, NoCode, NoImage, NoList, NoSuchAddress, NoSuchAddressOrToken, NoSuchBlock,
    NoSuchDelivery, NoSuchJob, NoSuchKey, NoSuchToken, NoSuchTokenId, NoSuchTransaction, NoSuchWebhook, NotOwner,
    NotTraced, NotVerified, TooManyVerifications, TooManyWebhooks, TopAccountsOff, Unavailable, WebhookConflict,
    WebhookQuota,
};
use utoipa::{
    IntoResponses, PartialSchema,
    openapi::{
        Components, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder, Ref, SecurityRequirement,
        path::{Operation, PathItem},
        security::{ApiKey, ApiKeyValue, SecurityScheme},
        tag::TagBuilder,
    },
};

use crate::{
    OwnerAccess,
    layers::IndexResources,
    wire::{AnyCaseHash, Problem, ProblemCode},
};

/// The name of the security scheme.
const SCHEME: &str = "apiKey";

/// In the description, replaced by what the operator configured.
const LIMIT_WITHOUT_KEY: &str = "{limit without a key}";

const DESCRIPTION: &str = "\
Blocks, transactions, tokens, transfers, trades and addresses of an EVM chain.

Addresses and hashes are accepted in any letter case and returned in lower case. Numbers that may be too large for JSON \
numbers are decimal strings. Times are UTC. Lists are newest first, tokens by number of holders. Unknown query parameters are \
ignored. HEAD is supported wherever GET is.

Errors are problem documents (RFC 9457): `code` is stable, `field` names the invalid input; `error` repeats `code`, and \
`message` repeats `detail`. Operations list the codes of their own problems; `default` stands for those that any operation may return. An unknown path returns 404 `route_not_found`; a known \
path with another method returns 405 `method_not_allowed` with `Allow`. A 503 has `Retry-After`.

A response with totals or counts has `firstIndexedBlock` and `complete`: if the index does not begin with the first block of \
the chain, its numbers are those since that block.

A response about the chain has the header `X-Explorer-Block`, the latest block when it was made: it shows no newer one. Sent in \
`X-Explorer-Min-Block`, it asks for a response that includes this block, whichever process answers: the service waits for it \
up to a second, and then returns 503 `block_not_reached`.

Most responses to GET have an `ETag`: sent in `If-None-Match`, it returns 304 without a body until the response changes. Their \
`Cache-Control` is `no-cache`, or `max-age` if no reorg can change them; that of all other responses is `no-store`.

A request may have an id in `X-Request-Id`: at most 128 letters, digits and `-_.:`. The response returns it, or a new one.

Without a key, {limit without a key} per IPv4 address or IPv6 /64; with a key in `X-API-Key`, it \
is 100 or the key's `requestsPerMinute`. Every response under `/api/v1` has the headers `X-RateLimit-Limit`, \
`X-RateLimit-Remaining` and `X-RateLimit-Reset` (unix seconds, when another request is allowed), and `RateLimit` and \
`RateLimit-Policy` of the IETF draft. A request costs 1 of the limit unless its description says more, as for a trace or a \
verification; `X-RateLimit-Cost` has what it cost. Requests above the limit return 429 with `Retry-After` and do not count. An invalid key \
returns 401 and counts as no key. This document, verification jobs and `/health` are not limited.

To get a key, sign a message with the wallet of an address: see `POST /api/v1/keys`. Keys and webhooks of an owner are only \
visible to callers with a key of that owner. On a chain for development, such as that of anvil, programs on the machine of the \
service need no key.

A webhook sends signed JSON to a URL for events of an address: see `POST /api/v1/webhooks`. Messages have the header \
`X-Explorer-Signature` (`sha256=` and the HMAC-SHA256 of the body, keyed with the secret) and the headers of Standard \
Webhooks. A message without a 2xx response within {attempt} seconds is retried for three days.

For tools that speak the formats of other explorers, Etherscan's API is served under `/api` and `/v2/api`, and Sourcify's API \
v2 under `/sourcify`. They are not part of this document.";

/// The document without its routes.
pub(crate) fn introduction() -> OpenApi {
    let info = InfoBuilder::new()
        .title("Explorer API")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(DESCRIPTION.replace("{attempt}", &webhooks::ATTEMPT_TIMEOUT.as_secs().to_string())))
        .license(Some(LicenseBuilder::new().name("MIT").identifier(Some("MIT")).build()))
        .build();
    let tag = |name: &str, description: &str| TagBuilder::new().name(name).description(Some(description)).build();
    OpenApiBuilder::new()
        .info(info)
        .tags(Some([
            tag("chain", "Indexed data of the chain"),
            tag("contracts", "Verified contracts"),
            tag("keys", "API keys"),
            tag("webhooks", "Signed messages about events of an address"),
            tag("health", "Health of the service"),
            tag("meta", "The API itself"),
        ]))
        .build()
}

/// Adds what operations have in common, as components that they refer to. What every request or response has is only in the
/// introduction.
pub(crate) fn complete(document: &mut OpenApi, access: OwnerAccess, index: &IndexResources) {
    let with_key = SecurityRequirement::new(SCHEME, Vec::<String>::new());
    let components = document.components.get_or_insert_with(Components::new);
    components.schemas.insert("Problem".to_owned(), Problem::schema());
    components.schemas.insert("ProblemCode".to_owned(), ProblemCode::schema());
    // Only parameters refer to it.
    components.schemas.insert("AnyCaseHash".to_owned(), AnyCaseHash::schema());
    components.schemas.values_mut().for_each(schemas::lift_descriptions);
    components.schemas.values_mut().for_each(schemas::drop_bounds);
    components.parameters = parameters::components();
    components.responses = responses::components();
    let key = ApiKeyValue::with_description("X-API-Key", "A key from POST /api/v1/keys");
    components.add_security_scheme(SCHEME, SecurityScheme::ApiKey(ApiKey::Header(key)));
    for (path, item) in &mut document.paths.paths {
        let is_limited = path.starts_with("/api/") && path != "/api/v1/openapi.json";
        let cost = Area::Api.cost(path).filter(|cost| is_limited && *cost > 1);
        for operation in operations(item) {
            if let Some(cost) = cost {
                let description = operation.description.take().unwrap_or_default();
                operation.description = Some(format!("{description}\n\nCosts {cost}.").trim_start().to_owned());
            }
            add_common_problems(operation, is_limited);
            if index.contain(path) {
                add_problem::<BadParameter>(operation);
                parameters::add_min_block(operation);
            }
            parameters::share(operation, &components.parameters);
            operation.security = match is_limited {
                true => requires_key(operation, access).then(|| vec![with_key.clone()]),
                false => Some(Vec::new()),
            };
        }
    }
    // A key is accepted everywhere, and required by some operations.
    document.security = Some(vec![SecurityRequirement::default(), with_key]);
}

/// Says how many requests are allowed without a key; None means without a limit.
pub(crate) fn state_limits(document: &mut OpenApi, anonymous: Option<NonZeroU32>) {
    let limit = match anonymous {
        Some(requests) => format!("the rate limit is {requests} requests in any 60 seconds"),
        None => "there is no rate limit".to_owned(),
    };
    let description = document.info.description.take().unwrap_or_default();
    document.info.description = Some(description.replace(LIMIT_WITHOUT_KEY, &limit));
}

/// Operations that need a key of the owner, unless owner access is open.
const WEBHOOK_OPERATIONS: [&str; 8] = [
    "list_webhooks",
    "create_webhook",
    "change_webhook",
    "delete_webhook",
    "list_deliveries",
    "ping_webhook",
    "redeliver",
    "rotate_secret",
];

fn requires_key(operation: &Operation, access: OwnerAccess) -> bool {
    operation.operation_id.as_deref().is_some_and(|id| match access {
        OwnerAccess::Guarded | OwnerAccess::Auto => {
            matches!(id, "list_keys" | "revoke_key") || WEBHOOK_OPERATIONS.contains(&id)
        }
        OwnerAccess::Open => id == "revoke_key",
    })
}

/// Serializes the document.
pub(crate) fn write(document: &OpenApi) -> Bytes {
    // Cannot fail: the document has only maps and strings.
    serde_json::to_vec(document).unwrap_or_default().into()
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [&mut item.get, &mut item.put, &mut item.post, &mut item.delete, &mut item.patch].into_iter().flatten()
}

fn add_common_problems(operation: &mut Operation, is_limited: bool) {
    if operation.request_body.is_some() {
        add_problem::<responses::BodyTooSlow>(operation);
        add_problem::<responses::BodyTooLarge>(operation);
        add_problem::<responses::NotJson>(operation);
    }
    let other = if is_limited { responses::OTHER_PROBLEM } else { responses::OTHER_FAILURE };
    operation.responses.responses.insert("default".to_owned(), Ref::from_response_name(other).into());
}

/// Adds the response, unless the operation has one of the same status that covers it.
fn add_problem<T: IntoResponses>(operation: &mut Operation) {
    for (status, response) in T::responses() {
        operation.responses.responses.entry(status).or_insert(response);
    }
}
