//! Lists whose length the data decides, written while they are read.

use axum::{body::Body, response::Response};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use serde::Serialize;

use super::answer;
use crate::{
    negotiate::JSON,
    problem::{Problem, Result},
};

/// A page of rows on the way into a [`list`], and where the next one starts, if there is one.
pub struct Batch<T, C> {
    pub items: Vec<T>,
    pub next: Option<C>,
}

/// A list whose length the data decides, written page by page as the client reads it: at no time is more than
/// one page in memory, and a client that goes away ends the work. The first page is fetched before the answer
/// starts, so that its failure is still a [`Problem`].
pub async fn list<T, C, F, Fut>(first: C, fetch: F) -> Result<Response>
where
    T: Serialize + Send + 'static,
    C: Send + 'static,
    F: Fn(C) -> Fut + Send + 'static,
    Fut: Future<Output = Result<Batch<T, C>>> + Send + 'static,
{
    written(InJson, first, fetch).await
}

/// How a list is written down.
pub(super) trait ListFormat<T>: Copy + Send + 'static {
    fn media_type(self) -> &'static str;
    fn start(self, page: &mut Vec<u8>);
    /// Writes one item; `first` says whether none came before it.
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

/// The list in a format: whole if it is one page, else page by page.
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

/// How far a list has been written.
struct Progress<N, C, F> {
    format: N,
    next: Option<C>,
    /// Whether there has been no item yet.
    empty: bool,
    fetch: F,
}

fn rest<N, T, C, F, Fut>(progress: Progress<N, C, F>) -> impl Stream<Item = Result<Bytes, Broken>>
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
        let Batch { items, next } = fetch(cursor).await.map_err(|problem| Broken::new(&problem))?;
        write_items(format, &mut page, &items, &mut empty).map_err(|problem| Broken::new(&problem))?;
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

/// An answer that broke off in the middle: the connection is closed without the list's end, so that no client
/// takes a part for the whole.
#[derive(Debug, thiserror::Error)]
#[error("a streamed list broke off: {0}")]
struct Broken(String);

impl Broken {
    fn new(problem: &Problem) -> Self {
        let cause = problem.cause().map_or_else(|| problem.status().to_string(), ToString::to_string);
        tracing::error!(cause, "a streamed list broke off");
        Broken(cause)
    }
}
