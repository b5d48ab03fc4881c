use domain::{Address, BlockChanges};

/// All addresses that a walk over a block asks for, some of them several times. A store that reads ahead has to know those that have
/// an id, so what is added to the walk is added here.
pub fn addresses_of(changes: &BlockChanges) -> impl Iterator<Item = Address> {
    let transactions = changes.transactions.iter().flat_map(|tx| [Some(tx.from), tx.to, tx.created]).flatten();
    let creations = changes.inner_creations.iter().flatten();
    std::iter::once(changes.block.miner)
        .chain(transactions)
        .chain(changes.involved.iter().map(|involvement| involvement.address))
        .chain(changes.logs.iter().map(|log| log.address))
        .chain(changes.transfers.iter().flat_map(|event| [event.token, event.from, event.to]))
        .chain(changes.approvals.iter().flat_map(|event| [event.token, event.owner]))
        .chain(changes.touched_holders.iter().flat_map(|touched| [touched.token, touched.holder]))
        .chain(changes.pools.iter().flat_map(|pool| [pool.address, pool.factory, pool.token0, pool.token1]))
        .chain(changes.trades.iter().map(|trade| trade.pool))
        .chain(changes.credits.iter().map(|credit| credit.to))
        .chain(creations.flat_map(|creation| [creation.creator, creation.created]))
}
