//! A persistent Merkle Patricia trie over hashed keys.
//!
//! States of different blocks share nodes, and each branch caches its hash, so that a block costs
//! only the paths that it changes.

#![expect(clippy::indexing_slicing, reason = "a nibble is below 16, and no branch is deeper than a key is long")]

use std::sync::{Arc, OnceLock};

use alloy_primitives::B256;
use alloy_trie::{
    EMPTY_ROOT_HASH, Nibbles, TrieMask,
    nodes::{BranchNodeRef, ExtensionNodeRef, LeafNodeRef, RlpNode},
};

const KEY_NIBBLES: usize = 64;

/// A value that the trie can hold.
pub(super) trait Leaf: Clone {
    /// The bytes that go into the leaf node.
    fn encode(&self) -> Vec<u8>;
}

/// A map from hashed keys to values, with the trie root of its content.
#[derive(Debug, Clone)]
pub(super) struct MerkleMap<V> {
    root_node: Option<Arc<Node<V>>>,
}

#[derive(Debug, Clone)]
enum Node<V> {
    Leaf { key: B256, value: V },
    Branch(Branch<V>),
}

/// A branch with at least two children. All keys below share the nibbles before `depth`, and
/// `sample` is one of them.
#[derive(Debug, Clone)]
struct Branch<V> {
    depth: usize,
    sample: B256,
    children: [Option<Arc<Node<V>>>; 16],
    encoded: OnceLock<RlpNode>,
}

impl<V> Default for MerkleMap<V> {
    fn default() -> Self {
        Self { root_node: None }
    }
}

impl<V: Leaf> MerkleMap<V> {
    pub(super) fn get(&self, key: &B256) -> Option<&V> {
        let mut node = self.root_node.as_deref()?;
        loop {
            match node {
                Node::Leaf { key: held, value } => return (held == key).then_some(value),
                Node::Branch(branch) => node = branch.children[nibble(key, branch.depth)].as_deref()?,
            }
        }
    }

    pub(super) fn insert(&mut self, key: B256, value: V) {
        match &mut self.root_node {
            Some(node) => insert(node, key, value),
            None => self.root_node = Some(Arc::new(Node::Leaf { key, value })),
        }
    }

    pub(super) fn remove(&mut self, key: &B256) {
        // Checked first, so that removing an absent key copies no shared node.
        if self.get(key).is_some()
            && let Some(root_node) = self.root_node.take()
        {
            self.root_node = remove(root_node, key);
        }
    }

    pub(super) fn root(&self) -> B256 {
        let Some(root_node) = &self.root_node else {
            return EMPTY_ROOT_HASH;
        };
        let node = encode(root_node, 0);
        // The root is always a hash, even of a node that is short enough to be inlined.
        node.as_hash().unwrap_or_else(|| alloy_primitives::keccak256(&node))
    }
}

impl<V> MerkleMap<V> {
    /// Memory of the nodes that only this map has, and of what `below` counts in their values.
    pub(super) fn unshared_bytes(&self, below: &impl Fn(&V) -> usize) -> usize {
        self.root_node.as_ref().map_or(0, |node| unshared_bytes(node, below))
    }
}

fn nibble(key: &B256, position: usize) -> usize {
    let byte = key[position / 2];
    usize::from(if position.is_multiple_of(2) { byte >> 4 } else { byte & 0x0f })
}

/// The position of the first nibble in which two keys differ.
fn fork(left: &B256, right: &B256) -> usize {
    (0..KEY_NIBBLES).find(|&position| nibble(left, position) != nibble(right, position)).unwrap_or(KEY_NIBBLES)
}

fn insert<V: Leaf>(slot: &mut Arc<Node<V>>, key: B256, value: V) {
    let (sample, depth) = match slot.as_ref() {
        Node::Leaf { key: held, .. } => (*held, KEY_NIBBLES),
        Node::Branch(branch) => (branch.sample, branch.depth),
    };
    let fork = fork(&sample, &key);
    if fork < depth {
        let mut children: [Option<Arc<Node<V>>>; 16] = Default::default();
        children[nibble(&sample, fork)] = Some(Arc::clone(slot));
        children[nibble(&key, fork)] = Some(Arc::new(Node::Leaf { key, value }));
        *slot = Arc::new(Node::Branch(Branch { depth: fork, sample, children, encoded: OnceLock::new() }));
        return;
    }
    match Arc::make_mut(slot) {
        Node::Leaf { value: held, .. } => *held = value,
        Node::Branch(branch) => {
            branch.encoded = OnceLock::new();
            match &mut branch.children[nibble(&key, depth)] {
                Some(child) => insert(child, key, value),
                empty => *empty = Some(Arc::new(Node::Leaf { key, value })),
            }
        }
    }
}

