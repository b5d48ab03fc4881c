//! Metadata and images of NFTs, from the hosts that contracts name. Both are fetched when somebody asks for them; everything
//! about them is untrusted, and bounded in size, time and number.

mod document;
#[allow(clippy::expect_used, clippy::indexing_slicing, reason = "a fuzz target panics if a property does not hold")]
pub(crate) mod fuzzing;
mod image;
mod in_flight;
mod uri;

use std::{sync::Arc, time::Duration};

use bytes::Bytes as Content;
use document::MAX_IMAGE_URI;
use domain::{Address, BlockId, BlockRef, Bytes, Nft, NftDocument, NftMetadata, Selector, TokenKind, U256, UnixMillis};
use egress::{Egress, FetchLimits};
use futures::future::BoxFuture;
pub use image::{Image, ImageKind};
use in_flight::InFlight;
use node::{CallBlock, CallRequest, NodeClient, NodeError, ViewOutcome};
use quick_cache::{OptionsBuilder, Weighter, sync::Cache};
use store::{CachedNftMetadata, ChainReader, StoreError};
use uri::{Expected, Source};
pub use uri::{InvalidGateway, IpfsGateway};

/// `tokenURI(uint256)`
const TOKEN_URI: Selector = [0xc8, 0x7b, 0x56, 0xdd];
/// `uri(uint256)`
const URI: Selector = [0x0e, 0x89, 0x34, 0x1c];
const CALL_GAS: u64 = 30_000_000;
const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// Long enough for a document of the maximum size in base64.
const MAX_URI_BYTES: usize = 360 * 1024;
/// What is stored and shown of a URI.
const SHOWN_URI: usize = 300;

const DOCUMENT_LIMITS: FetchLimits =
    FetchLimits { max_bytes: 256 * 1024, timeout: Duration::from_secs(10), max_redirects: 4 };
const IMAGE_LIMITS: FetchLimits = FetchLimits { max_bytes: 2 * 1024 * 1024, ..DOCUMENT_LIMITS };
/// A client waits this long; the fetch continues without it.
const CLIENT_WAIT: Duration = Duration::from_millis(2_500);
/// After a failure, the host is not asked again for this long, unless a client asks for it.
const RETRY_AFTER: Duration = Duration::from_secs(60 * 60);
/// Requests to fetch again are ignored for this long after a fetch.
const MIN_AGE: Duration = Duration::from_secs(5);
/// Bytes of images in memory. They are not stored: anyone could fill the disk with them.
const IMAGE_CACHE: u64 = 32 * 1024 * 1024;
const TYPICAL_IMAGE: u64 = 64 * 1024;

/// Fetches metadata and images, and keeps what was found.
#[expect(missing_debug_implementations, reason = "traits without Debug")]
pub struct NftMetadataFetcher {
    sources: Arc<Sources>,
    chain: Arc<dyn ChainReader>,
    store: Arc<dyn CachedNftMetadata>,
    documents: Arc<InFlight<Option<NftMetadata>>>,
    fetching_images: Arc<InFlight<Arc<FetchedImage>>>,
    images: Arc<ImageCache>,
}

#[expect(missing_debug_implementations, reason = "traits without Debug")]
pub struct NftMetadataParts {
    pub node: NodeClient,
    /// None: nothing is fetched from other hosts, only `data:` URIs are read.
    pub egress: Option<Arc<Egress>>,
    /// None: `ipfs:` URIs are not supported.
    pub ipfs_gateway: Option<IpfsGateway>,
    pub chain: Arc<dyn ChainReader>,
    pub store: Arc<dyn CachedNftMetadata>,
}

/// What is known about the metadata of an NFT now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundMetadata {
    /// A document, or the reason why it is missing.
    Known(NftMetadata),
    /// It is being fetched, or cannot be fetched at the moment.
    Pending,
}

#[derive(Debug, thiserror::Error)]
pub enum ImageUnavailable {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the image is being fetched")]
    Pending,
    #[error("{0}")]
    NoImage(String),
}

/// An image, or why it is missing.
struct FetchedImage {
    uri: String,
    fetched_at: UnixMillis,
    content: Result<Image, String>,
}

type ImageCache = Cache<(Address, U256), Arc<FetchedImage>, ByBytes>;

#[derive(Clone)]
struct ByBytes;

impl Weighter<(Address, U256), Arc<FetchedImage>> for ByBytes {
    fn weight(&self, _: &(Address, U256), fetched: &Arc<FetchedImage>) -> u64 {
        let content = fetched.content.as_ref().map_or_else(String::len, |image| image.bytes.len());
        (content + fetched.uri.len() + 256) as u64
    }
}

