//! `GET /tickets/{ticketId}/qr`.

use http::Method;
use serde_json::Value;
use testkit::{Answer, Store};

use crate::fixture::{ADA_BASIC, Open, Setup, general, text};

/// The text of the only QR code in an image, given by whether a pixel is dark.
#[track_caller]
pub(crate) fn decoded(size: usize, is_dark: impl Fn(usize, usize) -> bool) -> String {
    let shade = |x, y| if is_dark(x, y) { 0 } else { 255 };
    let mut image = rqrr::PreparedImage::prepare_from_greyscale(size, size, shade);
    let codes = image.detect_grids();
    assert_eq!(codes.len(), 1);
    codes[0].decode().unwrap().1
}

/// The text of the QR code in a PNG of one bit per pixel.
#[track_caller]
pub(crate) fn of_png(bytes: &[u8]) -> String {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!(info.width, info.height);
    decoded(info.width as usize, |x, y| pixels[y * info.line_size + x / 8] >> (7 - x % 8) & 1 == 0)
}

/// The text of the QR code in an SVG, drawn with eight pixels for a module.
#[track_caller]
fn of_svg(svg: &str) -> String {
    let size = svg.split_once("viewBox=\"0 0 ").unwrap().1.split_once(' ').unwrap().0;
    let size: usize = size.parse().unwrap();
    let mut dark = vec![false; size * size];
    let path = svg.rsplit_once("<path d=\"").unwrap().1.split('"').next().unwrap();
    for run in path.split('M').skip(1) {
        let (x, rest) = run.split_once(' ').unwrap();
        let (y, rest) = rest.split_once('h').unwrap();
        let [x, y, length]: [usize; 3] =
            [x, y, rest.split_once('v').unwrap().0].map(|number| number.parse().unwrap());
        dark[y * size + x..][..length].fill(true);
    }
    decoded(size * 8, |x, y| dark[y / 8 * size + x / 8])
}

impl Open {
    async fn sold(&self) -> Value {
        self.buy(&general("2026-05-20")).await.has_status(201).json()
    }

    /// The QR code of a ticket in this format.
    async fn qr(&self, ticket: &Value, accept: &str) -> Answer {
        self.ada.get(&qr_of(ticket)).header("accept", accept).send().await
    }
}

fn qr_of(ticket: &Value) -> String {
    format!("/v1.1/tickets/{}/qr", text(ticket, "ticketId"))
}

/// The path and the query of a ticket's link.
pub(crate) fn link_of(ticket: &Value) -> String {
    let (id, code) = (text(ticket, "ticketId"), text(ticket, "confirmationCode"));
    format!("/v1.1/tickets/{id}/admissions?code={code}")
}

testkit::on_one_engine! {
    async fn qr_code_has_the_link_to_the_admissions_with_the_code(open: Open) {
        let ticket = open.sold().await;
        let link = format!("http://{}{}", open.anyone.address(), link_of(&ticket));
        let answer = open.qr(&ticket, "image/png").await;
        assert_eq!((answer.status, answer.header("content-type")), (200, "image/png"));
        assert_eq!(of_png(&answer.body), link);
        let answer = open.qr(&ticket, "image/svg+xml").await;
        assert_eq!((answer.status, answer.header("content-type")), (200, "image/svg+xml"));
        assert_eq!(of_svg(&answer.text()), link);
        let other = open.sold().await;
        assert_ne!(of_png(&open.qr(&other, "image/png").await.body), link);
    }

    async fn qr_code_is_visible_only_to_the_buyer(open: Open) {
        let path = qr_of(&open.sold().await);
        let detail = open.ben.get(&path).send().await.is_problem(404, "not-found");
        assert_eq!(detail, "This account bought no ticket with this id.");
        open.anyone.get(&path).send().await.is_problem(401, "unauthorized");
        open.ada.get("/v1.1/tickets/019e0000-0000-7000-8000-000000000000/qr").send().await.is_problem(404, "not-found");
        let said = "must be a UUID like 3be6453c-03eb-4357-ae5a-984a0e574a54";
        open.ada.get("/v1.1/tickets/1/qr").send().await.is_invalid(&[("{ticketId}", said)]);
    }
}

testkit::on_one_engine! {
    async fn accept_header_chooses_png_or_svg_and_png_is_the_default(open: Open) {
        let ticket = open.sold().await;
        for (accept, media_type) in [
            ("", "image/png"),
            ("*/*", "image/png"),
            ("image/*", "image/png"),
            ("image/png, image/svg+xml", "image/png"),
            ("image/png;q=0.5, image/svg+xml", "image/svg+xml"),
            ("IMAGE/SVG+XML", "image/svg+xml"),
            ("image/svg+xml, */*;q=0.1", "image/svg+xml"),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "image/png"),
        ] {
            let answer = open.qr(&ticket, accept).await;
            assert_eq!((answer.status, answer.header("content-type")), (200, media_type), "{accept}");
            assert_eq!(answer.header("cache-control"), "no-store", "{accept}");
            assert!(answer.header("vary").contains("accept"), "{accept}");
            let head = open.ada.call(Method::HEAD, &qr_of(&ticket)).header("accept", accept).send().await;
            assert_eq!((head.status, head.header("content-type")), (200, media_type), "{accept}");
        }
        let said = "This operation answers as image/png or image/svg+xml only.";
        for accept in ["application/json", "image/jpeg", "image/*;q=0", "image/png;q=0"] {
            let answer = open.qr(&ticket, accept).await;
            assert_eq!(answer.is_problem(406, "not-acceptable"), said, "{accept}");
        }
        open.qr(&ticket, "text/html").await.is_problem_page(406, "not-acceptable", said);
    }

    async fn link_has_the_configured_address(store: Store) {
        let mut setup = Setup::default();
        setup.settings.address = "https://museum.example.com".into();
        let open = Open::on(store, setup).await;
        let ticket = open.sold().await;
        let link = format!("https://museum.example.com{}", link_of(&ticket));
        assert_eq!(of_png(&open.qr(&ticket, "image/png").await.body), link);
    }

    async fn link_without_an_address_has_the_host_of_the_request(open: Open) {
        let ticket = open.sold().await;
        let link = link_of(&ticket);
        let longest = format!("{}.localhost", "x".repeat(245));
        let too_long = format!("x{longest}");
        for (host, expected) in [
            ("localhost", format!("http://localhost{link}")),
            ("[::1]:8082", format!("http://[::1]:8082{link}")),
            (&longest, format!("http://{longest}{link}")),
            (&too_long, link.clone()),
            ("ada@localhost", link.clone()),
            ("", link.clone()),
        ] {
            let request = format!(
                "GET {} HTTP/1.1\r\nHost: {host}\r\nAuthorization: {ADA_BASIC}\r\nAccept: image/svg+xml\r\n\
                 Connection: close\r\n\r\n",
                qr_of(&ticket)
            );
            let answer = crate::fixture::parse(&open.anyone.raw(request.as_bytes()).await);
            assert_eq!(of_svg(&answer.has_status(200).text()), expected, "{host}");
        }
    }
}
