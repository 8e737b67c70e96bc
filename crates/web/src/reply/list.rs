//! Streamed lists: each page is fetched, written and sent before the next one.

use axum::{body::Body, response::Response};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use serde::Serialize;

use super::answer;
use crate::{
    negotiate::JSON,
    problem::{Problem, Result},
};

/// One page of a [`list`], and the cursor of the next page, if there is one.
pub struct Batch<T, C> {
    pub items: Vec<T>,
    pub next: Option<C>,
}

/// A list of any length, streamed page by page as the client reads it. Only one page is in memory, and no page is fetched
/// after the client disconnects. The first page is fetched before the answer starts, so that its error is still a [`Problem`].
pub async fn list<T, C, F, Fut>(first: C, fetch: F) -> Result<Response>
where
    T: Serialize + Send + 'static,
    C: Send + 'static,
    F: Fn(C) -> Fut + Send + 'static,
    Fut: Future<Output = Result<Batch<T, C>>> + Send + 'static,
{
    written(InJson, first, fetch).await
}

/// The format of a list.
pub(super) trait ListFormat<T>: Copy + Send + 'static {
    fn media_type(self) -> &'static str;
    fn start(self, page: &mut Vec<u8>);
    /// Writes one item; `first` is true for the first item of the list.
    fn item(self, page: &mut Vec<u8>, item: &T, first: bool) -> Result<()>;
    fn end(self, page: &mut Vec<u8>);
}

#[derive(Clone, Copy)]
pub(super) struct InJson;

impl<T: Serialize> ListFormat<T> for InJson {
    fn media_type(self) -> &'static str {
        JSON
    }

    fn start(self, page: &mut Vec<u8>) {
        page.push(b'[');
    }

    fn item(self, page: &mut Vec<u8>, item: &T, first: bool) -> Result<()> {
        if !first {
            page.push(b',');
        }
        serde_json::to_writer(page, item).map_err(Problem::internal)
    }

    fn end(self, page: &mut Vec<u8>) {
        page.push(b']');
    }
}

/// The list in a format: a single page at once, several pages as a stream.
pub(super) async fn written<N, T, C, F, Fut>(format: N, first: C, fetch: F) -> Result<Response>
where
    N: ListFormat<T>,
    T: Send + 'static,
    C: Send + 'static,
    F: Fn(C) -> Fut + Send + 'static,
    Fut: Future<Output = Result<Batch<T, C>>> + Send + 'static,
{
    let Batch { items, next } = fetch(first).await?;
    let (mut page, mut empty) = (Vec::new(), true);
    format.start(&mut page);
    write_items(format, &mut page, &items, &mut empty)?;
    if next.is_none() {
        format.end(&mut page);
        return Ok(answer(format.media_type(), page));
    }
    let start = stream::once(async move { Ok(Bytes::from(page)) });
    let rest = rest(Progress { format, next, empty, fetch });
    Ok(answer(format.media_type(), Body::from_stream(start.chain(rest))))
}

/// The state of a streamed list between two pages.
struct Progress<N, C, F> {
    format: N,
    next: Option<C>,
    /// Whether no item was written yet.
    empty: bool,
    fetch: F,
}

fn rest<N, T, C, F, Fut>(progress: Progress<N, C, F>) -> impl Stream<Item = Result<Bytes, Aborted>>
where
    N: ListFormat<T>,
    F: Fn(C) -> Fut,
    Fut: Future<Output = Result<Batch<T, C>>>,
{
    stream::try_unfold(Some(progress), async |progress| {
        let Some(Progress { format, next, mut empty, fetch }) = progress else { return Ok(None) };
        let mut page = Vec::new();
        let Some(cursor) = next else {
            format.end(&mut page);
            return Ok(Some((Bytes::from(page), None)));
        };
        let Batch { items, next } = fetch(cursor).await.map_err(|problem| Aborted::new(&problem))?;
        write_items(format, &mut page, &items, &mut empty).map_err(|problem| Aborted::new(&problem))?;
        Ok(Some((Bytes::from(page), Some(Progress { format, next, empty, fetch }))))
    })
}

fn write_items<N: ListFormat<T>, T>(
    format: N,
    page: &mut Vec<u8>,
    items: &[T],
    empty: &mut bool,
) -> Result<()> {
    for item in items {
        format.item(page, item, std::mem::take(empty))?;
    }
    Ok(())
}

/// An error after the answer has started. The connection is closed without the end of the list, so that the client sees that
/// the list is incomplete.
#[derive(Debug, thiserror::Error)]
#[error("a streamed list broke off: {0}")]
struct Aborted(String);

impl Aborted {
    fn new(problem: &Problem) -> Self {
        let cause = problem.cause().map_or_else(|| problem.status().to_string(), ToString::to_string);
        tracing::error!(cause, "a streamed list broke off");
        Aborted(cause)
    }
}