/// Where documents and images come from.
struct Sources {
    node: NodeClient,
    egress: Option<Arc<Egress>>,
    ipfs_gateway: Option<IpfsGateway>,
}

impl NftMetadataFetcher {
    #[must_use]
    pub fn new(parts: NftMetadataParts) -> Self {
        let NftMetadataParts { node, egress, ipfs_gateway, chain, store } = parts;
        Self {
            sources: Arc::new(Sources { node, egress, ipfs_gateway }),
            chain,
            store,
            documents: Arc::new(InFlight::new()),
            fetching_images: Arc::new(InFlight::new()),
            images: Arc::new(image_cache()),
        }
    }

    /// The metadata of an NFT, fetched if it is not known.
    pub fn find<'a>(&'a self, nft: &'a Nft) -> BoxFuture<'a, Result<FoundMetadata, StoreError>> {
        Box::pin(async move {
            match self.find_stored(nft).await? {
                Some(known) if known.document.is_ok() || age(known.fetched_at) < RETRY_AFTER => {
                    Ok(FoundMetadata::Known(known))
                }
                _ => self.fetch(nft, None).await,
            }
        })
    }

    /// Fetches the metadata again, unless that was just done. A document that was read before stays if it is missing now.
    pub fn refresh<'a>(&'a self, nft: &'a Nft) -> BoxFuture<'a, Result<FoundMetadata, StoreError>> {
        Box::pin(async move {
            match self.find_stored(nft).await? {
                Some(known) if age(known.fetched_at) < MIN_AGE => Ok(FoundMetadata::Known(known)),
                known => {
                    self.images.remove(&(nft.token, nft.id));
                    self.fetch(nft, known.filter(|known| known.document.is_ok())).await
                }
            }
        })
    }

    /// The stored metadata, if the block at which the contract was asked is canonical.
    pub fn find_stored<'a>(&'a self, nft: &'a Nft) -> BoxFuture<'a, Result<Option<NftMetadata>, StoreError>> {
        Box::pin(async move {
            let Some(known) = self.store.find_nft_metadata(nft.token, nft.id).await? else { return Ok(None) };
            let block = self.chain.find_block(BlockId::Number(known.block.number)).await?;
            Ok(block.is_some_and(|block| block.hash == known.block.hash).then_some(known))
        })
    }

    /// The image that the metadata names.
    pub fn image<'a>(&'a self, nft: &'a Nft) -> BoxFuture<'a, Result<Image, ImageUnavailable>> {
        Box::pin(async move {
            let document = match self.find(nft).await? {
                FoundMetadata::Pending => return Err(ImageUnavailable::Pending),
                FoundMetadata::Known(known) => known.document.map_err(ImageUnavailable::NoImage)?,
            };
            let uri =
                document.image.ok_or_else(|| ImageUnavailable::NoImage("the metadata names no image".to_owned()))?;
            let key = (nft.token, nft.id);
            let cached = self.images.get(&key).filter(|image| image.uri == uri && image.is_current());
            let fetched = match cached {
                Some(cached) => cached,
                None => {
                    let (sources, images) = (Arc::clone(&self.sources), Arc::clone(&self.images));
                    let fetch = async move {
                        let content = sources.image(&uri).await;
                        let fetched = Arc::new(FetchedImage { uri, fetched_at: unix_time::millis(), content });
                        images.insert(key, Arc::clone(&fetched));
                        fetched
                    };
                    self.fetching_images.run(key, CLIENT_WAIT, fetch).await.ok_or(ImageUnavailable::Pending)?
                }
            };
            fetched.content.clone().map_err(ImageUnavailable::NoImage)
        })
    }

    /// Whether the image is in memory, so that showing it costs no request to another host.
    #[must_use]
    pub fn has_image(&self, token: Address, id: U256) -> bool {
        self.images.get(&(token, id)).is_some_and(|image| image.content.is_ok())
    }

