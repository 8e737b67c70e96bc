//! A client that speaks HTTP/2 from its first byte.

use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use testkit::Answer;
use tokio::net::TcpStream;

#[derive(Clone)]
pub struct Http2 {
    connection: http2::SendRequest<Full<Bytes>>,
    address: SocketAddr,
}

impl Http2 {
    pub async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("the service accepts");
        let shaken = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
        let (connection, running) = shaken.expect("the service speaks HTTP/2");
        tokio::spawn(async move {
            let _ = running.await;
        });
        Http2 { connection, address }
    }

    pub async fn get(&self, path: &str) -> hyper::Result<Answer> {
        self.send(Request::get(self.at(path)), "").await
    }

    /// For any host, whatever is connected to.
    pub async fn get_at(&self, url: &str) -> hyper::Result<Answer> {
        self.send(Request::get(url), "").await
    }

    pub async fn post(&self, path: &str, json: impl Into<Bytes>) -> hyper::Result<Answer> {
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
