//! The pure part: from the balance of one block back over the movements before it.

use std::collections::BTreeMap;

use domain::{Balance, BlockNumber};

use super::movements::Movement;

/// The balance at the end of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BalancePoint {
    pub block: BlockNumber,
    /// Unix seconds.
    pub timestamp: u64,
    pub balance: Balance,
    /// The last block at whose end it is known to be the same.
    pub until: BlockNumber,
}

/// Balances at the end of blocks, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Walk {
    /// The first block, each block that changed the balance, and the last block.
    pub(super) points: Vec<BalancePoint>,
    /// Whether the movements explain more than the balance: then the walk ends at the block after.
    pub(super) below_zero: bool,
}

/// The end of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockEnd {
    pub(super) block: BlockNumber,
    pub(super) timestamp: u64,
}

/// What moved in a block.
#[derive(Debug, Default)]
struct Moved {
    timestamp: u64,
    received: Balance,
    spent: Balance,
}

/// Walks back from the balance at `end` to that at `start`. Movements of other blocks are ignored.
pub(super) fn walk_back(balance: Balance, end: BlockEnd, start: BlockEnd, movements: &[Movement]) -> Walk {
    let mut blocks: BTreeMap<BlockNumber, Moved> = BTreeMap::new();
    for movement in movements {
        let moved = blocks.entry(movement.block).or_default();
        moved.timestamp = movement.timestamp;
        moved.received = moved.received.saturating_add(Balance::from(movement.received));
        moved.spent = moved.spent.saturating_add(Balance::from(movement.spent));
    }
    let point = |BlockEnd { block, timestamp }, balance, until| BalancePoint { block, timestamp, balance, until };
    let (mut points, mut balance) = (vec![point(end, balance, end.block)], balance);
    // The block of the point after the next one that is found.
    let mut later = end.block;
    let is_between = |block: BlockNumber| block > start.block && block <= end.block;
    for (block, moved) in blocks.iter().rev().filter(|(block, _)| is_between(**block)) {
        if moved.received == moved.spent {
            continue;
        }
        if *block < end.block {
            points.push(point(BlockEnd { block: *block, timestamp: moved.timestamp }, balance, later - 1));
            later = *block;
        }
        let before = balance.checked_add(moved.spent).and_then(|sum| sum.checked_sub(moved.received));
        let Some(before) = before else {
            points.reverse();
            return Walk { points, below_zero: true };
        };
        balance = before;
    }
    if start.block < end.block {
        points.push(point(start, balance, later - 1));
    }
    points.reverse();
    Walk { points, below_zero: false }
}

