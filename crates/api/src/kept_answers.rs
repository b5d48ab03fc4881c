//! Answers that are told again for as long as what they were read from stands.
//!
//! An answer is kept only where its handler says that it follows from the index alone, and told again only while the
//! index is in the very state that it was read in. So nothing is ever taken out because it went stale: a block, a revert,
//! a token's new name or a verified contract makes another state, and in that nothing is kept yet.

mod asked;

use std::{fmt, sync::Arc};

use axum::{
    body::{Body, Bytes, to_bytes},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use domain::{BlockRef, SyncStatus};
use quick_cache::{Weighter, sync::Cache};
use store::{ChainReader, StateVersion, VerifiedContracts};
use tokio::sync::watch;

use crate::error::ApiError;

pub(crate) use asked::{Asked, Question};

/// What an answer takes beside its body and its question, roughly: headers, and its place.
const OVERHEAD_BYTES: u64 = 1024;
/// An answer of ordinary length: says for how many to prepare.
const ORDINARY_BYTES: u64 = 8 * 1024;

/// Marks a response that follows from the index and the request alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OfTheIndex;

/// All that an answer of the index follows from, beside the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IndexState {
    chain: StateVersion,
    verified: StateVersion,
    /// By which it is told how long an answer stays true. Follows the chain's own tip by a moment.
    tip: Option<BlockRef>,
}

/// None where nothing is to be kept.
pub(crate) struct KeptAnswers(Option<Keeping>);

struct Keeping {
    answers: Cache<Question, Arc<KeptAnswer>, Bytesize>,
    state: StateOfNow,
}

/// Tells the state that the index is in; None where it is just changing.
pub(crate) type StateOfNow = Box<dyn Fn() -> Option<IndexState> + Send + Sync>;

impl IndexState {
    /// Tells the state that a reader and what it goes by are in.
    pub(crate) fn of(
        chain: Arc<dyn ChainReader>,
        verified: Arc<dyn VerifiedContracts>,
        sync: watch::Receiver<SyncStatus>,
    ) -> StateOfNow {
        Box::new(move || {
            let (chain, verified) = (chain.state()?, verified.state()?);
            Some(Self { chain, verified, tip: sync.borrow().tip })
        })
    }
}

struct KeptAnswer {
    state: IndexState,
    headers: HeaderMap,
    body: Bytes,
}

impl KeptAnswer {
    fn tell(&self) -> Response {
        let mut response = Response::new(Body::from(self.body.clone()));
        *response.headers_mut() = self.headers.clone();
        response
    }
}

#[derive(Debug, Clone)]
struct Bytesize;

impl Weighter<Question, Arc<KeptAnswer>> for Bytesize {
    fn weight(&self, question: &Question, answer: &Arc<KeptAnswer>) -> u64 {
        (question.len() + answer.body.len()) as u64 + OVERHEAD_BYTES
    }
}

impl KeptAnswers {
    /// Keeps so many bytes of answers, the questions included.
    pub(crate) fn new(bytes: u64, state: StateOfNow) -> Self {
        let ordinary = usize::try_from(bytes / ORDINARY_BYTES).unwrap_or(usize::MAX);
        let answers = || Cache::with_weighter(ordinary.max(1), bytes, Bytesize);
        Self((bytes > 0).then(|| Keeping { answers: answers(), state }))
    }

    /// Answers from what is kept, or has the answer made, and keeps it where that may be done.
    pub(crate) async fn tell_or_make(&self, asked: Asked, make: impl AsyncFnOnce(Asked) -> Response) -> Response {
        let Some(Keeping { answers, state: state_of_now }) = &self.0 else { return make(asked).await };
        let (asked, question) = match asked.question().await {
            Ok(read) => read,
            Err(error) => return error.into_response(),
        };
        // The state is taken before anything is read, and compared after.
        let (Some(question), Some(state)) = (question, state_of_now()) else { return make(asked).await };
        if let Some(kept) = answers.get(&question).filter(|kept| kept.state == state) {
            return kept.tell();
        }
        let mut response = make(asked).await;
        if response.status() != StatusCode::OK || response.extensions_mut().remove::<OfTheIndex>().is_none() {
            return response;
        }
        let (parts, body) = response.into_parts();
        let body = match to_bytes(body, usize::MAX).await {
            Ok(body) => body,
            Err(error) => return ApiError::Unpackable(error).into_response(),
        };
        let made = KeptAnswer { state, headers: parts.headers, body };
        let response = made.tell();
        if state_of_now() == Some(state) {
            answers.insert(question, Arc::new(made));
        }
        response
    }
}

impl fmt::Debug for KeptAnswers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptAnswers").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
