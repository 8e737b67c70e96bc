//! The references: bare axum servers that do no work.

use std::net::SocketAddr;

use axum::{
    Router,
    body::Bytes,
    http::{HeaderValue, StatusCode, header},
    response::IntoResponse,
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
    serve(Router::new().route("/{*path}", post(read_and_write))).await
}

async fn read_and_write(body: Bytes) -> Result<impl IntoResponse, StatusCode> {
    let value: Value = serde_json::from_slice(&body).map_err(|_| StatusCode::BAD_REQUEST)?;
    let written = serde_json::to_vec(&value).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    Ok(([(header::CONTENT_TYPE, "application/json")], written))
}

async fn serve(router: Router) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("its address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}
