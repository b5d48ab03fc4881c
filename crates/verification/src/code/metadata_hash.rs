//! The metadata hashes that compilers embed in code: IPFS and both versions of Swarm.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::LazyLock,
};

use alloy_primitives::{B256, keccak256};
use sha2::{Digest, Sha256};

/// Longer IPFS files are stored as a tree, which is not implemented.
const IPFS_CHUNK: usize = 256 * 1024;
const SWARM_CHUNK: usize = 4096;
const WORD: usize = 32;

/// A hash of a contract's metadata, which covers the settings and every byte of the sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MetadataHash {
    Ipfs(B256),
    Bzzr0(B256),
    Bzzr1(B256),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HashKind {
    Ipfs,
    Bzzr0,
    Bzzr1,
}

impl MetadataHash {
    pub(crate) fn kind(self) -> HashKind {
        match self {
            Self::Ipfs(_) => HashKind::Ipfs,
            Self::Bzzr0(_) => HashKind::Bzzr0,
            Self::Bzzr1(_) => HashKind::Bzzr1,
        }
    }

    pub(crate) fn digest(self) -> B256 {
        match self {
            Self::Ipfs(digest) | Self::Bzzr0(digest) | Self::Bzzr1(digest) => digest,
        }
    }
}

/// Hashes metadata; None if it is too long (see `IPFS_CHUNK`).
pub(crate) fn hash_metadata(kind: HashKind, metadata: &[u8]) -> Option<MetadataHash> {
    match kind {
        HashKind::Ipfs => ipfs(metadata).map(MetadataHash::Ipfs),
        HashKind::Bzzr0 => Some(MetadataHash::Bzzr0(bzzr0(metadata))),
        HashKind::Bzzr1 => Some(MetadataHash::Bzzr1(bzzr1(metadata, false))),
    }
}

/// The IPFS hash of a file of one chunk: SHA-256 over a protobuf node.
fn ipfs(file: &[u8]) -> Option<B256> {
    Some(ipfs_finish(ipfs_start(file.len())?, file, file.len()))
}

/// The hash state before the content of a file of this length; None if IPFS would not store it in one chunk.
fn ipfs_start(length: usize) -> Option<Sha256> {
    if length == 0 || length > IPFS_CHUNK {
        return None;
    }
    let size = varint(length);
    // Type (file), content, length.
    let inner = 2 + 1 + size.len() + length + 1 + size.len();
    let mut hash = Sha256::new();
    hash.update([0x0a]);
    hash.update(varint(inner));
    hash.update([0x08, 0x02, 0x12]);
    hash.update(&size);
    Some(hash)
}

/// Hashes the remaining content of a file of this length, and the trailer.
fn ipfs_finish(mut hash: Sha256, rest: &[u8], length: usize) -> B256 {
    hash.update(rest);
    hash.update([0x18]);
    hash.update(varint(length));
    let digest: [u8; 32] = hash.finalize().into();
    B256::new(digest)
}

