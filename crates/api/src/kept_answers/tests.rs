use std::sync::{
    Mutex,
    atomic::{AtomicU64, Ordering::SeqCst},
};

use axum::{
    Router,
    extract::{Path, Request},
    http::{HeaderMap, Method},
    routing::{get, post},
};
use http_body_util::BodyExt;
use tower::ServiceExt;

use super::*;
use crate::{
    answer::{Answer, Freshness},
    layers::tests::wrap_keeping,
};

/// A router that counts what it is asked, behind the layers, and an index whose state can be set.
struct House {
    router: Router,
    made: Arc<AtomicU64>,
    state: Arc<Mutex<Option<u64>>>,
}

fn state_of(version: u64) -> IndexState {
    IndexState { chain: StateVersion(version), verified: StateVersion(0), tip: None }
}

impl House {
    fn keeping(bytes: u64) -> Self {
        let (made, state) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(Some(1))));
        let count = {
            let made = Arc::clone(&made);
            move || made.fetch_add(1, SeqCst)
        };
        let (one, other, query, changing) = (count.clone(), count.clone(), count.clone(), count);
        let changed = Arc::clone(&state);
        let router = Router::new()
            .route("/api/v1/kept/{id}", get(async move |Path(id): Path<u64>| index_answer(vec![id, one()])))
            .route("/api/v1/asked", get(async move || Answer::new(vec![other()], Freshness::UntilNextBlock)))
            .route("/api/v1/query", post(async move |body: String| index_answer((body, query()))))
            .route("/api/v1/failing", get(async || (StatusCode::NOT_FOUND, index_answer(0))))
            .route(
                "/api/v1/changing",
                get(async move || {
                    *changed.lock().unwrap() = Some(2);
                    index_answer(changing())
                }),
            )
            .route("/api/v1/long", get(async || index_answer("long ".repeat(1_000))));
        let of_now = Arc::clone(&state);
        let answers = KeptAnswers::new(bytes, Box::new(move || of_now.lock().unwrap().map(state_of)));
        Self { router: wrap_keeping(router, answers), made, state }
    }

    fn new() -> Self {
        Self::keeping(1 << 20)
    }

    fn be_in(&self, state: Option<u64>) {
        *self.state.lock().unwrap() = state;
    }

    async fn send(&self, request: Request) -> (StatusCode, HeaderMap, Bytes) {
        let (head, body) = self.router.clone().oneshot(request).await.unwrap().into_parts();
        (head.status, head.headers, body.collect().await.unwrap().to_bytes())
    }

    async fn get(&self, path: &str) -> Bytes {
        self.send(Request::get(path).body(Body::empty()).unwrap()).await.2
    }

    fn made(&self) -> u64 {
        self.made.load(SeqCst)
    }
}

fn index_answer<T: serde::Serialize>(value: T) -> Answer<T> {
    Answer::new(value, Freshness::UntilNextBlock).of_the_index()
}

#[tokio::test]
async fn the_same_question_is_read_once_for_each_state_of_the_index() {
    let house = House::new();
    let first = house.get("/api/v1/kept/1").await;
    assert_eq!(house.get("/api/v1/kept/1").await, first);
    assert_eq!(house.made(), 1);
    assert_ne!(house.get("/api/v1/kept/2").await, first);
    house.be_in(Some(2));
    assert_ne!(house.get("/api/v1/kept/1").await, first);
    assert_eq!(house.made(), 3);
}

#[tokio::test]
async fn nothing_is_told_again_or_kept_while_the_index_changes() {
    let house = House::new();
    house.get("/api/v1/kept/1").await;
    house.be_in(None);
    house.get("/api/v1/kept/1").await;
    house.get("/api/v1/kept/1").await;
    assert_eq!(house.made(), 3);
    house.be_in(Some(1));
    house.get("/api/v1/kept/1").await;
    assert_eq!(house.made(), 3, "what was kept before still holds");
}