    async fn fetch(&self, nft: &Nft, before: Option<NftMetadata>) -> Result<FoundMetadata, StoreError> {
        let Some(tip) = self.chain.find_tip().await? else { return Ok(FoundMetadata::Pending) };
        let (sources, store, nft) = (Arc::clone(&self.sources), Arc::clone(&self.store), *nft);
        let fetch = async move {
            let error: StoreError = match sources.metadata(&nft, tip).await {
                Ok(metadata) if metadata.document.is_err() && before.is_some() => return before,
                Ok(metadata) => match store.save_nft_metadata(nft.token, nft.id, metadata.clone()).await {
                    Ok(()) => return Some(metadata),
                    Err(error) => error,
                },
                Err(error) => {
                    tracing::debug!(%error, token = %nft.token, "cannot ask the contract for its metadata");
                    return before;
                }
            };
            let error: &dyn std::error::Error = &error;
            tracing::warn!(error, token = %nft.token, "cannot store the metadata of an NFT");
            None
        };
        let found = self.documents.run((nft.token, nft.id), CLIENT_WAIT, fetch).await.flatten();
        Ok(found.map_or(FoundMetadata::Pending, FoundMetadata::Known))
    }
}

impl FetchedImage {
    fn is_current(&self) -> bool {
        self.content.is_ok() || age(self.fetched_at) < RETRY_AFTER
    }
}

impl Sources {
    /// Asks the contract for the URI, and the host for the document. An error if the node does not answer.
    async fn metadata(&self, nft: &Nft, at: BlockRef) -> Result<NftMetadata, NodeError> {
        let (uri, document) = match self.uri(nft, at).await? {
            Err(reason) => (None, Err(reason)),
            Ok(uri) => (Some(document::shortened(&uri, SHOWN_URI)), self.document(nft, &uri).await),
        };
        Ok(NftMetadata { uri, block: at, fetched_at: unix_time::millis(), document })
    }

    async fn uri(&self, nft: &Nft, at: BlockRef) -> Result<Result<String, String>, NodeError> {
        let function = if nft.kind == TokenKind::Bep1155 { URI } else { TOKEN_URI };
        let data = [&function[..], &nft.id.to_be_bytes::<32>()].concat();
        let request =
            CallRequest { from: None, to: Some(nft.token), data: data.into(), gas: CALL_GAS, timeout: CALL_TIMEOUT };
        let mut outcome = self.node.view(&request, CallBlock::At(at)).await?;
        if outcome == ViewOutcome::StateGone {
            outcome = self.node.view(&request, CallBlock::Latest).await?;
        }
        Ok(match outcome {
            ViewOutcome::Returned(data) if data.len() > MAX_URI_BYTES => {
                Err("the contract gives a URI that is too long".to_owned())
            }
            ViewOutcome::Returned(data) => match decode_text(&data) {
                Some(uri) if uri.trim().is_empty() => Err("the contract gives no URI for this id".to_owned()),
                Some(uri) => Ok(with_id(&uri, nft)),
                None => Err("the contract gives no valid URI".to_owned()),
            },
            ViewOutcome::Reverted { .. } => Err("the contract gives no URI for this id".to_owned()),
            // What the contract gives is unknown, which is not stored.
            ViewOutcome::StateGone => {
                let what = "no state of the newest block".to_owned();
                return Err(NodeError::InvalidResponse { method: "eth_call", what });
            }
        })
    }

    async fn document(&self, nft: &Nft, uri: &str) -> Result<NftDocument, String> {
        let content = self.content(uri, Expected::Document, DOCUMENT_LIMITS).await;
        let mut document = document::parse(&content.map_err(|reason| format!("cannot read the metadata: {reason}"))?)?;
        // With the id, it may be longer than before.
        document.image = document.image.map(|uri| with_id(&uri, nft)).filter(|uri| uri.len() <= MAX_IMAGE_URI);
        Ok(document)
    }

    async fn image(&self, uri: &str) -> Result<Image, String> {
        let content = self.content(uri, Expected::Image, IMAGE_LIMITS).await;
        let bytes = content.map_err(|reason| format!("cannot read the image: {reason}"))?;
        match ImageKind::of(&bytes) {
            Some(kind) => Ok(Image { kind, bytes }),
            None => Err("the image is not a PNG, JPEG, GIF, WebP or AVIF file".to_owned()),
        }
    }

    async fn content(&self, uri: &str, expected: Expected, limits: FetchLimits) -> Result<Content, String> {
        match uri::locate(uri, expected, self.ipfs_gateway.as_ref()).map_err(|fault| fault.to_string())? {
            Source::Content(content) if content.len() > limits.max_bytes => {
                Err(format!("it is larger than {} bytes", limits.max_bytes))
            }
            Source::Content(content) => Ok(content.into()),
            Source::Url(url) => match &self.egress {
                Some(egress) => egress.fetch(&url, limits).await.map_err(|fault| fault.to_string()),
                None => Err("this explorer fetches nothing from other hosts".to_owned()),
            },
        }
    }
}