/// Removes a key that is known to be below the node.
fn remove<V: Leaf>(mut node: Arc<Node<V>>, key: &B256) -> Option<Arc<Node<V>>> {
    match Arc::make_mut(&mut node) {
        Node::Leaf { .. } => return None,
        Node::Branch(branch) => {
            branch.encoded = OnceLock::new();
            let child = &mut branch.children[nibble(key, branch.depth)];
            *child = child.take().and_then(|child| remove(child, key));
            let mut left = branch.children.iter().flatten();
            // A branch with a single child is replaced by it.
            if let (Some(only), None) = (left.next(), left.next()) {
                return Some(Arc::clone(only));
            }
        }
    }
    Some(node)
}

fn unshared_bytes<V>(node: &Arc<Node<V>>, below: &impl Fn(&V) -> usize) -> usize {
    // A node below a shared one belongs to the same maps.
    if Arc::strong_count(node) > 1 {
        return 0;
    }
    let children = match node.as_ref() {
        Node::Leaf { value, .. } => below(value),
        Node::Branch(branch) => branch.children.iter().flatten().map(|child| unshared_bytes(child, below)).sum(),
    };
    size_of::<Node<V>>() + children
}

/// The reference to the node in its parent, which consumed `from` nibbles of the path.
fn encode<V: Leaf>(node: &Node<V>, from: usize) -> RlpNode {
    match node {
        Node::Leaf { key, value } => {
            let path = Nibbles::unpack(key).slice(from..);
            LeafNodeRef::new(&path, &value.encode()).rlp(&mut Vec::new())
        }
        Node::Branch(branch) => {
            let encoded = branch.encoded.get_or_init(|| encode_branch(branch));
            if branch.depth == from {
                return encoded.clone();
            }
            let path = Nibbles::unpack(branch.sample).slice(from..branch.depth);
            ExtensionNodeRef::new(&path, encoded).rlp(&mut Vec::new())
        }
    }
}

fn encode_branch<V: Leaf>(branch: &Branch<V>) -> RlpNode {
    let mut mask = 0_u16;
    let mut children = Vec::with_capacity(16);
    for (position, child) in branch.children.iter().enumerate() {
        if let Some(child) = child {
            mask |= 1 << position;
            children.push(encode(child, branch.depth + 1));
        }
    }
    BranchNodeRef::new(&children, TrieMask::new(mask)).rlp(&mut Vec::new())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use alloy_primitives::U256;
    use alloy_trie::root::storage_root;
    use proptest::prelude::*;

    use super::*;

    /// Keys that share long prefixes, so that extensions and collapses happen.
    fn key() -> impl Strategy<Value = B256> {
        (0_u8..3, 0_u8..4, any::<bool>()).prop_map(|(first, last, deep)| {
            let mut key = B256::repeat_byte(0x11);
            key[usize::from(first)] = 0x12 + first;
            key[if deep { 31 } else { 9 }] = last;
            key
        })
    }

    #[test]
    fn only_the_nodes_that_no_other_map_has_are_counted() {
        let mut map = MerkleMap::<U256>::default();
        for first in 0..16 {
            map.insert(B256::repeat_byte(first << 4), U256::from(first));
        }
        let node = size_of::<Node<U256>>();
        assert_eq!(map.unshared_bytes(&|_| 3), 17 * node + 16 * 3, "a branch and 16 leaves");
        let mut other = map.clone();
        assert_eq!(map.unshared_bytes(&|_| 3), 0);
        other.insert(B256::ZERO, U256::from(99));
        assert_eq!(other.unshared_bytes(&|_| 3), 2 * node + 3, "the branch and one leaf");
        drop(map);
        assert_eq!(other.unshared_bytes(&|_| 3), 17 * node + 16 * 3);
    }

    proptest! {
        #[test]
        fn the_root_depends_only_on_the_content(
            steps in prop::collection::vec((key(), prop::option::of(1_u64..500)), 0..60)
        ) {
            let mut map = MerkleMap::<U256>::default();
            let mut content = BTreeMap::new();
            for (key, value) in steps {
                let before = map.clone();
                let root_before = map.root();
                match value {
                    Some(value) => {
                        map.insert(key, U256::from(value));
                        content.insert(key, U256::from(value));
                    }
                    None => {
                        map.remove(&key);
                        content.remove(&key);
                    }
                }
                prop_assert_eq!(map.root(), storage_root(content.clone()));
                prop_assert_eq!(map.get(&key), content.get(&key));
                prop_assert_eq!(before.root(), root_before);
            }
        }
    }
}
