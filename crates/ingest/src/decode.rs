use domain::{Address, BlockChanges, FetchedBlock, Involvement};

/// Works out what a block adds to the index. Pure: the same block always gives the same changes.
#[must_use]
pub fn decode_block(fetched: FetchedBlock) -> BlockChanges {
    let FetchedBlock { block, transactions, logs } = fetched;
    let created = transactions.iter().filter_map(|tx| Some((tx.index, tx.created?)));
    let emitters = logs.iter().map(|log| (log.tx_index, log.address));
    let takes_part_otherwise = |tx_index: u32, address: &Address| {
        usize::try_from(tx_index).ok().and_then(|index| transactions.get(index)).is_some_and(|tx| !tx.touches(address))
    };
    let mut involved: Vec<Involvement> = created
        .chain(emitters)
        .filter(|(tx_index, address)| takes_part_otherwise(*tx_index, address))
        .map(|(tx_index, address)| Involvement { tx_index, address })
        .collect();
    involved.sort_unstable();
    involved.dedup();
    BlockChanges { block, transactions, involved, transfers: Vec::new(), trades: Vec::new(), pools: Vec::new() }
}

#[cfg(test)]
mod tests {
    use domain::{B256, Block, Log, Transaction, U256};

    use super::*;

    const SENDER: Address = Address::repeat_byte(1);
    const ROUTER: Address = Address::repeat_byte(2);
    const TOKEN: Address = Address::repeat_byte(3);
    const MADE: Address = Address::repeat_byte(4);

    fn transaction(index: u32, to: Option<Address>, created: Option<Address>) -> Transaction {
        Transaction {
            hash: B256::with_last_byte(1),
            block_number: 1,
            block_hash: B256::ZERO,
            index,
            timestamp: 0,
            from: SENDER,
            to,
            created,
            value: U256::ZERO,
            nonce: 0,
            gas_used: 21_000,
            gas_price: 1,
            succeeded: true,
            method: None,
        }
    }

    fn log(tx_index: u32, log_index: u32, address: Address) -> Log {
        Log { tx_index, log_index, address, topics: Vec::new(), data: Default::default() }
    }

    fn fetched(transactions: Vec<Transaction>, logs: Vec<Log>) -> FetchedBlock {
        let block = Block {
            number: 1,
            hash: B256::ZERO,
            parent_hash: B256::ZERO,
            timestamp: 0,
            miner: Address::ZERO,
            tx_count: 2,
            gas_used: 0,
            gas_limit: 0,
            base_fee_per_gas: None,
            size: 0,
        };
        FetchedBlock { block, transactions, logs }
    }

    #[test]
    fn an_emitter_is_involved_once_a_transaction_and_the_receiver_never() {
        let logs = vec![log(0, 0, TOKEN), log(0, 1, ROUTER), log(0, 2, TOKEN), log(1, 3, TOKEN)];
        let changes =
            decode_block(fetched(vec![transaction(0, Some(ROUTER), None), transaction(1, Some(ROUTER), None)], logs));
        let expected = [0, 1].map(|tx_index| Involvement { tx_index, address: TOKEN });
        assert_eq!(changes.involved, expected);
    }

    #[test]
    fn a_created_contract_is_involved_in_its_creation() {
        let changes = decode_block(fetched(vec![transaction(0, None, Some(MADE))], vec![log(0, 0, MADE)]));
        assert_eq!(changes.involved, [Involvement { tx_index: 0, address: MADE }]);
    }

    #[test]
    fn a_log_of_no_known_transaction_involves_nobody() {
        assert!(decode_block(fetched(Vec::new(), vec![log(7, 0, TOKEN)])).involved.is_empty());
    }
}