#[tokio::test]
async fn what_was_read_while_the_index_changed_is_not_kept() {
    let house = House::new();
    house.get("/api/v1/changing").await;
    house.get("/api/v1/changing").await;
    assert_eq!(house.made(), 2, "read in one state, done in another");
    house.get("/api/v1/changing").await;
    assert_eq!(house.made(), 2);
}

#[tokio::test]
async fn only_good_answers_that_follow_from_the_index_are_kept() {
    let house = House::new();
    house.get("/api/v1/asked").await;
    house.get("/api/v1/asked").await;
    assert_eq!(house.made(), 2);
    for _ in 0..2 {
        let failed = house.send(Request::get("/api/v1/failing").body(Body::empty()).unwrap()).await;
        assert_eq!(failed.0, StatusCode::NOT_FOUND);
    }
}

#[tokio::test]
async fn an_answer_told_again_is_the_same_but_for_the_name_of_the_request() {
    let house = House::new();
    let ask = || Request::get("/api/v1/kept/1").body(Body::empty()).unwrap();
    let ((status, mut first, body), (status_again, mut again, body_again)) =
        (house.send(ask()).await, house.send(ask()).await);
    assert_eq!(house.made(), 1);
    assert_ne!(first.remove("x-request-id"), again.remove("x-request-id"));
    assert_eq!((status, first, body), (status_again, again, body_again));
}

#[tokio::test]
async fn a_tag_that_still_holds_is_answered_304_from_what_is_kept() {
    let house = House::new();
    let (_, headers, _) = house.send(Request::get("/api/v1/kept/1").body(Body::empty()).unwrap()).await;
    let ask = Request::get("/api/v1/kept/1").header("if-none-match", &headers["etag"]);
    let (status, _, body) = house.send(ask.body(Body::empty()).unwrap()).await;
    assert_eq!((status, body.len(), house.made()), (StatusCode::NOT_MODIFIED, 0, 1));
}

#[tokio::test]
async fn head_is_not_answered_from_what_get_left() {
    let house = House::new();
    house.get("/api/v1/kept/1").await;
    let request = Request::builder().method(Method::HEAD).uri("/api/v1/kept/1").body(Body::empty()).unwrap();
    let (status, _, body) = house.send(request).await;
    assert_eq!((status, body.len(), house.made()), (StatusCode::OK, 0, 2));
}

#[tokio::test]
async fn each_encoding_is_kept_for_itself() {
    let house = House::new();
    let ask = |encoding: &str| {
        let request = Request::get("/api/v1/long").header("accept-encoding", encoding);
        house.send(request.body(Body::empty()).unwrap())
    };
    for _ in 0..2 {
        let (_, gzip, packed) = ask("gzip").await;
        assert_eq!(
            (&gzip["content-encoding"], &gzip["vary"]),
            (&"gzip".parse().unwrap(), &"accept-encoding".parse().unwrap())
        );
        let (_, plain, body) = ask("identity").await;
        assert!(!plain.contains_key("content-encoding") && packed.len() < body.len());
        assert_eq!(plain["etag"], gzip["etag"]);
    }
}

#[tokio::test]
async fn a_query_is_kept_by_its_body() {
    let house = House::new();
    let ask = async |body: &'static str| {
        let request = Request::post("/api/v1/query").header("content-type", "application/json");
        let request = request.header("content-length", body.len()).body(Body::from(body)).unwrap();
        house.send(request).await.2
    };
    let first = ask("{}").await;
    assert_eq!(ask("{}").await, first);
    assert_ne!(ask("{ }").await, first);
    assert_eq!(house.made(), 2);
}

#[tokio::test]
async fn no_more_is_kept_than_there_is_room_for() {
    let house = House::keeping(64 * 1024);
    for _ in 0..2 {
        for id in 0..1_000 {
            house.get(&format!("/api/v1/kept/{id}")).await;
        }
    }
    assert!(house.made() > 1_900, "{}", house.made());
}
