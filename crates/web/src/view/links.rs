//! Links between pages.

use askama::{Template, filters::HtmlSafe};
use domain::{Address, B256, BlockNumber, U256};
use enrichment::Imitated;

use super::{
    amount::grouped,
    known_addresses::{Kind, Known, KnownAddresses},
    text::{has_mixed_scripts, sanitize_name},
};

/// An address by name or short form, with the full address as a tooltip and a copy button; without a link on its own page. A name
/// that the contract gives itself stands beside the end of the address, since another contract may have the same name.
#[derive(Debug, Clone, Template)]
#[template(
    source = r#"{% if is_here %}<span class="mono muted" title="{{ full }}">{{ short }}</span>{% else %}<span class="ref">{{ self.mark() }}<a href="/address/{{ full }}"{% if label.is_none() && self.own_name().is_none() %} class="mono"{% endif %} title="{{ full }}">{% if let Some(label) = label %}<bdi>{{ label }}</bdi>{% else if let Some(name) = self.own_name() %}<bdi>{{ name }}</bdi> <span class="mono muted tail">{{ self.tail() }}</span>{% else %}<span class="long">{{ full }}</span><span class="short">{{ short }}</span>{% endif %}</a><button type="button" class="copy" data-copy="{{ full }}" aria-label="Copy address {{ full }}"></button></span>{% endif %}"#,
    ext = "html"
)]
pub(crate) struct AddressLink {
    address: Address,
    full: String,
    short: String,
    /// By the operator, or the common name of an address that nobody controls.
    label: Option<String>,
    /// Whether this is the address that the page is about.
    is_here: bool,
    known: KnownAddresses,
}

impl HtmlSafe for AddressLink {}

impl AddressLink {
    pub(crate) fn new(address: Address, label: Option<&str>, known: KnownAddresses) -> Self {
        let label = label.map(sanitize_name).filter(|label| !label.is_empty());
        let full = address.to_checksum(None);
        Self { address, short: short(&full), full, label, is_here: false, known }
    }

    /// On the page of this address.
    pub(crate) fn here(self) -> Self {
        Self { is_here: true, ..self }
    }

    /// Always by its digits.
    pub(crate) fn without_name(address: Address) -> Self {
        Self::new(address, None, KnownAddresses::default())
    }

    fn own_name(&self) -> Option<&str> {
        find_known(&self.known, &self.address)?.name.as_deref()
    }

    fn mark(&self) -> Mark {
        let known = find_known(&self.known, &self.address);
        Mark::new(known, self.own_name().filter(|_| self.label.is_none()).unwrap_or_default())
    }

    /// The name or the short form, without a link.
    pub(crate) fn text(&self) -> &str {
        self.label.as_deref().or_else(|| self.own_name()).unwrap_or(&self.short)
    }

    /// The last digits, which tell contracts with the same name apart.
    fn tail(&self) -> String {
        format!("…{}", self.full.get(self.full.len() - 6..).unwrap_or_default())
    }
}

fn find_known<'a>(known: &'a KnownAddresses, address: &Address) -> Option<&'a Known> {
    known.get()?.get(address)
}

/// What kind of account an address is, and a warning in words of a name that imitates another one. That a source is verified says
/// what the code is, not who made it: its sign is not one of approval.
#[derive(Debug, Clone, Template)]
#[template(
    source = r##"{% match kind %}{% when Kind::Account %}{% when Kind::Contract %}<span class="mark" role="img" aria-label="Contract" title="Contract"><svg class="i" aria-hidden="true"><use href="#i-contract"/></svg></span>{% when Kind::VerifiedContract %}<span class="mark" role="img" aria-label="Contract, source verified" title="Contract, source verified"><svg class="i" aria-hidden="true"><use href="#i-source"/></svg></span>{% endmatch %}{% match doubt %}{% when Doubt::None %}{% when Doubt::Imitates(original) %}<span class="warn" title="This token imitates {{ original }}, or has the same name by chance"><svg class="i" aria-hidden="true"><use href="#i-warn"/></svg>imitation?</span> {% when Doubt::MixedScripts %}<span class="warn" title="Letters of several alphabets: this name may imitate another one"><svg class="i" aria-hidden="true"><use href="#i-warn"/></svg>odd letters</span> {% endmatch %}"##,
    ext = "html"
)]
pub(crate) struct Mark {
    kind: Kind,
    doubt: Doubt,
}

/// Why a name may mislead.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Doubt {
    None,
    /// With the symbol and the address of the original.
    Imitates(String),
    MixedScripts,
}

impl HtmlSafe for Mark {}

impl Mark {
    fn new(known: Option<&Known>, name: &str) -> Self {
        let doubt = match known.and_then(|known| known.imitates.as_ref()) {
            Some(original) => Doubt::Imitates(imitated_name(original)),
            None if has_mixed_scripts(name) => Doubt::MixedScripts,
            None => Doubt::None,
        };
        Self { kind: known.map(|known| known.kind).unwrap_or_default(), doubt }
    }
}

/// An imitated token by its symbol or name, and the short form of its address.
pub(crate) fn imitated_name(original: &Imitated) -> String {
    let names = [&original.symbol, &original.name].map(|name| sanitize_name(name));
    let name = names.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
    format!("{name} {}", short(&original.address.to_checksum(None)))
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
    source = r#"{{ self.mark() }}<a class="token" href="/token/{{ full }}" title="{{ full_name }} {{ full }}"><bdi>{{ shown }}</bdi></a>"#,
    ext = "html"
)]
pub(crate) struct TokenLink {
    address: Address,
    full: String,
    full_name: String,
    shown: String,
    known: KnownAddresses,
}

impl HtmlSafe for TokenLink {}

impl TokenLink {
    pub(crate) fn new(address: Address, symbol: &str, name: &str, known: KnownAddresses) -> Self {
        let full = address.to_checksum(None);
        let shown = [sanitize_name(symbol), sanitize_name(name)]
            .into_iter()
            .find(|text| !text.is_empty())
            .unwrap_or_else(|| short(&full));
        Self { address, full, full_name: sanitize_name(name), shown, known }
    }

    /// Every token is a contract, so only a verified one has a mark.
    fn mark(&self) -> Mark {
        let mut mark = Mark::new(find_known(&self.known, &self.address), &self.shown);
        if mark.kind == Kind::Contract {
            mark.kind = Kind::Account;
        }
        mark
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
