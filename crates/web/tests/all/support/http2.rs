//! A client that speaks HTTP/2 from its first byte.

use std::{net::SocketAddr, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use testkit::Answer;
use tokio::{net::TcpStream, task::JoinHandle};

use super::SHORT;

#[derive(Clone)]
pub(crate) struct Http2 {
    connection: http2::SendRequest<Full<Bytes>>,
    address: SocketAddr,
}

impl Http2 {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("the service accepts");
        let shaken = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
        let (connection, running) = shaken.expect("the service speaks HTTP/2");
        tokio::spawn(async move {
            let _ = running.await;
        });
        Http2 { connection, address }
    }

    /// Sends PINGs all the time, also when no request is open; ends with the connection.
    pub(crate) async fn connect_pinging(address: SocketAddr) -> (Self, JoinHandle<()>) {
        let stream = TcpStream::connect(address).await.expect("the service accepts");
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .keep_alive_interval(SHORT / 8)
            .keep_alive_timeout(Duration::from_secs(20))
            .keep_alive_while_idle(true)
            .initial_stream_window_size(Some(64 * 1024));
        let (connection, running) =
            builder.handshake(TokioIo::new(stream)).await.expect("the service speaks HTTP/2");
        let ended = tokio::spawn(async move {
            let _ = running.await;
        });
        (Http2 { connection, address }, ended)
    }

    /// The head of an answer, whose body is not read while it is held.
    pub(crate) async fn head(&self, path: &str) -> hyper::Result<Response<Incoming>> {
        let request = Request::get(self.at(path)).body(Full::default()).expect("a request");
        self.connection.clone().send_request(request).await
    }

    pub(crate) async fn get(&self, path: &str) -> hyper::Result<Answer> {
        self.send(Request::get(self.at(path)), "").await
    }

    /// A request for any host, over this connection.
    pub(crate) async fn get_at(&self, url: &str) -> hyper::Result<Answer> {
        self.send(Request::get(url), "").await
    }

    pub(crate) async fn post(&self, path: &str, json: impl Into<Bytes>) -> hyper::Result<Answer> {
        self.send(Request::post(self.at(path)).header("content-type", "application/json"), json).await
    }

    fn at(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    async fn send(
        &self,
        request: hyper::http::request::Builder,
        body: impl Into<Bytes>,
    ) -> hyper::Result<Answer> {
        let request = request.body(Full::new(body.into())).expect("a request");
        let response = self.connection.clone().send_request(request).await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Ok(Answer { status, headers, body: response.into_body().collect().await?.to_bytes().to_vec() })
    }
}
