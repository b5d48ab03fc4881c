//! The OpenAPI document. The routes describe themselves; here is what they have in common.

mod responses;
#[cfg(test)]
mod tests;

use axum::body::Bytes;
use utoipa::{
    IntoResponses, PartialSchema,
    openapi::{
        Components, Header, HeaderBuilder, InfoBuilder, LicenseBuilder, Object, OpenApi, OpenApiBuilder, RefOr,
        Required, Type,
        path::{Operation, ParameterBuilder, ParameterIn, PathItem},
        response::Responses,
        tag::TagBuilder,
    },
};

use crate::wire::{Problem, ProblemCode};

pub(crate) use responses::{
    BadBody, BadParameter, BodyTooLarge, NoSuchAddress, NoSuchBlock, NoSuchToken, NoSuchTransaction,
    NodeOrIndexUnavailable, NotDeclaredJson, NotModified, Unavailable,
};

const DESCRIPTION: &str = "\
Blocks, transactions, tokens, transfers, trades and addresses of an EVM chain.

Addresses and hashes are taken in any letter case and given in lower case. Numbers that may exceed what JSON carries \
safely are decimal strings. Times are UTC. Lists are newest first, tokens by holders; unknown query parameters are ignored. HEAD is \
answered wherever GET is.

Errors are problem documents (RFC 9457): `code` is stable, `field` names the input at fault. A path that is not listed \
is answered 404 `route_not_found`; a listed one with another method 405 `method_not_allowed`, with `Allow`. A 503 comes \
with `Retry-After`.

Answers carry an `ETag`: sent back in `If-None-Match`, it is answered 304 while it holds.";

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
            tag("health", "How the service is doing"),
            tag("meta", "The API itself"),
        ]))
        .build()
}

/// Adds what holds for every operation: the problems that any may meet, whatever it does, and the headers that the layers set.
pub(crate) fn complete(document: &mut OpenApi) {
    let components = document.components.get_or_insert_with(Components::new);
    components.schemas.insert("Problem".to_owned(), Problem::schema());
    components.schemas.insert("ProblemCode".to_owned(), ProblemCode::schema());
    for operation in document.paths.paths.values_mut().flat_map(operations) {
        add_common_problems(&mut operation.responses);
        add_request_headers(operation);
        add_response_headers(&mut operation.responses);
    }
}

/// The document as it is served.
pub(crate) fn write(document: &OpenApi) -> Bytes {
    // Plain maps and strings, whose writing cannot fail.
    serde_json::to_vec(document).unwrap_or_default().into()
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [&mut item.get, &mut item.put, &mut item.post, &mut item.delete, &mut item.patch].into_iter().flatten()
}

fn add_common_problems(responses: &mut Responses) {
    let common = [responses::UrlTooLong::responses(), responses::Failed::responses()];
    for (status, response) in common.into_iter().flatten() {
        responses.responses.entry(status).or_insert(response);
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

fn add_response_headers(responses: &mut Responses) {
    let tagged = responses.responses.contains_key("304");
    for (status, response) in &mut responses.responses {
        let RefOr::T(response) = response else { continue };
        let mut add = |name: &str, header: Header| response.headers.insert(name.to_owned(), header.into());
        add("X-Request-Id", header("The name of the request, the client's own or a new one", "trace-1"));
        let keepable = tagged && matches!(status.as_str(), "200" | "304");
        let caching = if keepable { "no-cache" } else { "no-store" };
        add("Cache-Control", header("What a cache may do with the answer", caching));
        if keepable {
            add("ETag", header("Changes when the answer does", "W/\"99aa06d3014798d86001c324468d497f\""));
        }
    }
}

fn header(description: &str, example: &str) -> Header {
    HeaderBuilder::new()
        .schema(Some(Object::with_type(Type::String)))
        .description(Some(description))
        .example(Some(example.into()))
        .build()
}
