use std::fmt;

use serde::{Serialize, Serializer};
use utoipa::{
    ToSchema,
    openapi::{Object, ObjectBuilder, Type, schema::SchemaType},
};

use super::{AnyCaseAddress, Timestamp};
use crate::{
    error::ApiError,
    keys::{IssuedKey, KeyText, Proof, SignatureBytes},
    params::{Fields, FromBody, parse_address},
};

const MAX_LABEL_CHARACTERS: usize = 100;
const TIMESTAMP: &str = "timestamp";

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ApiKey)]
pub struct ApiKey {
    pub id: u64,
    /// The first characters of the key.
    #[schema(example = "expl_4fT9kQz")]
    pub key_prefix: String,
    #[schema(example = "ci")]
    pub label: String,
    /// Requests allowed in any 60 seconds; 0: no limit.
    pub requests_per_minute: u32,
    pub total_requests: u64,
    pub created_at: Timestamp,
    /// That of its creation if it was never used.
    pub last_used_at: Timestamp,
    /// False if the key is revoked.
    pub active: bool,
}

impl From<domain::ApiKey> for ApiKey {
    fn from(key: domain::ApiKey) -> Self {
        Self {
            id: key.id,
            key_prefix: key.prefix,
            label: key.label,
            requests_per_minute: key.requests_per_minute,
            total_requests: key.total_requests,
            created_at: Timestamp::from_unix_millis(key.created_at),
            last_used_at: Timestamp::from_unix_millis(key.last_used_at),
            active: key.active,
        }
    }
}

/// All active keys and the newest revoked ones, newest first.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ApiKeyList {
    pub keys: Vec<ApiKey>,
}

impl From<Vec<domain::ApiKey>> for ApiKeyList {
    fn from(keys: Vec<domain::ApiKey>) -> Self {
        Self { keys: keys.into_iter().map(ApiKey::from).collect() }
    }
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedKey {
    pub id: u64,
    pub key: Revealed,
    /// It identifies the key in lists.
    #[schema(example = "expl_4fT9kQz")]
    pub key_prefix: String,
    pub message: &'static str,
}

impl From<IssuedKey> for CreatedKey {
    fn from(issued: IssuedKey) -> Self {
        Self {
            id: issued.key.id,
            key: Revealed(issued.text),
            key_prefix: issued.key.prefix,
            message: "Store this key: it is not shown again. Send it in the header X-API-Key.",
        }
    }
}

/// The full key, for the header X-API-Key.
#[derive(ToSchema)]
#[schema(
    value_type = String,
    pattern = "^expl_[0-9A-Za-z]{38}$",
    example = "expl_4fT9kQzW0bXy7NcLr2MdVh8JsGpAe5Ui1BLl5t"
)]
pub struct Revealed(KeyText);

impl Serialize for Revealed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.reveal())
    }
}

impl fmt::Debug for Revealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct RevokedKey {
    pub success: bool,
    pub id: u64,
    pub message: &'static str,
}

impl RevokedKey {
    #[must_use]
    pub fn new(id: u64) -> Self {
        Self { success: true, id, message: "The key is revoked." }
    }
}

/// Proof of ownership: a wallet's signature of the three lines
/// `Explorer API Key Request`, `Address: <ownerAddress in lower case>` and `Timestamp: <timestamp>`,
/// separated by a line feed.
#[derive(Debug, ToSchema)]
#[schema(as = NewKey)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewKeyRequest {
    #[schema(value_type = AnyCaseAddress)]
    pub(crate) owner_address: domain::Address,
    /// Empty by default.
    #[schema(
        value_type = Option<String>,
        max_length = 100,
        pattern = "^[^\\x00-\\x1f\\x7f-\\x9f]*$",
        example = "ci"
    )]
    pub(crate) label: String,
    /// By personal_sign or eth_sign: 65 bytes, or 64 in the compact form; or a signature that a contract wallet accepts
    /// (ERC-1271, ERC-6492).
    #[schema(
        value_type = String,
        pattern = "^(0x)?([0-9a-fA-F]{2}){0,16384}$",
        example = "0x8f0a0b7e1c5c1f1f0d3f0c6f9e3b5a7d2c4e6f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c1b"
    )]
    pub(crate) signature: SignatureBytes,
    #[schema(schema_with = timestamp_schema)]
    pub(crate) timestamp: u64,
}

fn timestamp_schema() -> Object {
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Integer, Type::String]))
        .description(Some(
            "Unix milliseconds, as in the signed text, as a number or a string of digits; within 5 minutes of now, and not used \
             before by this owner.",
        ))
        .minimum(Some(100_000_000_000_u64))
        .maximum(Some(9_007_199_254_740_991_u64))
        .pattern(Some("^[1-9][0-9]{11,14}$"))
        .examples([1_794_700_800_000_u64])
        .build()
}

impl FromBody for NewKeyRequest {
    fn from_json(json: &[u8]) -> Result<Self, ApiError> {
        Fields::read(json, |fields| {
            Ok(Self {
                owner_address: parse_address("ownerAddress", &fields.text("ownerAddress")?)?,
                label: label(fields.find_text("label")?.unwrap_or_default())?,
                signature: SignatureBytes::parse(&fields.text("signature")?)?,
                timestamp: fields.find_digits(TIMESTAMP)?.ok_or(ApiError::MissingField { field: TIMESTAMP })?,
            })
        })
    }
}

impl NewKeyRequest {
    pub(crate) fn proof(&self) -> Proof {
        Proof { owner: self.owner_address, signed_at: self.timestamp }
    }
}

fn label(text: String) -> Result<String, ApiError> {
    let rule = |rule| ApiError::InvalidParameter { field: "label", rule };
    if text.chars().count() > MAX_LABEL_CHARACTERS {
        return Err(rule("must not have more than 100 characters"));
    }
    if text.chars().any(char::is_control) {
        return Err(rule("must not have control characters"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_key_has_the_documented_names_and_types() {
        let key = domain::ApiKey {
            id: 7,
            digest: domain::KeyDigest::new([1; 32]),
            owner: domain::Address::repeat_byte(2),
            prefix: "expl_4fT9kQz".to_owned(),
            label: "ci".to_owned(),
            requests_per_minute: 100,
            total_requests: 3,
            created_at: 1_794_700_800_123,
            last_used_at: 1_794_700_801_000,
            active: true,
        };
        insta::assert_json_snapshot!(ApiKeyList::from(vec![key]), @r#"
        {
          "keys": [
            {
              "id": 7,
              "keyPrefix": "expl_4fT9kQz",
              "label": "ci",
              "requestsPerMinute": 100,
              "totalRequests": 3,
              "createdAt": "2026-11-15T00:00:00.123Z",
              "lastUsedAt": "2026-11-15T00:00:01.000Z",
              "active": true
            }
          ]
        }
        "#);
    }

    #[test]
    fn debug_does_not_show_the_key() {
        let text = KeyText::generate();
        let shown = format!("{:?}", Revealed(text.clone()));
        assert!(!shown.contains(text.reveal()), "{shown}");
        assert_eq!(serde_json::to_value(Revealed(text.clone())).unwrap(), text.reveal());
    }

    #[test]
    fn long_labels_and_control_characters_are_rejected() {
        assert!(label("\u{1f511}".repeat(100)).is_ok());
        for text in ["a".repeat(101), "a\nb".to_owned(), "\u{1b}[31m".to_owned()] {
            assert_eq!(label(text).unwrap_err().problem().field.as_deref(), Some("label"));
        }
    }
}