/// At most `limit` points: the last one of each of as many slices of the same length in time.
pub(super) fn sample(points: Vec<BalancePoint>, limit: usize) -> Vec<BalancePoint> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return points };
    if points.len() <= limit {
        return points;
    }
    let start = first.timestamp;
    let seconds = u128::from(last.timestamp.saturating_sub(start)) + 1;
    let slice = |point: &BalancePoint| u128::from(point.timestamp.saturating_sub(start)) * limit as u128 / seconds;
    let mut kept: Vec<BalancePoint> = Vec::with_capacity(limit);
    for point in points {
        match kept.last_mut() {
            Some(newest) if slice(newest) == slice(&point) => *newest = point,
            _ => kept.push(point),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use domain::U256;
    use proptest::prelude::*;

    use super::*;

    fn moved(block: BlockNumber, received: u64, spent: u64) -> Movement {
        Movement { block, timestamp: block * 3, received: U256::from(received), spent: U256::from(spent) }
    }

    fn end(block: BlockNumber) -> BlockEnd {
        BlockEnd { block, timestamp: block * 3 }
    }

    fn balances(walk: &Walk) -> Vec<(BlockNumber, u64)> {
        walk.points.iter().map(|point| (point.block, u64::try_from(point.balance).unwrap())).collect()
    }

    #[test]
    fn each_changing_block_has_a_point() {
        let movements = [moved(9, 5, 0), moved(7, 0, 2), moved(7, 1, 0), moved(4, 3, 3), moved(2, 10, 0)];
        let walk = walk_back(Balance::from(14), end(12), end(1), &movements);
        assert_eq!(balances(&walk), [(1, 0), (2, 10), (7, 9), (9, 14), (12, 14)]);
        assert!(!walk.below_zero);
    }

    #[test]
    fn the_first_block_is_not_walked_through() {
        let walk = walk_back(Balance::from(14), end(9), end(7), &[moved(9, 5, 0), moved(7, 100, 0)]);
        assert_eq!(balances(&walk), [(7, 9), (9, 14)]);
        let nothing = walk_back(Balance::from(14), end(7), end(7), &[moved(7, 100, 0)]);
        assert_eq!((balances(&nothing), nothing.below_zero), (vec![(7, 14)], false));
    }

    #[test]
    fn a_walk_ends_where_the_balance_would_be_below_zero() {
        let walk = walk_back(Balance::from(14), end(9), end(1), &[moved(8, 5, 0), moved(6, 10, 0), moved(4, 1, 0)]);
        assert_eq!((balances(&walk), walk.below_zero), (vec![(6, 9), (8, 14), (9, 14)], true));
        let walk = walk_back(Balance::MAX, end(9), end(1), &[moved(8, 0, 1)]);
        assert!(walk.below_zero, "more than all");
    }

    #[test]
    fn the_last_point_of_each_slice_of_time_is_kept() {
        let point = |timestamp| BalancePoint {
            block: timestamp,
            timestamp,
            balance: Balance::from(timestamp),
            until: timestamp,
        };
        let kept = sample((0..100).map(point).collect(), 4);
        assert_eq!(kept.iter().map(|point| point.block).collect::<Vec<_>>(), [24, 49, 74, 99]);
        assert_eq!(sample(vec![point(1), point(1), point(2)], 3).len(), 3);
        assert_eq!(sample(vec![point(5); 7], 3).len(), 1, "all at the same time");
        assert!(sample(Vec::new(), 3).is_empty());
    }

    proptest! {
        #[test]
        fn the_walk_back_is_the_replay_forward(
            funds in 0_u64..1_000_000,
            steps in prop::collection::vec((1_u64..40, 0_u64..1_000, 0_u64..1_000), 0..80),
            from in 0_u64..45,
        ) {
            // Forward: no payment without funds.
            let mut by_block = [0_u64; 41];
            by_block[0] = funds;
            let mut steps = steps;
            steps.sort_by_key(|(block, ..)| *block);
            let (mut balance, mut movements) = (funds, Vec::new());
            let mut next = 0;
            for block in 1..=40_u64 {
                while let Some((_, received, spent)) = steps.get(next).filter(|step| step.0 == block) {
                    balance += received;
                    let spent = *spent.min(&balance);
                    balance -= spent;
                    movements.push(moved(block, *received, spent));
                    next += 1;
                }
                by_block[usize::try_from(block).unwrap()] = balance;
            }
            movements.reverse();
            let from = from.min(40);
            let walk = walk_back(Balance::from(balance), end(40), end(from), &movements);
            prop_assert!(!walk.below_zero);
            prop_assert_eq!(walk.points.first().map(|point| point.block), Some(from));
            prop_assert_eq!(walk.points.last().map(|point| point.block), Some(40));
            prop_assert!(walk.points.is_sorted_by(|one, other| one.block < other.block));
            for block in from..=40 {
                // The balance of a block is that of the newest point up to it.
                let point = walk.points.iter().rev().find(|point| point.block <= block).unwrap();
                prop_assert_eq!(point.balance, Balance::from(by_block[usize::try_from(block).unwrap()]));
                prop_assert_eq!(point.timestamp, point.block * 3);
                prop_assert!(point.until >= block);
            }
        }

        #[test]
        fn a_sample_is_small_and_ends_with_the_last_point(
            times in prop::collection::vec(0_u64..10_000, 1..300),
            limit in 1_usize..50,
        ) {
            let mut times = times;
            times.sort_unstable();
            let points: Vec<BalancePoint> = (0_u64..).zip(&times)
                .map(|(block, timestamp)| BalancePoint {
                    block, timestamp: *timestamp, balance: Balance::from(block), until: block,
                })
                .collect();
            let kept = sample(points.clone(), limit);
            prop_assert!(kept.len() <= limit.max(1));
            prop_assert_eq!(kept.last(), points.last());
            prop_assert!(kept.iter().all(|point| points.contains(point)));
        }
    }
}
