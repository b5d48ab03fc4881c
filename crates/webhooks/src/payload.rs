//! Message bodies. A body is serialized once and stored, so every attempt sends the same bytes.

use domain::{
    BlockNumber, BlockRef, Bytes, Delivery, EventKind, InternalTransaction, TokenPrefix, Transaction, Transfer,
    UnixMillis, UtcTime, WebhookId,
};
use serde::Serialize;
use serde_json::{Map, Value};
use store::StoreError;

#[derive(Serialize)]
struct Message<T> {
    event: &'static str,
    timestamp: String,
    /// How many times the same block has become canonical; missing for the first time.
    #[serde(skip_serializing_if = "Option::is_none")]
    inclusion: Option<u32>,
    data: T,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TxData {
    hash: String,
    from: String,
    to: String,
    value: String,
    block_number: BlockNumber,
    block_hash: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TransferData<'a> {
    #[serde(flatten)]
    tx: TxData,
    token_address: String,
    /// Null if it was not read from the contract in time, like the symbol.
    token_name: Option<&'a str>,
    token_symbol: Option<&'a str>,
    /// Null if it was not read in time, or if the contract has none.
    token_decimals: Option<u8>,
    token_type: &'static str,
    token_id: Option<String>,
    log_index: u32,
    batch_index: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InternalData {
    #[serde(flatten)]
    tx: TxData,
    r#type: &'static str,
    position: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PingData {
    webhook_id: WebhookId,
}

pub(crate) fn tx(transaction: &Transaction, inclusion: Option<u32>) -> Bytes {
    let data = TxData {
        hash: format!("{:#x}", transaction.hash),
        from: format!("{:#x}", transaction.from),
        to: transaction.to.map(|to| format!("{to:#x}")).unwrap_or_default(),
        value: transaction.value.to_string(),
        block_number: transaction.block_number,
        block_hash: format!("{:#x}", transaction.block_hash),
    };
    serialize(EventKind::Tx, UtcTime::from_unix_seconds(transaction.timestamp).to_string(), inclusion, data)
}

pub(crate) fn token_transfer(
    transfer: &Transfer,
    block: &BlockRef,
    prefix: TokenPrefix,
    inclusion: Option<u32>,
) -> Bytes {
    let event = &transfer.event;
    let data = TransferData {
        tx: TxData {
            hash: format!("{:#x}", transfer.tx_hash),
            from: format!("{:#x}", event.from),
            to: format!("{:#x}", event.to),
            value: event.value.to_string(),
            block_number: transfer.block_number,
            block_hash: format!("{:#x}", block.hash),
        },
        token_address: format!("{:#x}", event.token),
        token_name: transfer.token_name.as_deref(),
        token_symbol: transfer.token_symbol.as_deref(),
        token_decimals: transfer.token_decimals,
        token_type: prefix.name(event.kind),
        token_id: event.token_id.map(|id| id.to_string()),
        log_index: event.log_index,
        batch_index: event.batch_index,
    };
    let timestamp = UtcTime::from_unix_seconds(transfer.timestamp).to_string();
    serialize(EventKind::TokenTransfer, timestamp, inclusion, data)
}

pub(crate) fn internal(transaction: &InternalTransaction, block: &BlockRef, inclusion: Option<u32>) -> Bytes {
    let event = &transaction.event;
    let data = InternalData {
        tx: TxData {
            hash: format!("{:#x}", transaction.tx_hash),
            from: format!("{:#x}", event.from),
            to: event.to.map(|to| format!("{to:#x}")).unwrap_or_default(),
            value: event.value.to_string(),
            block_number: transaction.block_number,
            block_hash: format!("{:#x}", block.hash),
        },
        r#type: event.kind.name(),
        position: event.position,
    };
    let timestamp = UtcTime::from_unix_seconds(transaction.timestamp).to_string();
    serialize(EventKind::Internal, timestamp, inclusion, data)
}

/// The retraction of a message: the same data with the id and event of the retracted message.
pub(crate) fn removed(delivery: &Delivery, retracted: &[u8]) -> Result<Bytes, StoreError> {
    const INVALID: StoreError = StoreError::Corrupt("a message that is not one of ours");
    let mut retracted: Map<String, Value> = serde_json::from_slice(retracted).map_err(|_| INVALID)?;
    let Some(Value::Object(mut data)) = retracted.remove("data") else { return Err(INVALID) };
    data.insert("removedEvent".to_owned(), delivery.kind.name().into());
    data.insert("removedDelivery".to_owned(), delivery.id.to_string().into());
    let count = |count: &Value| count.as_u64().and_then(|count| u32::try_from(count).ok()).ok_or(INVALID);
    let inclusion = retracted.get("inclusion").map(count).transpose()?;
    let timestamp = retracted.get("timestamp").and_then(Value::as_str).ok_or(INVALID)?;
    Ok(serialize(EventKind::Removed, timestamp.to_owned(), inclusion, data))
}

pub(crate) fn ping(webhook: WebhookId, now: UnixMillis) -> Bytes {
    serialize(EventKind::Ping, UtcTime::from_unix_millis(now).to_string(), None, PingData { webhook_id: webhook })
}

fn serialize(kind: EventKind, timestamp: String, inclusion: Option<u32>, data: impl Serialize) -> Bytes {
    // Strings and numbers only: serialization cannot fail.
    serde_json::to_vec(&Message { event: kind.name(), timestamp, inclusion, data }).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use domain::{Address, B256, DeliveryId, DeliveryStatus, TokenKind, TransferEvent, U256};
    use serde_json::json;

    use super::*;

    fn transaction() -> Transaction {
        Transaction {
            hash: B256::repeat_byte(1),
            block_number: 77,
            from: Address::repeat_byte(0xaa),
            to: Some(Address::repeat_byte(0xbb)),
            ..Transaction::sample()
        }
    }

    fn delivered() -> Delivery {
        Delivery {
            webhook: 1,
            number: 1,
            id: DeliveryId::new([7; 16]),
            kind: EventKind::Tx,
            location: None,
            created_at: 0,
            status: DeliveryStatus::Delivered,
            retracted: false,
            attempt_count: 1,
            attempts: Vec::new(),
        }
    }

    fn json_of(bytes: &[u8]) -> Value {
        serde_json::from_slice(bytes).unwrap()
    }

    #[test]
    fn a_transaction_has_the_documented_fields() {
        let message = json_of(&tx(&transaction(), None));
        assert_eq!(message["event"], "tx");
        assert_eq!(message["timestamp"], "2026-11-15T00:00:00.000Z");
        assert_eq!(message["data"]["hash"], format!("0x{}", "01".repeat(32)));
        assert_eq!(message["data"]["from"], format!("0x{}", "aa".repeat(20)));
        assert_eq!(message["data"]["to"], format!("0x{}", "bb".repeat(20)));
        assert_eq!(message["data"]["value"], U256::MAX.to_string());
        assert_eq!(message["data"]["blockNumber"], 77);
        let creation = json_of(&tx(&Transaction { to: None, ..transaction() }, None));
        assert_eq!(creation["data"]["to"], "");
    }

    #[test]
    fn a_transfer_has_the_documented_fields() {
        let transfer = Transfer {
            event: TransferEvent {
                tx_index: 0,
                log_index: 5,
                batch_index: 1,
                token: Address::repeat_byte(0xcc),
                kind: TokenKind::Bep1155,
                from: Address::repeat_byte(0xaa),
                to: Address::repeat_byte(0xbb),
                value: U256::from(3),
                token_id: Some(U256::from(9)),
            },
            tx_hash: B256::repeat_byte(1),
            block_number: 77,
            timestamp: 1_794_700_800,
            token_name: Some("A \"token\"".to_owned()),
            token_symbol: Some("TKN".to_owned()),
            token_decimals: Some(18),
        };
        let block = BlockRef { number: 77, hash: B256::repeat_byte(2) };
        let message = json_of(&token_transfer(&transfer, &block, TokenPrefix::Bep, None));
        assert_eq!(message["event"], "token_transfer");
        let data = &message["data"];
        assert_eq!((&data["tokenName"], &data["tokenType"]), (&json!("A \"token\""), &json!("BEP1155")));
        assert_eq!((&data["tokenId"], &data["value"]), (&json!("9"), &json!("3")));
        assert_eq!((&data["logIndex"], &data["tokenDecimals"]), (&json!(5), &json!(18)));
        let plain = Transfer { event: TransferEvent { token_id: None, ..transfer.event }, ..transfer };
        assert_eq!(json_of(&token_transfer(&plain, &block, TokenPrefix::Bep, None))["data"]["tokenId"], Value::Null);
    }

    #[test]
    fn a_removal_repeats_the_data_and_names_the_retracted_message() {
        let original = tx(&transaction(), None);
        let delivery = delivered();
        let message = json_of(&removed(&delivery, &original).unwrap());
        assert_eq!((&message["event"], &message["timestamp"]), (&json!("removed"), &json!("2026-11-15T00:00:00.000Z")));
        assert_eq!(message["data"]["hash"], json_of(&original)["data"]["hash"]);
        assert_eq!(
            (&message["data"]["removedEvent"], &message["data"]["removedDelivery"]),
            (&json!("tx"), &json!(delivery.id.to_string()))
        );
        assert_eq!(message.get("inclusion"), None);
    }

    #[test]
    fn a_damaged_message_is_not_retracted_with_empty_data() {
        for damaged in [
            &b""[..],
            b"{",
            b"{}",
            br#"{"data":{}}"#,
            br#"{"timestamp":"2026-11-15T00:00:00.000Z"}"#,
            br#"{"timestamp":"2026-11-15T00:00:00.000Z","data":{},"inclusion":"2"}"#,
            br#"{"timestamp":"2026-11-15T00:00:00.000Z","data":{},"inclusion":4294967296}"#,
        ] {
            assert!(matches!(removed(&delivered(), damaged), Err(StoreError::Corrupt(_))));
        }
    }

    #[test]
    fn messages_of_a_reincluded_block_and_their_removals_have_an_inclusion_count() {
        let again = tx(&transaction(), Some(2));
        let (message, first) = (json_of(&again), json_of(&tx(&transaction(), None)));
        assert_eq!((&message["inclusion"], &message["data"]), (&json!(2), &first["data"]));
        assert_eq!(first.get("inclusion"), None);
        assert_eq!(json_of(&removed(&delivered(), &again).unwrap())["inclusion"], 2);
    }

    #[test]
    fn the_same_event_gives_the_same_bytes() {
        assert_eq!(tx(&transaction(), None), tx(&transaction(), None));
    }
}
