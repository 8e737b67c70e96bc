//! Answers that are not problems.

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http::{HeaderValue, StatusCode, header};
use rust_decimal::Decimal;
use serde::{Serialize, Serializer};

use crate::problem::{Problem, Result};

/// An answer with a body in the form the client asked for.
pub struct Reply<T>(pub T);

impl<T: Serialize> IntoResponse for Reply<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(body) => json(body.into()),
            Err(error) => Problem::internal(error).into_response(),
        }
    }
}

/// An answer to a request that made something new: 201, and where it is.
pub struct Created<T> {
    pub location: Option<String>,
    pub body: T,
}

impl<T: Serialize> IntoResponse for Created<T> {
    fn into_response(self) -> Response {
        let mut response = Reply(self.body).into_response();
        if response.status() == StatusCode::OK {
            *response.status_mut() = StatusCode::CREATED;
            if let Some(Ok(location)) = self.location.map(HeaderValue::try_from) {
                response.headers_mut().insert(header::LOCATION, location);
            }
        }
        response
    }
}

fn json(body: Bytes) -> Response {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Writes a decimal as a JSON number with exactly its digits: `25.50`, not `25.5`.
pub fn decimal<S: Serializer>(decimal: &Decimal, serializer: S) -> Result<S::Ok, S::Error> {
    let number: serde_json::Number = decimal.to_string().parse().map_err(serde::ser::Error::custom)?;
    number.serialize(serializer)
}

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
    let Batch { items, next } = fetch(first).await?;
    let mut start = serde_json::to_vec(&items).map_err(Problem::internal)?;
    if next.is_none() {
        return Ok(json(start.into()));
    }
    start.pop(); // the closing bracket, which comes after the last page
    let start = stream::once(async move { Ok(Bytes::from(start)) });
    let mut response = axum::body::Body::from_stream(start.chain(rest(next, fetch))).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

fn rest<T, C, F, Fut>(next: Option<C>, fetch: F) -> impl Stream<Item = Result<Bytes, Broken>>
where
    T: Serialize,
    F: Fn(C) -> Fut,
    Fut: Future<Output = Result<Batch<T, C>>>,
{
    stream::try_unfold(Some((next, fetch)), async |state| {
        let Some((next, fetch)) = state else { return Ok(None) };
        let Some(cursor) = next else { return Ok(Some((Bytes::from_static(b"]"), None))) };
        let Batch { items, next } = fetch(cursor).await.map_err(|problem| Broken::new(&problem))?;
        let mut page = Vec::new();
        for item in &items {
            page.push(b',');
            serde_json::to_writer(&mut page, item).map_err(|error| Broken(error.to_string()))?;
        }
        Ok(Some((Bytes::from(page), Some((next, fetch)))))
    })
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
