//! Circles in a graph of modules.

use std::collections::{BTreeSet, VecDeque};

use super::names::Uses;

#[derive(Debug)]
pub(super) struct Graph {
    pub(super) names: Vec<String>,
    pub(super) uses: Uses,
}

impl Graph {
    fn contains(&self, outer: usize, inner: usize) -> bool {
        self.names[inner].starts_with(&format!("{}::", self.names[outer]))
    }

    /// The modules among these that this one uses.
    fn used<'a>(&'a self, from: usize, among: &'a BTreeSet<usize>) -> impl Iterator<Item = usize> + 'a {
        let used = self.uses.range((from, 0)..=(from, usize::MAX)).map(|((_, to), _)| *to);
        used.filter(|to| among.contains(to))
    }

    /// The modules among these that this one uses, directly or by others among them.
    fn reached(&self, from: usize, among: &BTreeSet<usize>) -> BTreeSet<usize> {
        let mut reached = BTreeSet::new();
        let mut next = vec![from];
        while let Some(module) = next.pop() {
            next.extend(self.used(module, among).filter(|to| reached.insert(*to)));
        }
        reached
    }

    /// The smallest circle among these modules, which ends with the module that it begins with.
    pub(super) fn smallest(&self, circle: &[usize]) -> Vec<usize> {
        let among: BTreeSet<_> = circle.iter().copied().collect();
        circle.iter().filter_map(|start| self.way_back(*start, &among)).min_by_key(Vec::len).unwrap_or_default()
    }

    /// The shortest way from a module back to itself.
    fn way_back(&self, start: usize, among: &BTreeSet<usize>) -> Option<Vec<usize>> {
        let mut ways = VecDeque::from([vec![start]]);
        let mut seen = BTreeSet::new();
        while let Some(way) = ways.pop_front() {
            for to in self.used(*way.last()?, among).filter(|to| seen.insert(*to)) {
                let longer = [way.as_slice(), &[to]].concat();
                if to == start {
                    return Some(longer);
                }
                ways.push_back(longer);
            }
        }
        None
    }
}

/// The largest sets of modules that all use each other, without those that are none when a module that contains all others is taken
/// out.
pub(super) fn circles(graph: &Graph) -> Vec<Vec<usize>> {
    among(graph, (0..graph.names.len()).collect())
}

fn among(graph: &Graph, modules: BTreeSet<usize>) -> Vec<Vec<usize>> {
    let mut circles = Vec::new();
    let mut left = modules.clone();
    while let Some(module) = left.pop_first() {
        let reached = graph.reached(module, &modules);
        let circle: BTreeSet<_> =
            reached.into_iter().filter(|other| graph.reached(*other, &modules).contains(&module)).collect();
        left.retain(|module| !circle.contains(module));
        if circle.is_empty() {
            continue;
        }
        let outer =
            circle.iter().find(|outer| circle.iter().all(|other| other == *outer || graph.contains(**outer, *other)));
        match outer.copied() {
            Some(outer) => circles.extend(among(graph, circle.into_iter().filter(|module| *module != outer).collect())),
            None => circles.push(circle.into_iter().collect()),
        }
    }
    circles
}
