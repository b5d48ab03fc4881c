//! The OpenAPI document: the routes describe themselves, this module adds what they have in common.

mod responses;
#[cfg(test)]
mod tests;

use axum::body::Bytes;
pub(crate) use responses::{
    BadBody, BadCall, BadParameter, BadProof, BadQuery, BadSource, CallFailed, CompilersUnavailable, ImagePending,
    InProgress, KeyConflict, NeedsKey, NoArtifact, NoCode, NoImage, NoList, NoSuchAddress, NoSuchAddressOrToken,
    NoSuchBlock, NoSuchDelivery, NoSuchJob, NoSuchKey, NoSuchToken, NoSuchTokenId, NoSuchTransaction, NoSuchWebhook,
    NodeOrIndexUnavailable, NotModified, NotOwner, NotTraced, NotVerified, TooManyVerifications, TooManyWebhooks,
    TopAccountsOff, Unavailable, WebhookConflict, WebhookQuota,
};
use utoipa::{
    IntoResponses, PartialSchema,
    openapi::{
        Components, Header, HeaderBuilder, InfoBuilder, LicenseBuilder, Object, OpenApi, OpenApiBuilder, RefOr,
        Required, SecurityRequirement, Type,
        path::{Operation, ParameterBuilder, ParameterIn, PathItem},
        response::Responses,
        security::{ApiKey, ApiKeyValue, SecurityScheme},
        tag::TagBuilder,
    },
};

use crate::{
    OwnerAccess,
    layers::IndexedBlock,
    wire::{Problem, ProblemCode},
};

/// The name of the security scheme.
const SCHEME: &str = "apiKey";

const DESCRIPTION: &str = "\
Blocks, transactions, tokens, transfers, trades and addresses of an EVM chain.

Addresses and hashes are accepted in any letter case and returned in lower case. Numbers that may be too large for JSON \
numbers are decimal strings. Times are UTC. Lists are newest first, tokens by number of holders. Unknown query parameters are \
ignored. HEAD is supported wherever GET is.

Errors are problem documents (RFC 9457): `code` is stable, `field` names the invalid input. An unknown path returns 404 \
`route_not_found`; a known path with another method returns 405 `method_not_allowed` with `Allow`. A 503 has \
`Retry-After`.

A response with totals or counts has `firstIndexedBlock` and `complete`: if the index does not begin with the first block of \
the chain, its numbers are those since that block.

A response about the chain has the header `X-Explorer-Block`, the latest block when it was made: it shows no newer one. Sent in \
`X-Explorer-Min-Block`, it asks for a response that includes this block, whichever process answers: the service waits for it \
up to a second, and then returns 503 `block_not_reached`.

Responses have an `ETag`: sent in `If-None-Match`, it returns 304 until the response changes.

Without a key, the rate limit is 10 requests in any 60 seconds per IPv4 address or IPv6 /64; with a key in `X-API-Key`, it \
is 100 or the key's `requestsPerMinute`. Every response under `/api/v1` has the headers `X-RateLimit-Limit`, \
`X-RateLimit-Remaining` and `X-RateLimit-Reset` (unix seconds, when another request is allowed), and `RateLimit` and \
`RateLimit-Policy` of the IETF draft. Requests above the limit return 429 with `Retry-After` and do not count. An invalid key \
returns 401 and counts as no key. This document, verification jobs and `/health` are not limited.

To get a key, sign a message with the wallet of an address: see `POST /api/v1/keys`. Keys and webhooks of an owner are only \
visible to callers with a key of that owner.

A webhook sends signed JSON to a URL for events of an address: see `POST /api/v1/webhooks`. Messages have the header \
`X-Explorer-Signature` (`sha256=` and the HMAC-SHA256 of the body, keyed with the secret) and the headers of Standard \
Webhooks. A message without a 2xx response within 10 seconds is retried for three days.

For tools that speak the formats of other explorers, Etherscan's API is served under `/api` and `/v2/api`, and Sourcify's API \
v2 under `/sourcify`. They are not part of this document.";

/// The document without its routes.
pub(crate) fn introduction() -> OpenApi {
    let info = InfoBuilder::new()
        .title("Explorer API")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(DESCRIPTION))
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

