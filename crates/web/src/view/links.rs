//! Links between pages.

use askama::{Template, filters::HtmlSafe};
use domain::{Address, B256, BlockNumber, U256};

use super::{amount::grouped, text::sanitize_name};

/// An address by name or short form, with the full address as a tooltip and a copy button.
#[derive(Debug, Clone, Template)]
#[template(
    source = r#"<span class="ref"><a href="/address/{{ full }}"{% if !named %} class="mono"{% endif %} title="{{ full }}">{% if named %}<bdi>{{ shown }}</bdi>{% else %}<span class="long">{{ full }}</span><span class="short">{{ shown }}</span>{% endif %}</a><button type="button" class="copy" data-copy="{{ full }}" aria-label="Copy address {{ full }}"></button></span>"#,
    ext = "html"
)]
pub(crate) struct AddressLink {
    full: String,
    shown: String,
    named: bool,
}

impl HtmlSafe for AddressLink {}

impl AddressLink {
    pub(crate) fn new(address: Address, name: Option<&str>) -> Self {
        let full = address.to_checksum(None);
        let name = name.map(sanitize_name).filter(|name| !name.is_empty());
        let named = name.is_some();
        Self { shown: name.unwrap_or_else(|| short(&full)), full, named }
    }
}

#[derive(Debug, Clone, Template)]
#[template(
    source = r#"<span class="ref"><a href="/tx/{{ full }}" class="mono" title="{{ full }}">{{ shown }}</a><button type="button" class="copy" data-copy="{{ full }}" aria-label="Copy transaction hash {{ full }}"></button></span>"#,
    ext = "html"
)]
pub(crate) struct TransactionLink {
    full: String,
    shown: String,
}

impl HtmlSafe for TransactionLink {}

impl TransactionLink {
    pub(crate) fn new(hash: B256) -> Self {
        let full = format!("{hash:#x}");
        Self { shown: short(&full), full }
    }
}

#[derive(Debug, Clone, Template)]
#[template(source = r#"<a href="/block/{{ number }}" class="num">{{ shown }}</a>"#, ext = "html")]
pub(crate) struct BlockLink {
    number: BlockNumber,
    shown: String,
}

impl HtmlSafe for BlockLink {}

impl BlockLink {
    pub(crate) fn new(number: BlockNumber) -> Self {
        Self { number, shown: grouped(number) }
    }
}

/// A token by symbol, name or address.
#[derive(Debug, Clone, Template)]
#[template(
    source = r#"<a class="token" href="/token/{{ address }}" title="{{ full_name }} {{ address }}"><bdi>{{ shown }}</bdi></a>"#,
    ext = "html"
)]
pub(crate) struct TokenLink {
    address: String,
    full_name: String,
    shown: String,
}

impl HtmlSafe for TokenLink {}

impl TokenLink {
    pub(crate) fn new(address: Address, symbol: &str, name: &str) -> Self {
        let full = address.to_checksum(None);
        let shown = [sanitize_name(symbol), sanitize_name(name)]
            .into_iter()
            .find(|text| !text.is_empty())
            .unwrap_or_else(|| short(&full));
        Self { address: full, full_name: sanitize_name(name), shown }
    }
}

/// One id of a token.
#[derive(Debug, Clone, Template)]
#[template(
    source = r#"<a class="id num" href="/token/{{ address }}/{{ id }}" title="{{ id }}">{% if has_thumbnail %}<img class="thumbnail" src="/token/{{ address }}/{{ id }}/image" alt="" loading="lazy"> {% endif %}#{{ id }}</a>"#,
    ext = "html"
)]
pub(crate) struct NftLink {
    address: String,
    id: String,
    has_thumbnail: bool,
}

impl HtmlSafe for NftLink {}

impl NftLink {
    pub(crate) fn new(token: Address, id: U256) -> Self {
        Self { address: token.to_checksum(None), id: id.to_string(), has_thumbnail: false }
    }

    pub(crate) fn with_thumbnail(self, has_thumbnail: bool) -> Self {
        Self { has_thumbnail, ..self }
    }
}

/// The first and last digits of a hash or address.
pub(crate) fn short(hex: &str) -> String {
    match (hex.get(..8), hex.len().checked_sub(6).and_then(|end| hex.get(end..))) {
        (Some(first), Some(last)) if hex.len() > 18 => format!("{first}…{last}"),
        _ => hex.to_owned(),
    }
}
