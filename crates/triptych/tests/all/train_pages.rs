//! The pages of train travel in a real browser, on a wide and on a narrow window, light and dark.

use serde_json::json;
use testkit::{Browser, ENTER, Engine, Store};

use crate::common::Workspace;

/// Clicks an element in the middle of the window, where no bar covers it.
async fn click(browser: &Browser, css: &str) {
    browser.finds(css).await;
    browser.run(&format!("document.querySelector({}).scrollIntoView({{block: 'center'}})", json!(css))).await;
    browser.click(css).await;
}

/// Types a name into a field for a station, and chooses the only one that fits.
async fn choose(browser: &Browser, field: &str, name: &str) {
    browser.fill(&format!("#{field}"), name).await;
    let options = format!("return document.querySelectorAll('#{field}-list [role=option]').length");
    assert_eq!(browser.settles(&options, &json!(1)).await, 1);
    browser.press(&ENTER.to_string()).await;
}

/// Asserts that the page fits into the window, and that the browser has nothing to complain about.
async fn is_clean(browser: &Browser) {
    let wide = browser.run("return document.documentElement.scrollWidth - innerWidth").await;
    assert!(wide.as_i64().unwrap() <= 0, "{wide} pixels too wide at {}", browser.url().await);
    assert_eq!(browser.reports().await, [], "{}", browser.url().await);
}

/// The text of the QR code on the page.
async fn scanned(browser: &Browser) -> String {
    let loaded = "return (document.querySelector('.ticket img')?.naturalWidth ?? 0) > 0";
    assert_eq!(browser.settles(loaded, &json!(true)).await, true);
    let pixels = browser
        .run(
            "const image = document.querySelector('.ticket img');
             const canvas = document.createElement('canvas');
             canvas.width = canvas.height = image.naturalWidth;
             const context = canvas.getContext('2d');
             context.drawImage(image, 0, 0);
             const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
             return Array.from({ length: data.length / 4 }, (_, at) => (data[at * 4] < 128 ? '#' : '.')).join('');",
        )
        .await;
    let pixels = pixels.as_str().unwrap().as_bytes().to_vec();
    let size = pixels.len().isqrt();
    let shade = |x: usize, y: usize| if pixels[y * size + x] == b'#' { 0 } else { 255 };
    let mut image = rqrr::PreparedImage::prepare_from_greyscale(size, size, shade);
    let codes = image.detect_grids();
    assert_eq!(codes.len(), 1);
    codes[0].decode().unwrap().1
}

#[tokio::test(flavor = "multi_thread")]
async fn visitor_signs_up_books_pays_and_sees_a_webhook_arrive() {
    let workspace = Workspace { store: Store::new(Engine::Sqlite), folder: tempfile::tempdir().unwrap() };
    let program = workspace.serve();
    let address = format!("http://{}", program.address("train"));
    let browser = Browser::start().await;
    for (name, width, height, dark) in [("ada", 1440, 900, false), ("ben", 390, 844, true)] {
        browser.resize(width, height).await;
        browser.prefer_dark(dark).await;
        browser.go(&format!("{address}/")).await;
        browser.finds(".map .dot").await;
        click(&browser, "#visitor button").await;
        browser.shows("h1", "Sign in").await;
        browser.click(".foot a").await;
        browser.shows("h1", "Make an account").await;
        browser.fill("#name", name).await;
        browser.fill("#password", "correct horse").await;
        browser.click("form button").await;
        browser.shows("b", name).await;

        browser.finds(".map .dot").await;
        choose(&browser, "from", "berlin hauptb").await;
        choose(&browser, "to", "paris nord").await;
        click(&browser, "#find").await;
        browser.finds(".map .route").await;
        is_clean(&browser).await;
        click(&browser, ".trip button").await;
        browser.fill("#passenger", "Ada Lovelace").await;
        browser.click("dialog button.primary").await;

        browser.shows("h1", "Berlin Hauptbahnhof → Paris Gare du Nord").await;
        let left = browser.text(".minutes").await;
        assert!(left.starts_with("59:") || left == "1:00:00", "{left}");
        is_clean(&browser).await;
        click(&browser, "[data-number='4000000000000002']").await;
        click(&browser, "#pay").await;
        assert_eq!(
            browser.text("#said .note.bad").await,
            "The card was declined. Nothing was charged, and the seat is still held. Try another card."
        );
        click(&browser, "[data-number='4242424242424242']").await;
        click(&browser, "#pay").await;
        assert_eq!(browser.text("#said .note.good").await, "Paid. Have a good journey!");
        let ticket = browser.url().await;
        assert_eq!(scanned(&browser).await, ticket);
        is_clean(&browser).await;

        browser.go(&format!("{address}/app/bookings")).await;
        assert_eq!(browser.text(".booked .pill").await, "Paid");
        is_clean(&browser).await;

        browser.go(&format!("{address}/app/webhooks")).await;
        browser.finds("#subscriptions .empty").await;
        click(&browser, "#receive").await;
        browser.shows("span", "Signature is right").await;
        click(&browser, ".message button").await;
        browser.shows("span", "Signature does not fit").await;
        is_clean(&browser).await;

        click(&browser, "#visitor button").await;
        browser.shows("h1", "Sign out?").await;
        browser.click("form button").await;
        browser.shows("h1", "You are signed out").await;
    }
}
