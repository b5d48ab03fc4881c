//! The method of a transaction in one word: the function's name in the interface of the called contract or of its implementation,
//! or else that of a standard, or else the selector.

use std::collections::HashMap;

use askama::{Template, filters::HtmlSafe};
use contracts::{KnownInterface, standards};
use domain::{Address, Selector, Transaction};

use super::{known_addresses::KnownAddresses, sanitize_name};

/// The interfaces of the contracts that the transactions of a page call.
#[derive(Debug, Default)]
pub(crate) struct Methods {
    by_contract: HashMap<Address, Vec<KnownInterface>>,
}

impl Methods {
    /// Adds interfaces of a called contract, in the order in which they are searched.
    pub(crate) fn insert(&mut self, contract: Address, interfaces: Vec<KnownInterface>) {
        self.by_contract.insert(contract, interfaces);
    }

    /// The method of a transaction.
    pub(crate) fn name(&self, tx: &Transaction) -> String {
        self.find_own(tx).unwrap_or_else(|| method_name(tx))
    }

    /// Whether the name of the called function is known.
    pub(crate) fn knows(&self, tx: &Transaction) -> bool {
        self.find_own(tx).is_some() || tx.method.is_none_or(|method| standards().function_name(method).is_some())
    }

    /// The method as a list shows it.
    pub(crate) fn label(&self, tx: &Transaction, known: KnownAddresses) -> MethodLabel {
        let receiver = tx.to.zip(tx.method).filter(|_| !self.knows(tx));
        MethodLabel { name: self.name(tx), receiver, known }
    }

    fn find_own(&self, tx: &Transaction) -> Option<String> {
        let (to, selector) = tx.to.zip(tx.method)?;
        let interfaces = self.by_contract.get(&to)?;
        interfaces.iter().find_map(|interface| interface.function_name(selector)).map(sanitize_name)
    }
}

/// The method in a list. An account without code has none: what is sent to it is a message, which turns out when the page is
/// rendered.
#[derive(Debug, Clone, Template)]
#[template(source = r#"<span class="method" title="{{ self.text() }}">{{ self.text() }}</span>"#, ext = "html")]
pub(crate) struct MethodLabel {
    name: String,
    /// Who gets the input, if its first bytes are not those of a known function.
    receiver: Option<(Address, Selector)>,
    known: KnownAddresses,
}

impl HtmlSafe for MethodLabel {}

impl MethodLabel {
    fn text(&self) -> &str {
        let has_no_code = |address: &Address| {
            self.known.get().and_then(|known| known.get(address)).is_some_and(|known| known.has_no_code)
        };
        match &self.receiver {
            Some((address, start)) if has_no_code(address) => message_kind(start),
            _ => &self.name,
        }
    }
}

/// What is sent to an account without code, by its first bytes.
fn message_kind(start: &Selector) -> &'static str {
    let is_text = std::str::from_utf8(start).map_or_else(|error| error.error_len().is_none(), |_| true);
    if is_text && !start.iter().any(u8::is_ascii_control) { "message" } else { "data" }
}

/// The method of a transaction, without the contract's interface.
pub(crate) fn method_name(tx: &Transaction) -> String {
    method_name_of(tx.to, tx.method)
}

pub(crate) fn method_name_of(to: Option<Address>, method: Option<Selector>) -> String {
    match method {
        _ if to.is_none() => "create".to_owned(),
        None => "send".to_owned(),
        Some(selector) => match standards().function_name(selector) {
            Some(name) => name.to_owned(),
            None => format!("{:#x}", alloy_primitives::FixedBytes(selector)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_to_an_account_is_a_message() {
        for (start, kind) in [(*b"Than", "message"), ([0xf0, 0x9f, 0xa6, 0x84], "message"), (*b"Gr\xc3\xbc", "message")]
        {
            assert_eq!(message_kind(&start), kind);
        }
        for start in [[0xef, 0x1f, 0x38, 0xa0], [0, 0, 0, 1]] {
            assert_eq!(message_kind(&start), "data");
        }
    }
}
