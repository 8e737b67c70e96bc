//! QR codes of tickets, the time of answers, and stations with a direct train.

use jiff::SignedDuration;
use serde_json::Value;

use crate::fixture::{
    ADDRESS, BERLIN, GOOD, INTERLAKEN, LUZERN, NOTHING, Open, PARIS, TRIP, card, each, text,
};

/// The text of the QR code in a PNG of one bit per pixel.
#[track_caller]
fn decoded(bytes: &[u8]) -> String {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    let shade =
        |x: usize, y: usize| if pixels[y * info.line_size + x / 8] >> (7 - x % 8) & 1 == 0 { 0 } else { 255 };
    let size = info.width as usize;
    let mut image = rqrr::PreparedImage::prepare_from_greyscale(size, size, shade);
    let codes = image.detect_grids();
    assert_eq!(codes.len(), 1);
    codes[0].decode().unwrap().1
}

fn qr_of(booking: &Value) -> String {
    format!("/bookings/{}/qr", text(booking, "id"))
}

testkit::on_both_engines! {
    async fn qr_code_of_a_paid_booking_has_the_link_to_its_page(open: Open) {
        let booking = open.ada.hold(TRIP).await;
        let refused = open.ada.get(&qr_of(&booking)).send().await.is_problem(409, "conflict");
        assert_eq!(refused, "A booking has a ticket once it is paid for.");
        open.ada.pay(&booking, &card(GOOD)).await.has_status(200);
        let answer = open.ada.get(&qr_of(&booking)).header("accept", "image/png").send().await;
        assert_eq!((answer.status, answer.header("content-type")), (200, "image/png"));
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(decoded(&answer.body), format!("{ADDRESS}/app/booking?id={}", text(&booking, "id")));
        let svg = open.ada.get(&qr_of(&booking)).header("accept", "image/svg+xml").send().await;
        assert_eq!((svg.status, svg.header("content-type")), (200, "image/svg+xml"));
        open.ada.get(&qr_of(&booking)).header("accept", "text/plain").send().await.is_problem(406, "not-acceptable");
        open.ben.get(&qr_of(&booking)).send().await.is_problem(404, "not-found");
        open.ada.get(&format!("/bookings/{NOTHING}/qr")).send().await.is_problem(404, "not-found");
    }

    async fn date_of_a_booking_is_the_time_of_the_service(open: Open) {
        let booking = open.ada.hold(TRIP).await;
        open.advance(SignedDuration::from_secs(90)).await;
        for path in ["/bookings", &format!("/bookings/{}", text(&booking, "id"))] {
            let answer = open.ada.get(path).send().await;
            assert_eq!(answer.has_status(200).header("date"), "Wed, 13 May 2026 10:01:30 GMT");
        }
    }

    async fn direct_from_finds_the_stations_with_a_direct_train(open: Open) {
        let found = open.ada.get(&format!("/stations?direct_from={BERLIN}&limit=100")).send().await;
        let found = each(&found, "id");
        assert!(found.iter().any(|id| id == PARIS) && !found.iter().any(|id| id == BERLIN), "{found:?}");
        let found = open.ada.get(&format!("/stations?direct_from={LUZERN}&search=interlaken")).send().await;
        assert_eq!(each(&found, "id"), [INTERLAKEN]);
        let wrong = open.ada.get(&format!("/stations?direct_from={NOTHING}")).send().await;
        wrong.is_invalid(&[("?direct_from", "must be the id of a station; see /stations")]);
    }
}