/// BEP1155: the id in a URI is `{id}`, for which clients put 64 lowercase hexadecimal digits.
fn with_id(uri: &str, nft: &Nft) -> String {
    match nft.kind {
        TokenKind::Bep1155 => uri.replace("{id}", &format!("{:064x}", nft.id)),
        TokenKind::Bep20 | TokenKind::Bep721 => uri.to_owned(),
    }
}

/// A string as the only return value. Invalid UTF-8 is replaced.
fn decode_text(data: &Bytes) -> Option<String> {
    let number = |word: Option<&[u8]>| usize::try_from(U256::try_from_be_slice(word?)?).ok();
    let text = data.get(number(data.get(..32))?..)?;
    let bytes = text.get(32..)?.get(..number(text.get(..32))?)?;
    Some(String::from_utf8_lossy(bytes).into_owned())
}

/// One shard, since each shard holds only a part of the bytes.
fn image_cache() -> ImageCache {
    let items = usize::try_from(IMAGE_CACHE / TYPICAL_IMAGE).unwrap_or_default();
    let mut options = OptionsBuilder::new();
    options.estimated_items_capacity(items).weight_capacity(IMAGE_CACHE).shards(1);
    match options.build() {
        Ok(options) => Cache::with_options(options, ByBytes, Default::default(), Default::default()),
        Err(_) => Cache::with_weighter(items, IMAGE_CACHE, ByBytes),
    }
}

/// Zero for a time in the future: the clock was set back.
fn age(at: UnixMillis) -> Duration {
    Duration::from_millis(unix_time::millis().saturating_sub(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn without_egress_only_data_uris_are_read() {
        let host = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/7.json", host.local_addr().unwrap());
        let node = NodeClient::new(node::NodeConfig::new(vec![url.parse().unwrap()])).unwrap();
        let sources = Sources { node, egress: None, ipfs_gateway: Some("https://gateway.example".parse().unwrap()) };
        for uri in [url.as_str(), "ipfs://QmHash/7.json"] {
            let read = sources.content(uri, Expected::Document, DOCUMENT_LIMITS).await;
            assert_eq!(read, Err("this explorer fetches nothing from other hosts".to_owned()), "{uri}");
        }
        let read = sources.content("data:application/json,{}", Expected::Document, DOCUMENT_LIMITS).await;
        assert_eq!(read.as_deref(), Ok(&b"{}"[..]));
        let connected = tokio::time::timeout(Duration::from_millis(50), host.accept()).await;
        assert!(connected.is_err(), "nobody connects");
    }

    fn nft(kind: TokenKind, id: u64) -> Nft {
        let (token, id) = (Address::repeat_byte(1), U256::from(id));
        Nft { token, id, kind, owner: None, holder_count: 0, transfer_count: 1 }
    }

    #[test]
    fn the_id_of_a_bep1155_token_is_put_into_its_uri() {
        let (shared, single) = (nft(TokenKind::Bep1155, 0x1a2b), nft(TokenKind::Bep721, 0x1a2b));
        let digits = format!("{}1a2b", "0".repeat(60));
        assert_eq!(
            with_id("https://a.example/{id}/{id}.json", &shared),
            format!("https://a.example/{digits}/{digits}.json")
        );
        assert_eq!(with_id("https://a.example/{id}", &single), "https://a.example/{id}");
    }

    #[test]
    fn texts_of_contracts_are_decoded_or_refused() {
        let word = |number: u64| U256::from(number).to_be_bytes::<32>().to_vec();
        let text = [word(32), word(3), b"abc".to_vec(), vec![0; 29]].concat();
        assert_eq!(decode_text(&text.into()).as_deref(), Some("abc"));
        assert_eq!(decode_text(&[word(32), word(0)].concat().into()).as_deref(), Some(""));
        for data in [
            vec![],
            word(32),
            [word(32), word(3)].concat(),
            [word(64), word(3)].concat(),
            [word(u64::MAX), word(3)].concat(),
            [word(32), vec![0xff; 32]].concat(),
            [vec![0xff; 32], word(3)].concat(),
        ] {
            assert_eq!(decode_text(&data.clone().into()), None, "{data:?}");
        }
    }

    #[test]
    fn an_image_of_the_maximum_size_is_kept() {
        let (cache, key) = (image_cache(), (Address::ZERO, U256::ZERO));
        let image = Image { kind: ImageKind::Png, bytes: vec![0; IMAGE_LIMITS.max_bytes].into() };
        cache.insert(key, Arc::new(FetchedImage { uri: String::new(), fetched_at: 0, content: Ok(image) }));
        assert!(cache.get(&key).is_some());
    }
}
