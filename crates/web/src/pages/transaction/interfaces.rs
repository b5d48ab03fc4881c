use std::collections::HashMap;

use contracts::{KnownInterface, decode::Decoded, standards};
use domain::{Address, Transaction};
use futures::future::try_join_all;

use super::logs::ChosenLogs;
use crate::{error::PageError, state::WebState, view::sanitize_name};

/// Maximum number of contracts whose interfaces are looked up for a page.
const MAX_CONTRACTS: usize = 20;

/// The interfaces of the called contract and of the contracts that emitted logs.
pub(super) struct TransactionInterfaces {
    interfaces: HashMap<Address, Vec<KnownInterface>>,
}

pub(super) struct DecodedCall {
    pub(super) decoded: Decoded,
    /// Whether it was decoded by standards, since the contract is not verified.
    pub(super) is_guess: bool,
}

impl TransactionInterfaces {
    pub(super) async fn find(app: &WebState, tx: &Transaction, logs: &ChosenLogs<'_>) -> Result<Self, PageError> {
        let mut contracts: Vec<Address> = Vec::new();
        for address in tx.method.and(tx.to).into_iter().chain(logs.emitters()) {
            if contracts.len() < MAX_CONTRACTS && !contracts.contains(&address) {
                contracts.push(address);
            }
        }
        let look_up = async |address| Ok::<_, PageError>((address, app.interfaces.of(address, &app.node_calls).await?));
        Ok(Self { interfaces: try_join_all(contracts.into_iter().map(look_up)).await?.into_iter().collect() })
    }

    pub(super) fn of(&self, address: Address) -> &[KnownInterface] {
        self.interfaces.get(&address).map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn function_name(&self, address: Address, selector: [u8; 4]) -> Option<String> {
        self.of(address).iter().find_map(|interface| interface.function_name(selector)).map(sanitize_name)
    }

    pub(super) fn decode_call(&self, address: Address, input: &[u8]) -> Option<DecodedCall> {
        let verified = self.of(address).iter().find_map(|interface| interface.call(input));
        let verified = verified.map(|decoded| DecodedCall { decoded, is_guess: false });
        verified.or_else(|| Some(DecodedCall { decoded: standards().guess_call(input)?, is_guess: true }))
    }
}
