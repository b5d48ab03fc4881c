//! Parses requests as far as needed to find a recorded result.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

pub(super) enum RpcBody<'a> {
    Single(Call<'a>),
    Batch(Vec<Call<'a>>),
}

pub(super) struct Call<'a> {
    text: &'a str,
    envelope: Envelope<'a>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

/// The recorded forms of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    Full,
    Receipts,
}

impl<'a> RpcBody<'a> {
    pub(super) fn read(body: &'a [u8]) -> Option<Self> {
        let text = std::str::from_utf8(body).ok()?;
        if !text.trim_start().starts_with('[') {
            return Call::read(text).map(Self::Single);
        }
        let calls: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        calls.into_iter().map(|call| Call::read(call.get())).collect::<Option<_>>().map(Self::Batch)
    }
}

impl<'a> Call<'a> {
    fn read(text: &'a str) -> Option<Self> {
        Some(Self { text, envelope: serde_json::from_str(text).ok()? })
    }

    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    pub(super) fn method(&self) -> &str {
        &self.envelope.method
    }

    pub(super) fn id(&self) -> &'a str {
        self.envelope.id.get()
    }

    /// The number and the form of the requested block, if the call requests one.
    pub(super) fn requested_block(&self) -> Option<(u64, View)> {
        let params = self.envelope.params?.get();
        let (number, view): (Cow<'_, str>, View) = match &*self.envelope.method {
            "eth_getBlockByNumber" => {
                let (number, full) = serde_json::from_str::<(Cow<'_, str>, bool)>(params).ok()?;
                full.then_some((number, View::Full))?
            }
            "eth_getBlockReceipts" => (serde_json::from_str::<(Cow<'_, str>,)>(params).ok()?.0, View::Receipts),
            _ => return None,
        };
        // Fails for tags, and for hashes, which are longer than any number.
        let number = u64::from_str_radix(number.strip_prefix("0x")?, 16).ok()?;
        Some((number, view))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Call<'_> {
        Call::read(text).unwrap()
    }

    #[test]
    fn blocks_and_receipts_by_number_are_recognised() {
        let block = one(r#"{"jsonrpc":"2.0","id":7,"method":"eth_getBlockByNumber","params":["0x1f",true]}"#);
        assert_eq!(block.requested_block(), Some((31, View::Full)));
        assert_eq!(block.id(), "7");
        let receipts = one(r#"{"id":"a","method":"eth_getBlockReceipts","params":["0x0"]}"#);
        assert_eq!(receipts.requested_block(), Some((0, View::Receipts)));
    }

    #[test]
    fn tags_hashes_headers_and_other_methods_are_forwarded() {
        let hash = format!(r#"{{"id":1,"method":"eth_getBlockReceipts","params":["0x{}"]}}"#, "ab".repeat(32));
        for text in [
            r#"{"id":1,"method":"eth_getBlockByNumber","params":["latest",true]}"#,
            r#"{"id":1,"method":"eth_getBlockByNumber","params":["0x1",false]}"#,
            r#"{"id":1,"method":"eth_chainId","params":[]}"#,
            r#"{"id":1,"method":"eth_chainId"}"#,
            &hash,
        ] {
            assert_eq!(one(text).requested_block(), None, "{text}");
        }
    }

    #[test]
    fn a_batch_is_parsed_into_calls() {
        let Some(RpcBody::Batch(calls)) = RpcBody::read(br#"[{"id":1,"method":"a"},{"id":2,"method":"b"}]"#) else {
            panic!("no batch")
        };
        assert_eq!(calls.iter().map(Call::id).collect::<Vec<_>>(), ["1", "2"]);
        assert!(RpcBody::read(b"{").is_none());
    }
}
