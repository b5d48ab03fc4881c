//! Calls whose result is passed on as the node sent it.

use std::time::Duration;

use serde::{Deserialize, Deserializer};
use sonic_rs::LazyValue;

use crate::{
    NodeError,
    upstream::{Call, Upstream},
};

/// A client waits for the response.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The JSON text of a result.
struct RawJson(String);

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        LazyValue::deserialize(deserializer).map(|value| Self(value.as_raw_str().to_owned()))
    }
}

pub(crate) async fn pass(upstream: &Upstream, method: &'static str, params: &str) -> Result<String, NodeError> {
    let call = Call::new(method, params).within(TIMEOUT).once();
    Ok(upstream.call::<RawJson>(&call).await?.map_or_else(|| "null".to_owned(), |RawJson(text)| text))
}