#[expect(clippy::cast_possible_truncation, reason = "only the low seven bits are used")]
fn varint(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(3);
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// How many bytes each child of the root covers, in a Swarm tree over `length` bytes.
fn child_size(length: usize) -> usize {
    let mut size = SWARM_CHUNK;
    while size * (SWARM_CHUNK / WORD) < length {
        size *= SWARM_CHUNK / WORD;
    }
    size
}

/// The first Swarm hash: keccak of the length and the chunk or node.
fn bzzr0(data: &[u8]) -> B256 {
    if data.len() <= SWARM_CHUNK {
        return bzzr0_node(data.len(), data);
    }
    let children: Vec<u8> = data.chunks(child_size(data.len())).flat_map(|child| bzzr0(child).0).collect();
    bzzr0_node(data.len(), &children)
}

fn bzzr0_node(length: usize, content: &[u8]) -> B256 {
    keccak256([&(length as u64).to_le_bytes(), content].concat())
}

/// The later Swarm hash (BMT): a chunk is padded with zeros and hashed as a binary tree of words.
fn bzzr1(data: &[u8], is_node: bool) -> B256 {
    if data.len() < SWARM_CHUNK || (data.len() == SWARM_CHUNK && !is_node) {
        return bzzr1_node(data.len(), data);
    }
    let size = child_size(data.len());
    // The last child may be a single full chunk while its siblings are nodes; it is lifted to their level.
    let children: Vec<u8> = data.chunks(size).flat_map(|child| bzzr1(child, size > SWARM_CHUNK).0).collect();
    bzzr1_node(data.len(), &children)
}

fn bzzr1_node(length: usize, content: &[u8]) -> B256 {
    bzzr1_chunk(length, binary_tree(content))
}

fn bzzr1_chunk(length: usize, root: B256) -> B256 {
    keccak256([(length as u64).to_le_bytes().as_slice(), root.as_slice()].concat())
}

/// Levels of the tree over a chunk: 64 pairs of words.
const LEVELS: usize = 6;

/// The roots of all-zero trees, by height.
static ZEROS: LazyLock<[B256; LEVELS + 1]> = LazyLock::new(|| {
    let mut next = keccak256([0; 2 * WORD]);
    std::array::from_fn(|_| {
        let root = next;
        next = keccak256([root, root].concat());
        root
    })
});

/// The root of the tree over a chunk, padded with zeros.
fn binary_tree(content: &[u8]) -> B256 {
    PrefixTree::default().finish(content)
}

/// The nodes of a chunk's tree that cover only its prefix, by level.
#[derive(Debug, Default)]
struct PrefixTree([Vec<B256>; LEVELS + 1]);

impl PrefixTree {
    fn new(prefix: &[u8]) -> Self {
        let mut next: Vec<B256> = prefix.chunks_exact(2 * WORD).map(keccak256).collect();
        Self(std::array::from_fn(|_| {
            let above = next.chunks_exact(2).map(|pair| keccak256(pair.concat())).collect();
            std::mem::replace(&mut next, above)
        }))
    }

    /// The root over a chunk with this prefix, padded with zeros.
    fn finish(&self, content: &[u8]) -> B256 {
        let Self([lowest, higher @ ..]) = self;
        let rest = content.get(lowest.len() * 2 * WORD..).unwrap_or_default();
        let mut level = lowest.clone();
        level.extend(rest.chunks(2 * WORD).map(|pair| {
            let mut filled = [0; 2 * WORD];
            filled.iter_mut().zip(pair).for_each(|(filled, byte)| *filled = *byte);
            keccak256(filled)
        }));
        let [zeros @ .., zero_root] = &*ZEROS;
        for (zeros, above) in zeros.iter().zip(higher) {
            let rest = level.get(2 * above.len()..).unwrap_or_default();
            let rest = rest.chunks(2).map(|pair| match pair {
                [left, right, ..] => keccak256([*left, *right].concat()),
                [left] => keccak256([*left, *zeros].concat()),
                [] => *zeros,
            });
            level = above.iter().copied().chain(rest).collect();
        }
        level.first().copied().unwrap_or(*zero_root)
    }
}

/// Hashes many texts with the same prefix: the prefix is hashed once.
#[derive(Debug)]
pub(crate) struct PrefixHasher {
    kind: HashKind,
    prefix: Vec<u8>,
    /// IPFS hashes the length before the text, so the state after the prefix is kept per length.
    ipfs: HashMap<usize, Sha256>,
    /// Hashes of the full chunks of the prefix.
    chunks: Vec<B256>,
    /// The tree of the chunk in which the prefix ends.
    partial: PrefixTree,
}

impl PrefixHasher {
    pub(crate) fn new(kind: HashKind, prefix: &[u8]) -> Self {
        let whole = prefix.chunks_exact(SWARM_CHUNK);
        let partial = PrefixTree::new(whole.remainder());
        let chunks = match kind {
            HashKind::Ipfs => Vec::new(),
            HashKind::Bzzr0 => whole.map(bzzr0).collect(),
            HashKind::Bzzr1 => whole.map(|chunk| bzzr1(chunk, false)).collect(),
        };
        Self { kind, prefix: prefix.to_vec(), ipfs: HashMap::new(), chunks, partial }
    }

    fn ipfs(&mut self, text: &[u8]) -> Option<MetadataHash> {
        let rest = text.strip_prefix(self.prefix.as_slice())?;
        let state = match self.ipfs.entry(text.len()) {
            Entry::Occupied(state) => state.into_mut(),
            Entry::Vacant(entry) => {
                let mut state = ipfs_start(text.len())?;
                state.update(&self.prefix);
                entry.insert(state)
            }
        };
        Some(MetadataHash::Ipfs(ipfs_finish(state.clone(), rest, text.len())))
    }

    /// The hash of a text with this prefix.
    pub(crate) fn hash(&mut self, text: &[u8]) -> Option<MetadataHash> {
        if self.kind == HashKind::Ipfs {
            return self.ipfs(text);
        }
        let one_level = SWARM_CHUNK + 1..=SWARM_CHUNK * (SWARM_CHUNK / WORD);
        if self.kind == HashKind::Bzzr1 && text.len() <= SWARM_CHUNK && self.chunks.is_empty() {
            return Some(MetadataHash::Bzzr1(bzzr1_chunk(text.len(), self.partial.finish(text))));
        }
        if !one_level.contains(&text.len()) {
            return hash_metadata(self.kind, text);
        }
        let rest = text.get(self.chunks.len() * SWARM_CHUNK..)?.chunks(SWARM_CHUNK);
        let prefix = self.chunks.iter().copied();
        Some(match self.kind {
            HashKind::Ipfs => return None,
            HashKind::Bzzr0 => {
                let children: Vec<u8> = prefix.chain(rest.map(bzzr0)).flat_map(|hash| hash.0).collect();
                MetadataHash::Bzzr0(bzzr0_node(text.len(), &children))
            }
            HashKind::Bzzr1 => {
                let rest = rest.enumerate().map(|(index, chunk)| match index {
                    0 => bzzr1_chunk(chunk.len(), self.partial.finish(chunk)),
                    _ => bzzr1(chunk, false),
                });
                let children: Vec<u8> = prefix.chain(rest).flat_map(|hash| hash.0).collect();
                MetadataHash::Bzzr1(bzzr1_node(text.len(), &children))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::hex;

    use super::*;

    #[test]
    fn a_small_file_has_its_ipfs_hash() {
        // QmT78zSuBmuS4z925WZfrqQ1qHaJ56DQaTfyMUF7F8ff5o: "hello world" and a line feed.
        let expected = hex!("46d44814b9c5af141c3aaab7c05dc5e844ead5f91f12858b021eba45768b4c0e");
        let found = hash_metadata(HashKind::Ipfs, b"hello world\n");
        assert_eq!(found, Some(MetadataHash::Ipfs(B256::new(expected))), "{found:?}");
    }

    #[test]
    fn files_of_more_than_one_ipfs_chunk_are_not_hashed() {
        assert!(hash_metadata(HashKind::Ipfs, &vec![b'a'; IPFS_CHUNK]).is_some());
        assert_eq!(hash_metadata(HashKind::Ipfs, &vec![b'a'; IPFS_CHUNK + 1]), None);
    }

    #[test]
    fn child_sizes_of_swarm_trees_are_right() {
        assert_eq!(child_size(4097), 4096);
        assert_eq!(child_size(4096 * 128), 4096);
        assert_eq!(child_size(4096 * 128 + 1), 4096 * 128);
    }

    #[test]
    fn hashing_with_a_prefix_equals_hashing_the_whole_text() {
        let text: Vec<u8> = (0..30_000_u32).map(|number| number.to_be_bytes()[3] ^ number.to_be_bytes()[2]).collect();
        for kind in [HashKind::Ipfs, HashKind::Bzzr0, HashKind::Bzzr1] {
            for prefix in [0, 63, 64, 700, 4_095, 4_096, 12_288, 20_000] {
                let mut hasher = PrefixHasher::new(kind, &text[..prefix]);
                for length in [700, 2_048, 4_095, 4_096, 4_097, 20_000, 20_480, 20_481, 30_000] {
                    if length < prefix {
                        continue;
                    }
                    let whole = hash_metadata(kind, &text[..length]);
                    assert_eq!(hasher.hash(&text[..length]), whole, "{kind:?} {prefix} {length}");
                }
            }
        }
    }

    #[test]
    fn every_length_and_every_byte_changes_the_hash() {
        for hash in [bzzr0 as fn(&[u8]) -> B256, |data| bzzr1(data, false)] {
            let mut seen = std::collections::BTreeSet::new();
            for length in [1, 63, 64, 65, 4095, 4096, 4097, 8192, 4096 * 128, 4096 * 128 + 1] {
                let mut data = vec![7; length];
                assert!(seen.insert(hash(&data)), "{length}");
                data[length - 1] = 8;
                assert!(seen.insert(hash(&data)), "{length}");
            }
        }
    }
}
