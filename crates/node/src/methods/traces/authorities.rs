//! Which authorizations of a transaction had an effect (EIP-7702): the rules of the protocol, applied to the accounts as they were
//! before the transaction.

use std::collections::BTreeMap;

use domain::{Address, Authorization, AuthorizationOutcome, B256};
use serde::Deserialize;

use super::request::{self, TIMEOUT};
use crate::{
    decode::{HexBytes, Quantity},
    endpoint::{call::Call, upstream::Upstream},
    error::NodeError,
    rpc_method::RpcMethod,
};

/// Begins the code of an account that delegates.
const DELEGATION: [u8; 3] = [0xef, 0x01, 0x00];

/// What decides about the authorizations of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Authority {
    nonce: u64,
    has_other_code: bool,
}

#[derive(Debug, Deserialize)]
struct RawAuthority {
    nonce: Option<Quantity>,
    code: Option<HexBytes>,
}

/// Accounts by address.
type RawAuthorities = BTreeMap<String, RawAuthority>;

/// From `prestateTracer` in `diffMode`.
#[derive(Debug, Deserialize)]
struct RawChanged {
    pre: Option<RawAuthorities>,
    post: Option<RawAuthorities>,
}

/// The outcome of each authorization; those of accounts that the traces do not show stay as they are. None if the node does not
/// trace states or does not have the transaction.
pub(crate) async fn outcomes(
    upstream: &Upstream,
    (hash, sender): (B256, Address),
    chain_id: u64,
    list: &[Authorization],
) -> Result<Option<Vec<AuthorizationOutcome>>, NodeError> {
    let lacks = &upstream.capabilities().lacks_state_traces;
    let call = |options: &str| {
        let options = format!(r#"["{hash:#x}",{{"tracer":"prestateTracer"{options}}}]"#);
        Call::new(RpcMethod::DebugTraceTransaction, options).within(TIMEOUT)
    };
    let changed = call(r#","tracerConfig":{"diffMode":true}"#);
    let changed = request::trace::<RawChanged>(upstream, changed, lacks).await?;
    let Some(RawChanged { pre: Some(before), post: Some(after) }) = changed else { return Ok(None) };
    let mut found = authorities(&before);
    // An account that did not exist is on the other side alone.
    for address in authorities(&after).into_keys() {
        found.entry(address).or_insert(Authority { nonce: 0, has_other_code: false });
    }
    if list.iter().filter_map(|given| given.signer).any(|signer| !found.contains_key(&signer)) {
        // It did not change, so none of its authorizations had an effect: why is said by what it was.
        let read = request::trace::<RawAuthorities>(upstream, call(""), lacks).await?;
        for (address, authority) in authorities(&read.unwrap_or_default()) {
            found.entry(address).or_insert(authority);
        }
    }
    Ok(Some(apply(list, sender, chain_id, found)))
}

fn authorities(raw: &RawAuthorities) -> BTreeMap<Address, Authority> {
    let read = |(address, raw): (&String, &RawAuthority)| {
        let code = raw.code.as_ref().map(|code| &code.0[..]).unwrap_or_default();
        let has_other_code = !code.is_empty() && !code.starts_with(&DELEGATION);
        Some((address.parse().ok()?, Authority { nonce: raw.nonce.unwrap_or_default().0, has_other_code }))
    };
    raw.iter().filter_map(read).collect()
}

/// In their order: each that has an effect changes the account for those after it.
fn apply(
    list: &[Authorization],
    sender: Address,
    chain_id: u64,
    mut authorities: BTreeMap<Address, Authority>,
) -> Vec<AuthorizationOutcome> {
    if let Some(sender) = authorities.get_mut(&sender) {
        // The transaction itself comes first.
        sender.nonce = sender.nonce.saturating_add(1);
    }
    let outcome = |given: &Authorization| {
        let without_trace = given.outcome_on(chain_id);
        let Some(authority) = given.signer.and_then(|signer| authorities.get_mut(&signer)) else {
            return without_trace;
        };
        if without_trace != AuthorizationOutcome::Unknown {
            return without_trace;
        }
        if authority.has_other_code {
            return AuthorizationOutcome::HasCode;
        }
        if authority.nonce != given.nonce {
            return AuthorizationOutcome::OtherNonce;
        }
        authority.nonce += 1;
        AuthorizationOutcome::Applied
    };
    list.iter().map(outcome).collect()
}

#[cfg(test)]
mod tests {
    use domain::U256;

    use super::*;

    const CHAIN: u64 = 5;
    const ALICE: Address = Address::repeat_byte(0xa1);
    const BOB: Address = Address::repeat_byte(0xb0);
    const CAROL: Address = Address::repeat_byte(0xca);

    fn given(signer: Option<Address>, nonce: u64) -> Authorization {
        Authorization {
            chain_id: U256::from(CHAIN),
            delegate: CAROL,
            nonce,
            signer,
            outcome: AuthorizationOutcome::Unknown,
        }
    }

    fn before(nonces: &[(Address, u64)]) -> BTreeMap<Address, Authority> {
        nonces.iter().map(|(address, nonce)| (*address, Authority { nonce: *nonce, has_other_code: false })).collect()
    }

    #[test]
    fn authorizations_are_applied_in_their_order() {
        use AuthorizationOutcome::{Applied, InvalidSignature, OtherChain, OtherNonce, Unknown};
        let elsewhere = Authorization { chain_id: U256::from(7), ..given(Some(BOB), 5) };
        let everywhere = Authorization { chain_id: U256::ZERO, ..given(Some(BOB), 5) };
        let list = [
            // The sender's nonce was 3 before the transaction.
            given(Some(ALICE), 3),
            given(Some(ALICE), 4),
            elsewhere,
            given(Some(BOB), 4),
            everywhere,
            given(Some(BOB), 5),
            given(Some(BOB), 6),
            given(None, 0),
            given(Some(CAROL), 0),
            given(Some(BOB), u64::MAX),
        ];
        let found = apply(&list, ALICE, CHAIN, before(&[(ALICE, 3), (BOB, 5)]));
        let expected = [
            OtherNonce,
            Applied,
            OtherChain,
            OtherNonce,
            Applied,
            OtherNonce,
            Applied,
            InvalidSignature,
            Unknown,
            OtherNonce,
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_contract_authorizes_nothing_and_a_delegation_may_be_replaced() {
        let raw = format!(
            r#"{{"{ALICE}": {{"balance": "0x1", "code": "0x6001"}}, "{BOB:#x}": {{"nonce": 2, "code": "0xef0100{}"}}}}"#,
            "ca".repeat(20)
        );
        let found = authorities(&serde_json::from_str(&raw).unwrap());
        let list = [given(Some(ALICE), 0), given(Some(BOB), 2)];
        let outcomes = apply(&list, CAROL, CHAIN, found);
        assert_eq!(outcomes, [AuthorizationOutcome::HasCode, AuthorizationOutcome::Applied]);
    }
}
