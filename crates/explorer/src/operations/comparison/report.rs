//! Prints differences; consecutive blocks with the same fault share one line.

use std::{collections::BTreeMap, fmt};

use domain::BlockNumber;
use ingest::Difference;

/// Maximum lines for single differences of one block.
const MAX_LINES_PER_BLOCK: usize = 5;

#[derive(Debug, Default)]
pub(crate) struct Report {
    bad: BTreeMap<BlockNumber, Vec<Difference>>,
}

/// A fault that consecutive blocks may share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    NotInIndex,
    NotAtNode,
    OtherBlock,
    Transactions {
        stored: usize,
        node: usize,
    },
    /// Differences that are listed one by one.
    Single,
}

impl Report {
    pub(crate) fn add(&mut self, number: BlockNumber, differences: Vec<Difference>) {
        if !differences.is_empty() {
            self.bad.entry(number).or_default().extend(differences);
        }
    }

    /// The blocks that differ.
    pub(crate) fn numbers(&self) -> Vec<BlockNumber> {
        self.bad.keys().copied().collect()
    }

    pub(crate) fn first_bad(&self) -> Option<BlockNumber> {
        self.bad.keys().next().copied()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.bad.iter().peekable();
        while let Some((first, differences)) = rest.next() {
            let mut run = Run { first: *first, last: *first, fault: fault_of(differences) };
            while let Some((number, differences)) = rest.next_if(|(number, next)| run.accepts(**number, next)) {
                run.add(*number, differences);
            }
            match run.fault {
                Fault::Single => write_each(f, *first, differences)?,
                Fault::NotInIndex | Fault::NotAtNode | Fault::OtherBlock | Fault::Transactions { .. } => {
                    writeln!(f, "{run}")?;
                }
            }
        }
        Ok(())
    }
}

fn fault_of(differences: &[Difference]) -> Fault {
    match differences.first() {
        Some(Difference::NotInIndex) => Fault::NotInIndex,
        Some(Difference::NotAtNode) => Fault::NotAtNode,
        Some(Difference::OtherBlock { .. }) => Fault::OtherBlock,
        _ => {
            let counted = differences.iter().find_map(|difference| match difference {
                Difference::TransactionCount { stored, node } => {
                    Some(Fault::Transactions { stored: *stored, node: *node })
                }
                _ => None,
            });
            counted.unwrap_or(Fault::Single)
        }
    }
}

fn write_each(f: &mut fmt::Formatter<'_>, number: BlockNumber, differences: &[Difference]) -> fmt::Result {
    for difference in differences.iter().take(MAX_LINES_PER_BLOCK) {
        writeln!(f, "Block {number}: {difference}.")?;
    }
    match differences.len().checked_sub(MAX_LINES_PER_BLOCK) {
        Some(more) if more > 0 => writeln!(f, "Block {number}: {more} more differences."),
        _ => Ok(()),
    }
}

struct Run {
    first: BlockNumber,
    last: BlockNumber,
    fault: Fault,
}

impl Run {
    fn accepts(&self, number: BlockNumber, differences: &[Difference]) -> bool {
        let same_fault = match (self.fault, fault_of(differences)) {
            (Fault::Single, _) => false,
            (Fault::Transactions { .. }, Fault::Transactions { .. }) => true,
            (ours, other) => ours == other,
        };
        same_fault && number == self.last + 1
    }

    fn add(&mut self, number: BlockNumber, differences: &[Difference]) {
        self.last = number;
        if let (Fault::Transactions { stored, node }, Fault::Transactions { stored: more_stored, node: more_node }) =
            (&mut self.fault, fault_of(differences))
        {
            *stored += more_stored;
            *node += more_node;
        }
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, last, fault } = self;
        if first == last {
            write!(f, "Block {first}: ")?;
        } else {
            write!(f, "Blocks {first} to {last} ({} blocks): ", last - first + 1)?;
        }
        match fault {
            Fault::NotInIndex => f.write_str("missing from the index."),
            Fault::NotAtNode => f.write_str("the node does not have them."),
            Fault::OtherBlock => f.write_str("the node has other blocks there."),
            Fault::Transactions { stored, node } if stored < node => {
                write!(f, "{} transactions are missing: the index has {stored}, the node {node}.", node - stored)
            }
            Fault::Transactions { stored, node } => {
                write!(f, "the index has {stored} transactions, the node {node}.")
            }
            Fault::Single => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_blocks_share_a_line_and_single_faults_are_listed() {
        let mut report = Report::default();
        for number in 10..=19 {
            report.add(number, vec![Difference::TransactionCount { stored: 0, node: 40 }]);
        }
        report.add(20, Vec::new());
        report.add(21, vec![Difference::TransactionCount { stored: 3, node: 1 }]);
        report.add(30, vec![Difference::Transfer { log_index: 7 }, Difference::Trade { log_index: 8 }]);
        report.add(31, (0..7).map(|index| Difference::Transaction { index, field: "value" }).collect());
        assert_eq!(report.first_bad(), Some(10));
        assert_eq!(
            report.to_string().lines().collect::<Vec<_>>(),
            [
                "Blocks 10 to 19 (10 blocks): 400 transactions are missing: the index has 0, the node 400.",
                "Block 21: the index has 3 transactions, the node 1.",
                "Block 30: the transfer of log 7 differs.",
                "Block 30: the trade of log 8 differs.",
                "Block 31: the value of transaction 0 differs.",
                "Block 31: the value of transaction 1 differs.",
                "Block 31: the value of transaction 2 differs.",
                "Block 31: the value of transaction 3 differs.",
                "Block 31: the value of transaction 4 differs.",
                "Block 31: 2 more differences.",
            ]
        );
    }
}