/// Adds what all operations have in common: problems that any of them may return, the headers that the layers set, and
/// security requirements.
pub(crate) fn complete(document: &mut OpenApi, access: OwnerAccess) {
    let components = document.components.get_or_insert_with(Components::new);
    components.schemas.insert("Problem".to_owned(), Problem::schema());
    components.schemas.insert("ProblemCode".to_owned(), ProblemCode::schema());
    let key = ApiKeyValue::with_description("X-API-Key", "A key from POST /api/v1/keys");
    components.add_security_scheme(SCHEME, SecurityScheme::ApiKey(ApiKey::Header(key)));
    for (path, item) in &mut document.paths.paths {
        let is_limited = path.starts_with("/api/") && path != "/api/v1/openapi.json";
        for operation in operations(item) {
            let is_of_index = IndexedBlock::is_read_at(path);
            add_common_problems(operation, is_limited, is_of_index);
            add_request_headers(operation, is_of_index);
            add_response_headers(&mut operation.responses, path.starts_with("/api/"), is_of_index);
            if is_limited {
                operation.security = Some(security(operation, access));
            }
        }
    }
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

/// A key is accepted everywhere, and required by some operations.
fn security(operation: &Operation, access: OwnerAccess) -> Vec<SecurityRequirement> {
    let with_key = SecurityRequirement::new(SCHEME, Vec::<String>::new());
    let is_required = operation.operation_id.as_deref().is_some_and(|id| match access {
        OwnerAccess::Guarded => matches!(id, "list_keys" | "revoke_key") || WEBHOOK_OPERATIONS.contains(&id),
        OwnerAccess::Open => id == "revoke_key",
    });
    if is_required { vec![with_key] } else { vec![SecurityRequirement::default(), with_key] }
}

/// Serializes the document.
pub(crate) fn write(document: &OpenApi) -> Bytes {
    // Cannot fail: the document has only maps and strings.
    serde_json::to_vec(document).unwrap_or_default().into()
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [&mut item.get, &mut item.put, &mut item.post, &mut item.delete, &mut item.patch].into_iter().flatten()
}

fn add_common_problems(operation: &mut Operation, is_limited: bool, is_of_index: bool) {
    let mut common = vec![responses::UrlTooLong::responses(), responses::Failed::responses()];
    if is_limited {
        common.extend([responses::BadKey::responses(), responses::TooManyRequests::responses()]);
    }
    if is_of_index {
        common.extend([responses::BadMinBlock::responses(), responses::BlockNotReached::responses()]);
    }
    if operation.request_body.is_some() {
        common.extend([
            responses::BodyTooSlow::responses(),
            responses::BodyTooLarge::responses(),
            responses::NotJson::responses(),
        ]);
    }
    for (status, response) in common.into_iter().flatten() {
        operation.responses.responses.entry(status).or_insert(response);
    }
}

fn add_request_headers(operation: &mut Operation, is_of_index: bool) {
    let mut add = |name: &str, description: &str| {
        let parameter = ParameterBuilder::new()
            .name(name)
            .parameter_in(ParameterIn::Header)
            .required(Required::False)
            .description(Some(description))
            .schema(Some(Object::with_type(Type::String)))
            .build();
        operation.parameters.get_or_insert_default().push(parameter.into());
    };
    add("X-Request-Id", "An id for the request, returned with the response; at most 128 letters, digits and `-_.:`");
    if operation.responses.responses.contains_key("304") {
        add("If-None-Match", "The ETag of a response that the client has");
    }
    if is_of_index {
        let block =
            "The number of a block that the response must include, such as the X-Explorer-Block of an earlier one";
        add("X-Explorer-Min-Block", block);
    }
}

fn add_response_headers(responses: &mut Responses, limited: bool, is_of_index: bool) {
    let tagged = responses.responses.contains_key("304");
    for (status, response) in &mut responses.responses {
        let RefOr::T(response) = response else { continue };
        let mut add = |name: &str, header: Header| response.headers.insert(name.to_owned(), header.into());
        add("X-Request-Id", header("The id of the request, as sent by the client or a new one", "trace-1"));
        if limited {
            for (name, description, example) in LIMIT_HEADERS {
                add(name, header(description, example));
            }
        }
        if is_of_index && matches!(status.as_str(), "200" | "304" | "404") {
            add("X-Explorer-Block", header("The latest block when the response was made", "18250"));
        }
        let has_etag = tagged && matches!(status.as_str(), "200" | "304");
        let caching = if has_etag { "no-cache" } else { "no-store" };
        add("Cache-Control", header("Rules for HTTP caches", caching));
        if has_etag {
            add("ETag", header("Changes when the response changes", "W/\"99aa06d3014798d86001c324468d497f\""));
        }
    }
}

/// Missing if the operator sets no limit.
const LIMIT_HEADERS: [(&str, &str, &str); 5] = [
    ("X-RateLimit-Limit", "Requests allowed in any 60 seconds", "100"),
    ("X-RateLimit-Remaining", "Requests still allowed now", "97"),
    ("X-RateLimit-Reset", "When another request is allowed, in unix seconds", "1794700860"),
    ("RateLimit", "The same in the format of the IETF draft, for each quota", "\"key\";r=97;t=60, \"ip\";r=597;t=60"),
    ("RateLimit-Policy", "The applicable quotas", "\"key\";q=100;w=60, \"ip\";q=600;w=60"),
];

fn header(description: &str, example: &str) -> Header {
    HeaderBuilder::new()
        .schema(Some(Object::with_type(Type::String)))
        .description(Some(description))
        .example(Some(example.into()))
        .build()
}
