//! The pages in a real browser.

use serde_json::{Value, json};
use testkit::{Browser, ENTER, Store};

use crate::{
    fixture::{Open, Setup},
    qr,
};

/// The pixels of the QR code that the page shows: the width, and a text with 1 for each dark one.
const PIXELS: &str = "
    const image = document.querySelector('#qr');
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
    const context = canvas.getContext('2d');
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    let text = '';
    for (let at = 0; at < data.length; at += 4) text += data[at] < 128 ? '1' : '0';
    return [canvas.width, text];";

/// Chooses a picture of a QR code at the door: tilted, on a dark table.
const CHOOSE: &str = "
    return fetch(QR, { headers: { authorization: 'Basic ' + btoa('demo:demo') } })
        .then((answer) => answer.blob()).then(createImageBitmap).then((code) => {
            const canvas = document.createElement('canvas');
            [canvas.width, canvas.height] = [800, 600];
            const context = canvas.getContext('2d');
            context.fillStyle = '#654';
            context.fillRect(0, 0, 800, 600);
            context.translate(400, 300);
            context.transform(0.9, 0.35, -0.3, 0.85, 0, 0);
            context.drawImage(code, -220, -220, 440, 440);
            return new Promise((done) => canvas.toBlob(done));
        }).then((blob) => {
            const chosen = new DataTransfer();
            chosen.items.add(new File([blob], 'photo.png', { type: 'image/png' }));
            const field = document.querySelector('#image');
            field.files = chosen.files;
            field.dispatchEvent(new Event('change'));
        });";

/// A demo, whose pages begin with the demo's account.
async fn demo(store: Store) -> (Open, Browser, String) {
    let open = Open::on(store, Setup { demo: true, ..Setup::default() }).await;
    let browser = Browser::start().await;
    let address = format!("http://{}", open.anyone.address());
    (open, browser, address)
}

/// The text of the QR code on the page of a ticket.
async fn code_on_the_page(browser: &Browser) -> String {
    browser.finds("#qr").await;
    browser.settles("return document.querySelector('#qr').naturalWidth > 0", &json!(true)).await;
    let found = browser.run(PIXELS).await;
    let width = usize::try_from(found[0].as_u64().unwrap()).unwrap();
    let pixels = found[1].as_str().unwrap().as_bytes().to_vec();
    qr::decoded(width, |x, y| pixels[y * width + x] == b'1')
}

/// The page is not wider than the window, needs nothing that its policy forbids, and reports no errors but those of refused calls.
async fn is_well(browser: &Browser, page: &str) {
    let wider = browser.run("return document.documentElement.scrollWidth > innerWidth").await;
    assert_eq!(wider, Value::Bool(false), "{page}");
    let reports = browser.reports().await;
    let others: Vec<_> = reports.iter().filter(|(source, _)| source != "network").collect();
    assert!(others.is_empty(), "{page}: {others:?}");
}

testkit::on_one_engine! {
    async fn ticket_is_bought_and_admitted_once(store: Store) {
        let (_open, browser, address) = demo(store).await;
        browser.resize(1440, 900).await;
        browser.go(&address).await;
        browser.shows("b", "Open now").await;
        assert!(browser.text("#now").await.contains("Open now, until 18:00"));
        assert!(browser.text("#week .today").await.starts_with("Wednesday"));
        browser.finds("#next .poster").await;
        is_well(&browser, "visit").await;

        // A refused purchase says why at the field.
        browser.click("#week .today a.go").await;
        browser.finds("#sell-email").await;
        browser.click("form .primary").await;
        assert_eq!(browser.text("#fault-email").await, "is required");
        browser.fill("#sell-email", "ada@example.com").await;
        browser.click("form .primary").await;
        browser.shows("h1", "General admission").await;
        let link = code_on_the_page(&browser).await;
        assert!(link.starts_with(&format!("{address}/v1.1/tickets/")), "{link}");
        is_well(&browser, "ticket").await;

        // The camera of a phone opens the link.
        browser.go(&link).await;
        browser.shows("h2", "Not used yet").await;
        browser.click("#admit").await;
        browser.shows("h2", "Admitted").await;
        browser.click(".verdict button").await;
        browser.fill("#code", &format!("{link}{ENTER}")).await;
        browser.shows("h2", "Already used").await;
        browser.click(".verdict button").await;
        let image = link.split("/admissions").next().unwrap().replace(&address, "") + "/qr";
        browser.run(&CHOOSE.replace("QR", &json!(image).to_string())).await;
        browser.shows("h2", "Already used").await;
        browser.click(".verdict button").await;
        browser.fill("#code", &format!("019e0000-0000-7000-8000-000000000000{ENTER}")).await;
        browser.shows("h2", "Unknown ticket").await;
        is_well(&browser, "check").await;

        browser.go(&format!("{address}/app/tickets")).await;
        browser.shows("h3", "General admission").await;
        is_well(&browser, "tickets").await;
    }

    async fn event_is_added_and_is_in_the_calendar(store: Store) {
        let (_open, browser, address) = demo(store).await;
        browser.resize(390, 844).await;
        browser.prefer_dark(true).await;
        browser.go(&format!("{address}/app/events?month=2026-06")).await;
        browser.shows("h2", "June 2026").await;
        browser.click("#new-event").await;
        browser.click("dialog .primary").await;
        assert_eq!(browser.text("#fault-name").await, "is required");
        browser.fill("#event-name", "<b>Night of the Open Drawers</b>").await;
        browser.fill("#event-location", "Print room").await;
        browser.fill("#event-eventDescription", "See the prints.").await;
        browser.fill("#event-price", "12.50").await;
        browser.run("document.querySelector('dialog [type=date]').value = '2026-06-05'").await;
        browser.click("dialog .primary").await;
        browser.shows("h1", "<b>Night of the Open Drawers</b>").await;
        browser.shows("dd", "12.50").await;
        is_well(&browser, "event").await;
        browser.go(&format!("{address}/app/events?month=2026-06")).await;
        browser.shows("a", "<b>Night of the Open Drawers</b>").await;
        is_well(&browser, "events, narrow").await;
        browser.resize(1440, 900).await;
        browser.finds("table.calendar").await;
        let day = browser.run(
            "return document.querySelector('.calendar a[title^=\"<b>\"]').closest('td').querySelector('.number > span').textContent",
        );
        assert_eq!(day.await, json!("5"));
        is_well(&browser, "events, wide").await;
        browser.prefer_dark(false).await;
    }
}
