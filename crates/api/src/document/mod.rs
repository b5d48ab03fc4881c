//! The OpenAPI document. The routes describe themselves; here is what they have in common.

mod responses;
#[cfg(test)]
mod tests;

use axum::body::Bytes;
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
    wire::{Problem, ProblemCode},
};

pub(crate) use responses::{
    BadBody, BadCall, BadParameter, BadProof, BadQuery, BadSource, CallRefused, CompilersUnavailable, KeyConflict,
    NeedsKey, NoCode, NoRoomForWebhooks, NoSuchAddress, NoSuchBlock, NoSuchDelivery, NoSuchKey, NoSuchToken,
    NoSuchTransaction, NoSuchWebhook, NodeOrIndexUnavailable, NotModified, NotVerified, NotYours, Unavailable,
    UnderWay, WebhookConflict, WebhookQuota,
};

/// The name of the one way to show who one is.
const SCHEME: &str = "apiKey";

const DESCRIPTION: &str = "\
Blocks, transactions, tokens, transfers, trades and addresses of an EVM chain.

Addresses and hashes are taken in any letter case and given in lower case. Numbers that may exceed what JSON carries \
safely are decimal strings. Times are UTC. Lists are newest first, tokens by holders; unknown query parameters are ignored. HEAD is \
answered wherever GET is.

Errors are problem documents (RFC 9457): `code` is stable, `field` names the input at fault. A path that is not listed \
is answered 404 `route_not_found`; a listed one with another method 405 `method_not_allowed`, with `Allow`. A 503 comes \
with `Retry-After`.

Answers carry an `ETag`: sent back in `If-None-Match`, it is answered 304 while it holds.

Without a key, 10 requests may be made in any 60 seconds from one IP address (from one /64 of IPv6); with a key in \
`X-API-Key`, 100 or what its `requestsPerMinute` says. Every answer under `/api/v1` tells how the caller stands: \
`X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset` (unix seconds, when one more request may be made), \
and `RateLimit` and `RateLimit-Policy` of the IETF draft. What goes beyond is answered 429 with `Retry-After`, and \
does not count. A wrong key is answered 401, and counts as none. This document and `/health` are free.

A key is given to whoever signs a message with the wallet of an address: see `POST /api/v1/keys`. What belongs to an \
owner is shown to callers with a key of that owner.

A webhook posts signed JSON to a URL for what happens at an address: see `POST /api/v1/webhooks`. Messages carry \
`X-Explorer-Signature` (`sha256=` and the HMAC-SHA256 of the body, keyed with the secret) and the headers of Standard \
Webhooks; what is not answered with 2xx within 10 seconds is sent again, for three days.";

/// The head of the document, before the routes join.
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
            tag("chain", "What is on the chain"),
            tag("contracts", "Verified contracts"),
            tag("keys", "API keys"),
            tag("webhooks", "Signed messages about what happens at an address"),
            tag("health", "How the service is doing"),
            tag("meta", "The API itself"),
        ]))
        .build()
}

/// Adds what holds for every operation: the problems that any may meet, whatever it does, the headers that the layers
/// set, and who may call.
pub(crate) fn complete(document: &mut OpenApi, access: OwnerAccess) {
    let components = document.components.get_or_insert_with(Components::new);
    components.schemas.insert("Problem".to_owned(), Problem::schema());
    components.schemas.insert("ProblemCode".to_owned(), ProblemCode::schema());
    let key = ApiKeyValue::with_description("X-API-Key", "A key from POST /api/v1/keys");
    components.add_security_scheme(SCHEME, SecurityScheme::ApiKey(ApiKey::Header(key)));
    for (path, item) in &mut document.paths.paths {
        let draws = path.starts_with("/api/") && path != "/api/v1/openapi.json";
        for operation in operations(item) {
            add_common_problems(operation, draws);
            add_request_headers(operation);
            add_response_headers(&mut operation.responses, path.starts_with("/api/"));
            if draws {
                operation.security = Some(security(operation, access));
            }
        }
    }
}

/// Who asks for these must be the owner, where owners are guarded.
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

/// A key is welcome everywhere; it is needed where the operation says so itself.
fn security(operation: &Operation, access: OwnerAccess) -> Vec<SecurityRequirement> {
    let with_key = SecurityRequirement::new(SCHEME, Vec::<String>::new());
    let needed = operation.operation_id.as_deref().is_some_and(|id| match access {
        OwnerAccess::Guarded => matches!(id, "list_keys" | "revoke_key") || WEBHOOK_OPERATIONS.contains(&id),
        OwnerAccess::Open => id == "revoke_key",
    });
    if needed { vec![with_key] } else { vec![SecurityRequirement::default(), with_key] }
}

/// The document as it is served.
pub(crate) fn write(document: &OpenApi) -> Bytes {
    // Plain maps and strings, whose writing cannot fail.
    serde_json::to_vec(document).unwrap_or_default().into()
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [&mut item.get, &mut item.put, &mut item.post, &mut item.delete, &mut item.patch].into_iter().flatten()
}

fn add_common_problems(operation: &mut Operation, draws: bool) {
    let mut common = vec![responses::UrlTooLong::responses(), responses::Failed::responses()];
    if draws {
        common.extend([responses::BadKey::responses(), responses::TooManyRequests::responses()]);
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

fn add_request_headers(operation: &mut Operation) {
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
    add("X-Request-Id", "A name for the request, given back with the answer; at most 128 letters, digits and `-_.:`");
    if operation.responses.responses.contains_key("304") {
        add("If-None-Match", "The ETag of an answer that the client has");
    }
}

fn add_response_headers(responses: &mut Responses, limited: bool) {
    let tagged = responses.responses.contains_key("304");
    for (status, response) in &mut responses.responses {
        let RefOr::T(response) = response else { continue };
        let mut add = |name: &str, header: Header| response.headers.insert(name.to_owned(), header.into());
        add("X-Request-Id", header("The name of the request, the client's own or a new one", "trace-1"));
        if limited {
            for (name, description, example) in LIMIT_HEADERS {
                add(name, header(description, example));
            }
        }
        let keepable = tagged && matches!(status.as_str(), "200" | "304");
        let caching = if keepable { "no-cache" } else { "no-store" };
        add("Cache-Control", header("What a cache may do with the answer", caching));
        if keepable {
            add("ETag", header("Changes when the answer does", "W/\"99aa06d3014798d86001c324468d497f\""));
        }
    }
}

/// Left out where the operator sets no limit.
const LIMIT_HEADERS: [(&str, &str, &str); 5] = [
    ("X-RateLimit-Limit", "Requests that may be made in any 60 seconds", "100"),
    ("X-RateLimit-Remaining", "Requests that may still be made now", "97"),
    ("X-RateLimit-Reset", "When one more may be made, in unix seconds", "1794700860"),
    ("RateLimit", "The same as the IETF draft writes it, for each quota", "\"key\";r=97;t=60, \"ip\";r=597;t=60"),
    ("RateLimit-Policy", "The quotas that hold", "\"key\";q=100;w=60, \"ip\";q=600;w=60"),
];

fn header(description: &str, example: &str) -> Header {
    HeaderBuilder::new()
        .schema(Some(Object::with_type(Type::String)))
        .description(Some(description))
        .example(Some(example.into()))
        .build()
}
