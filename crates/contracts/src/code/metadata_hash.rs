//! The hashes by which code names its metadata, as the compiler computes them.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::LazyLock,
};

use alloy_primitives::{B256, keccak256};
use sha2::{Digest, Sha256};

/// Leaves of IPFS and of Swarm hold so much. Longer metadata of IPFS makes a tree, and is not hashed here.
const IPFS_CHUNK: usize = 256 * 1024;
const SWARM_CHUNK: usize = 4096;
const WORD: usize = 32;

/// A hash of the metadata of a contract: of the settings and of every source, to the byte.
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

/// Hashes metadata in one of the ways; None where it is too long for this code.
pub(crate) fn hash_metadata(kind: HashKind, metadata: &[u8]) -> Option<MetadataHash> {
    match kind {
        HashKind::Ipfs => ipfs(metadata).map(MetadataHash::Ipfs),
        HashKind::Bzzr0 => Some(MetadataHash::Bzzr0(bzzr0(metadata))),
        HashKind::Bzzr1 => Some(MetadataHash::Bzzr1(bzzr1(metadata, false))),
    }
}

/// A file of one chunk in IPFS: a node of protobuf that holds it, hashed.
fn ipfs(file: &[u8]) -> Option<B256> {
    Some(ipfs_finish(ipfs_start(file.len())?, file, file.len()))
}

/// The hash up to where the content of a file of this length starts; None where IPFS would not store it in one chunk.
fn ipfs_start(length: usize) -> Option<Sha256> {
    if length == 0 || length > IPFS_CHUNK {
        return None;
    }
    let size = varint(length);
    // Kind: file; content; length of the file.
    let inner = 2 + 1 + size.len() + length + 1 + size.len();
    let mut hash = Sha256::new();
    hash.update([0x0a]);
    hash.update(varint(inner));
    hash.update([0x08, 0x02, 0x12]);
    hash.update(&size);
    Some(hash)
}

/// Hashes the rest of the content of a file of this length, and what follows it.
fn ipfs_finish(mut hash: Sha256, rest: &[u8], length: usize) -> B256 {
    hash.update(rest);
    hash.update([0x18]);
    hash.update(varint(length));
    let digest: [u8; 32] = hash.finalize().into();
    B256::new(digest)
}

