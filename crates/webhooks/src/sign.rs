//! Headers and signatures of messages: one signature over the body, and one as specified by Standard Webhooks.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use domain::{ClaimedDelivery, UnixMillis};
use hyper::{
    HeaderMap,
    header::{CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT},
};
use ring::hmac;

use crate::secrets::{Secret, Secrets};

const AGENT: HeaderValue = HeaderValue::from_static("Explorer-Webhook/1.0");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

const SIGNATURE: HeaderName = HeaderName::from_static("x-explorer-signature");
const EVENT: HeaderName = HeaderName::from_static("x-explorer-event");
const DELIVERY: HeaderName = HeaderName::from_static("x-explorer-delivery");
const ATTEMPT: HeaderName = HeaderName::from_static("x-explorer-attempt");
/// Messages that were dropped before this one because too many were pending.
const DROPPED: HeaderName = HeaderName::from_static("x-explorer-dropped");
const STANDARD_ID: HeaderName = HeaderName::from_static("webhook-id");
const STANDARD_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const STANDARD_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// The headers of one attempt.
pub(crate) fn headers(delivery: &ClaimedDelivery, secrets: &Secrets, now: UnixMillis) -> HeaderMap {
    let id = delivery.id.to_string();
    let seconds = now / 1_000;
    let mut standard = standard_signature(&secrets.current, &id, seconds, &delivery.body);
    for retired in secrets.retired(now) {
        standard.push(' ');
        standard.push_str(&standard_signature(retired, &id, seconds, &delivery.body));
    }
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, JSON);
    headers.insert(USER_AGENT, AGENT);
    headers.insert(EVENT, HeaderValue::from_static(delivery.kind.name()));
    headers.insert(ATTEMPT, HeaderValue::from(delivery.attempt_count + 1));
    headers.insert(STANDARD_TIMESTAMP, HeaderValue::from(seconds));
    if delivery.dropped.unreported() > 0 {
        headers.insert(DROPPED, HeaderValue::from(delivery.dropped.unreported()));
    }
    for (name, value) in [
        (SIGNATURE, signature(&secrets.current, &delivery.body)),
        (DELIVERY, id.clone()),
        (STANDARD_ID, id),
        (STANDARD_SIGNATURE, standard),
    ] {
        // Always valid: these values are ASCII letters, digits and punctuation.
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    }
    headers
}

/// `sha256=` and HMAC-SHA256 of the body, keyed with the whole text of the secret.
fn signature(secret: &Secret, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.reveal().as_bytes());
    let tag = hmac::sign(&key, body);
    tag.as_ref().iter().fold("sha256=".to_owned(), |text, byte| text + &format!("{byte:02x}"))
}

/// `v1,` and HMAC-SHA256 of id, time and body, keyed with the decoded bytes of the secret.
fn standard_signature(secret: &Secret, id: &str, seconds: u64, body: &[u8]) -> String {
    let mut signing = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, &secret.key_bytes()));
    signing.update(format!("{id}.{seconds}.").as_bytes());
    signing.update(body);
    format!("v1,{}", STANDARD.encode(signing.sign()))
}

#[cfg(test)]
mod tests {
    use domain::{Bytes, DeliveryId, DropCount, EventKind};

    use super::*;

    fn delivery(body: &'static str) -> ClaimedDelivery {
        ClaimedDelivery {
            webhook: 1,
            number: 1,
            id: DeliveryId::new([0x5a; 16]),
            kind: EventKind::Tx,
            body: Bytes::from_static(body.as_bytes()),
            created_at: 0,
            attempt_count: 2,
            dropped: DropCount { total: 9, reported: 9 },
        }
    }

    /// The example in docs/webhooks.md, which receivers use to test their code.
    #[test]
    fn the_documented_example_has_the_documented_signatures() {
        let (_, page) =
            include_str!("../../../docs/webhooks.md").split_once("Test your code with these values").unwrap();
        let documented = |name: &str| {
            let mark = format!("| `{name}` | `");
            let (_, rest) = page.split_once(&mark).unwrap_or_else(|| panic!("{name} is not documented"));
            rest.split_once("` |").unwrap().0.to_owned()
        };
        let secret = Secret::from_bytes(&(0..32).collect::<Vec<u8>>());
        assert_eq!(documented("secret"), secret.reveal());
        let body: &'static str = Box::leak(documented("body").into_boxed_str());
        let headers = headers(&delivery(body), &Secrets::of(secret, Vec::new()), 1_794_700_800_123);
        for name in ["x-explorer-signature", "webhook-id", "webhook-timestamp", "webhook-signature"] {
            assert_eq!(headers[name].to_str().unwrap(), documented(name), "{name}");
        }
    }

    #[test]
    fn all_headers_are_present_and_attempts_count_from_one() {
        let headers = headers(&delivery("{}"), &Secrets::of(Secret::generate(), Vec::new()), 1_000);
        assert_eq!(headers["content-type"], "application/json");
        assert_eq!(headers["user-agent"], "Explorer-Webhook/1.0");
        assert_eq!(headers["x-explorer-event"], "tx");
        assert_eq!(headers["x-explorer-attempt"], "3");
        assert_eq!(headers["x-explorer-delivery"], headers["webhook-id"]);
        assert_eq!(headers["webhook-timestamp"], "1");
    }

    #[test]
    fn dropped_messages_are_announced_until_a_delivery_succeeds() {
        let secrets = Secrets::of(Secret::generate(), Vec::new());
        let reported = delivery("{}");
        assert!(!headers(&reported, &secrets, 1_000).contains_key("x-explorer-dropped"));
        let unreported = ClaimedDelivery { dropped: DropCount { total: 12, reported: 9 }, ..reported };
        assert_eq!(headers(&unreported, &secrets, 1_000)["x-explorer-dropped"], "3");
    }

    #[test]
    fn a_retired_secret_also_signs_until_it_expires() {
        let (new, old, older) = (Secret::generate(), Secret::generate(), Secret::generate());
        let secrets = Secrets::of(new.clone(), vec![(old.clone(), 2_000), (older.clone(), 1_999)]);
        let signatures =
            |now| headers(&delivery("{}"), &secrets, now)["webhook-signature"].to_str().unwrap().to_owned();
        let id = delivery("{}").id.to_string();
        let expected = [&new, &old].map(|secret| standard_signature(secret, &id, 1, b"{}"));
        assert_eq!(signatures(1_999), expected.join(" "));
        assert_eq!(
            signatures(1_998),
            [&expected.join(" "), &standard_signature(&older, &id, 1, b"{}")].map(String::as_str).join(" ")
        );
        assert_eq!(signatures(2_000), standard_signature(&new, &id, 2, b"{}"));
    }
}
