use domain::{Address, InnerCreation, Involvement, Log, SYSTEM_ADDRESS, Transaction};

/// Addresses involved in each transaction other than its sender and receiver.
pub(super) fn involvements(
    transactions: &[Transaction],
    logs: &[Log],
    inner_creations: &[InnerCreation],
) -> Vec<Involvement> {
    let created = transactions.iter().filter_map(|tx| Some((tx.index, tx.created?)));
    let emitters = logs.iter().map(|log| (log.tx_index, log.address)).filter(|(_, emitter)| *emitter != SYSTEM_ADDRESS);
    let inner = inner_creations
        .iter()
        .flat_map(|creation| [creation.creator, creation.created].map(|address| (creation.tx_index, address)));
    let is_not_a_party = |tx_index: u32, address: &Address| {
        usize::try_from(tx_index).ok().and_then(|index| transactions.get(index)).is_some_and(|tx| !tx.touches(address))
    };
    let mut involved: Vec<Involvement> = created
        .chain(emitters)
        .chain(inner)
        .filter(|(tx_index, address)| is_not_a_party(*tx_index, address))
        .map(|(tx_index, address)| Involvement { tx_index, address })
        .collect();
    involved.sort_unstable();
    involved.dedup();
    involved
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::samples::{ROUTER, TOKEN, log, transaction};

    const CREATED: Address = Address::repeat_byte(4);

    #[test]
    fn an_emitter_is_involved_once_per_transaction_and_the_receiver_never() {
        let mut logs = [TOKEN, ROUTER, TOKEN, TOKEN].map(|emitter| log(emitter, [], []));
        logs[3].tx_index = 1;
        let transactions = [transaction(0, Some(ROUTER), None), transaction(1, Some(ROUTER), None)];
        let expected = [0, 1].map(|tx_index| Involvement { tx_index, address: TOKEN });
        assert_eq!(involvements(&transactions, &logs, &[]), expected);
    }

    #[test]
    fn a_created_contract_is_involved_in_its_creation() {
        let involved = involvements(&[transaction(0, None, Some(CREATED))], &[log(CREATED, [], [])], &[]);
        assert_eq!(involved, [Involvement { tx_index: 0, address: CREATED }]);
    }

    #[test]
    fn a_log_of_an_unknown_transaction_is_ignored() {
        assert!(involvements(&[], &[log(TOKEN, [], [])], &[]).is_empty());
    }

    #[test]
    fn creator_and_contract_of_an_inner_creation_are_involved() {
        let creation = InnerCreation { tx_index: 0, creator: TOKEN, created: CREATED };
        let by_receiver = InnerCreation { creator: ROUTER, ..creation };
        let involved = involvements(&[transaction(0, Some(ROUTER), None)], &[], &[creation, by_receiver]);
        assert_eq!(involved, [TOKEN, CREATED].map(|address| Involvement { tx_index: 0, address }));
    }
}
