//! The references: bare axum servers that do no work.

use std::net::SocketAddr;

use axum::{
    Json, Router,
    body::Bytes,
    http::{HeaderValue, header},
    routing::{any, post},
};
use serde_json::Value;

/// R1: the same bytes for every request.
pub(crate) async fn constant(media_type: &str, body: Bytes) -> SocketAddr {
    let media_type = HeaderValue::from_str(media_type).expect("a media type");
    let answer = any(async move || ([(header::CONTENT_TYPE, media_type)], body));
    serve(Router::new().route("/{*path}", answer)).await
}

/// R2: the body of the request, read as JSON and written again.
pub(crate) async fn echo() -> SocketAddr {
    serve(Router::new().route("/{*path}", post(async |Json(body): Json<Value>| Json(body)))).await
}

async fn serve(router: Router) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("its address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}