#[expect(clippy::cast_possible_truncation, reason = "the low seven bits are what is wanted")]
fn varint(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(3);
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// How many bytes one child of a node stands for, in a tree over `length` bytes.
fn child_size(length: usize) -> usize {
    let mut size = SWARM_CHUNK;
    while size * (SWARM_CHUNK / WORD) < length {
        size *= SWARM_CHUNK / WORD;
    }
    size
}

/// The first hash of Swarm: chunks and nodes are hashed as they are, after their length.
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

/// The later hash of Swarm: a chunk is filled up with zeros and hashed as a binary tree of words.
fn bzzr1(data: &[u8], is_node: bool) -> B256 {
    if data.len() < SWARM_CHUNK || (data.len() == SWARM_CHUNK && !is_node) {
        return bzzr1_node(data.len(), data);
    }
    let size = child_size(data.len());
    // The last child may be a single full chunk while its siblings are nodes; it is raised to their level.
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

/// The roots of trees over nothing but zeros, by their height.
static ZEROS: LazyLock<[B256; LEVELS + 1]> = LazyLock::new(|| {
    let mut roots = [keccak256([0; 2 * WORD]); LEVELS + 1];
    for level in 0..LEVELS {
        roots[level + 1] = keccak256([roots[level], roots[level]].concat());
    }
    roots
});

/// The root of the tree over a chunk; what is missing of it is zeros.
fn binary_tree(content: &[u8]) -> B256 {
    BegunTree::default().finish(content)
}

/// The nodes of a chunk's tree that stand over its beginning alone, by their level.
#[derive(Debug, Default)]
struct BegunTree([Vec<B256>; LEVELS + 1]);

impl BegunTree {
    fn new(beginning: &[u8]) -> Self {
        let mut levels: [Vec<B256>; LEVELS + 1] = Default::default();
        levels[0] = beginning.chunks_exact(2 * WORD).map(keccak256).collect();
        for level in 0..LEVELS {
            levels[level + 1] = levels[level].chunks_exact(2).map(|pair| keccak256(pair.concat())).collect();
        }
        Self(levels)
    }

    /// The root over a chunk that begins as was said; what is missing of it is zeros.
    fn finish(&self, content: &[u8]) -> B256 {
        let Self(begun) = self;
        let rest = content.get(begun[0].len() * 2 * WORD..).unwrap_or_default();
        let mut level = begun[0].clone();
        level.extend(rest.chunks(2 * WORD).map(|pair| {
            let mut filled = [0; 2 * WORD];
            filled[..pair.len()].copy_from_slice(pair);
            keccak256(filled)
        }));
        for (zeros, above) in ZEROS.iter().zip(&begun[1..]) {
            let rest = level.get(2 * above.len()..).unwrap_or_default();
            let rest = rest.chunks(2).map(|pair| keccak256([pair[0], *pair.get(1).unwrap_or(zeros)].concat()));
            level = above.iter().copied().chain(rest).collect();
        }
        level.first().copied().unwrap_or(ZEROS[LEVELS])
    }
}

/// Hashes many texts that begin alike: what they have in common is hashed once.
#[derive(Debug)]
pub(crate) struct Hasher {
    kind: HashKind,
    beginning: Vec<u8>,
    /// IPFS hashes the length of a text before the text: the state behind the beginning, by that length.
    ipfs: HashMap<usize, Sha256>,
    /// Of the whole chunks at the beginning.
    chunks: Vec<B256>,
    /// Of the chunk in which the beginning ends.
    begun: BegunTree,
}

impl Hasher {
    pub(crate) fn new(kind: HashKind, beginning: &[u8]) -> Self {
        let whole = beginning.chunks_exact(SWARM_CHUNK);
        let begun = BegunTree::new(whole.remainder());
        let chunks = match kind {
            HashKind::Ipfs => Vec::new(),
            HashKind::Bzzr0 => whole.map(bzzr0).collect(),
            HashKind::Bzzr1 => whole.map(|chunk| bzzr1(chunk, false)).collect(),
        };
        Self { kind, beginning: beginning.to_vec(), ipfs: HashMap::new(), chunks, begun }
    }

    fn ipfs(&mut self, text: &[u8]) -> Option<MetadataHash> {
        let rest = text.strip_prefix(self.beginning.as_slice())?;
        let begun = match self.ipfs.entry(text.len()) {
            Entry::Occupied(begun) => begun.into_mut(),
            Entry::Vacant(place) => {
                let mut begun = ipfs_start(text.len())?;
                begun.update(&self.beginning);
                place.insert(begun)
            }
        };
        Some(MetadataHash::Ipfs(ipfs_finish(begun.clone(), rest, text.len())))
    }

    /// The hash of a text that begins as was said.
    pub(crate) fn hash(&mut self, text: &[u8]) -> Option<MetadataHash> {
        if self.kind == HashKind::Ipfs {
            return self.ipfs(text);
        }
        let one_level = SWARM_CHUNK + 1..=SWARM_CHUNK * (SWARM_CHUNK / WORD);
        if self.kind == HashKind::Bzzr1 && text.len() <= SWARM_CHUNK && self.chunks.is_empty() {
            return Some(MetadataHash::Bzzr1(bzzr1_chunk(text.len(), self.begun.finish(text))));
        }
        if !one_level.contains(&text.len()) {
            return hash_metadata(self.kind, text);
        }
        let rest = text[self.chunks.len() * SWARM_CHUNK..].chunks(SWARM_CHUNK);
        let begun = self.chunks.iter().copied();
        Some(match self.kind {
            HashKind::Ipfs => return None,
            HashKind::Bzzr0 => {
                let children: Vec<u8> = begun.chain(rest.map(bzzr0)).flat_map(|hash| hash.0).collect();
                MetadataHash::Bzzr0(bzzr0_node(text.len(), &children))
            }
            HashKind::Bzzr1 => {
                let rest = rest.enumerate().map(|(place, chunk)| match place {
                    0 => bzzr1_chunk(chunk.len(), self.begun.finish(chunk)),
                    _ => bzzr1(chunk, false),
                });
                let children: Vec<u8> = begun.chain(rest).flat_map(|hash| hash.0).collect();
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
    fn a_small_file_has_the_name_that_ipfs_gives_it() {
        // QmT78zSuBmuS4z925WZfrqQ1qHaJ56DQaTfyMUF7F8ff5o: "hello world" and a line feed.
        let expected = hex!("46d44814b9c5af141c3aaab7c05dc5e844ead5f91f12858b021eba45768b4c0e");
        let found = hash_metadata(HashKind::Ipfs, b"hello world\n");
        assert_eq!(found, Some(MetadataHash::Ipfs(B256::new(expected))), "{found:?}");
    }

    #[test]
    fn what_ipfs_would_cut_into_pieces_is_not_hashed() {
        assert!(hash_metadata(HashKind::Ipfs, &vec![b'a'; IPFS_CHUNK]).is_some());
        assert_eq!(hash_metadata(HashKind::Ipfs, &vec![b'a'; IPFS_CHUNK + 1]), None);
    }

    #[test]
    fn children_of_a_tree_are_as_large_as_they_must_be() {
        assert_eq!(child_size(4097), 4096);
        assert_eq!(child_size(4096 * 128), 4096);
        assert_eq!(child_size(4096 * 128 + 1), 4096 * 128);
    }

    #[test]
    fn what_is_hashed_in_parts_has_the_hash_of_the_whole() {
        let text: Vec<u8> = (0..30_000_u32).map(|number| number.to_be_bytes()[3] ^ number.to_be_bytes()[2]).collect();
        for kind in [HashKind::Ipfs, HashKind::Bzzr0, HashKind::Bzzr1] {
            for beginning in [0, 63, 64, 700, 4_095, 4_096, 12_288, 20_000] {
                let mut hasher = Hasher::new(kind, &text[..beginning]);
                for length in [700, 2_048, 4_095, 4_096, 4_097, 20_000, 20_480, 20_481, 30_000] {
                    if length < beginning {
                        continue;
                    }
                    let whole = hash_metadata(kind, &text[..length]);
                    assert_eq!(hasher.hash(&text[..length]), whole, "{kind:?} {beginning} {length}");
                }
            }
        }
    }

    #[test]
    fn every_length_and_every_byte_counts() {
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
