//! Answers in JSON or XML, by the Accept header.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

use crate::support::{RawConnection, serve};
use axum::{Router, extract::Path, routing::get};
use http::{HeaderMap, Method};
use serde::Serialize;
use serde_json::{Value, json};
use testkit::Answer;
use web::{
    Problem, ResponseFormat, Result, negotiate,
    problem::NOT_FOUND,
    reply::Batch,
    xml::{Listed, ToXml, Xml},
};

const DECLARATION: &str = r#"<?xml version="1.0" encoding="UTF-8"?>"#;

#[derive(Clone, Serialize)]
struct Pet {
    id: usize,
    name: String,
    #[serde(rename = "photoUrls")]
    photos: Vec<String>,
    tags: Vec<(i64, bool)>,
}

impl Pet {
    fn named(id: usize, name: &str) -> Self {
        Pet { id, name: name.into(), photos: Vec::new(), tags: Vec::new() }
    }
}

impl Listed for Pet {
    const LIST: &'static str = "pets";
}

impl ToXml for Pet {
    const ROOT: &'static str = "pet";

    fn content(&self, xml: &mut Xml) {
        xml.value("id", self.id);
        xml.element("category", |xml| xml.text("name", "cats"));
        xml.text("name", &self.name);
        xml.texts("photoUrls", "photoUrl", &self.photos);
        xml.each("tags", "tag", &self.tags, |xml, (id, good)| {
            xml.value("id", id);
            xml.value("good", good);
        });
    }
}

/// A pet with only this name, in XML.
fn written(id: usize, name: &str) -> String {
    let rest = "<photoUrls></photoUrls><tags></tags>";
    format!("<pet><id>{id}</id><category><name>cats</name></category><name>{name}</name>{rest}</pet>")
}

#[track_caller]
fn is_xml(answer: &Answer, status: u16, body: &str) {
    assert_eq!((answer.status, answer.text()), (status, format!("{DECLARATION}{body}")));
    assert_eq!(answer.header("content-type"), "application/xml");
    assert_eq!(answer.header("vary"), "accept");
}

fn one(pet: Pet) -> Router {
    Router::new().route("/", get(async move |format: ResponseFormat| format.reply(&pet)))
}

#[tokio::test]
async fn accept_header_chooses_the_response_format() {
    let ran = Arc::new(AtomicUsize::new(0));
    let count = ran.clone();
    let handler = async move |format: ResponseFormat| {
        count.fetch_add(1, SeqCst);
        format.reply(&Pet::named(1, "Tom"))
    };
    let (_server, client) = serve(Router::new().route("/", get(handler))).await;
    let json = "application/json";
    let xml = "application/xml";
    let text = "text/xml; charset=utf-8";
    for (accept, media_type) in [
        ("", json),
        ("*/*", json),
        ("application/*", json),
        ("application/json", json),
        ("application/xml", xml),
        ("APPLICATION/XML", xml),
        ("text/xml", text),
        ("text/*", text),
        ("text/xml, application/xml", xml),
        ("text/xml, application/xml;q=0.9", text),
        ("application/json;q=0.9, application/xml", xml),
        ("application/json;q=0.9, application/xml;q=0.8", json),
        ("application/xml, application/json", json),
        ("*/*, application/json;q=0.5", xml),
        ("*/*, application/json;q=0", xml),
        ("application/json;q=0, application/xml;q=0, */*;q=0.1", text),
        ("text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8", xml),
        ("text/html, */*;q=0.1", json),
        ("application/xml; charset=utf-8", xml),
    ] {
        let answer = client.get("/").header("accept", accept).send().await;
        assert_eq!((answer.status, answer.header("content-type")), (200, media_type), "{accept}");
        assert_eq!(answer.header("vary"), "accept", "{accept}");
        assert_eq!(answer.text().starts_with('{'), media_type == json, "{accept}");
    }
    let before = ran.load(SeqCst);
    let page = client.get("/").header("accept", "text/html").send().await;
    let forms = "This operation answers as application/json, application/xml or text/xml only.";
    page.is_problem_page(406, "not-acceptable", forms);
    for accept in ["application/json;q=0, text/plain", "application/problem+xml", "*/*;q=0"] {
        let answer = client.get("/").header("accept", accept).send().await;
        assert_eq!(
            answer.is_problem(406, "not-acceptable"),
            "This operation answers as application/json, application/xml or text/xml only."
        );
    }
    assert_eq!(ran.load(SeqCst), before, "a refused operation ran");
}

#[tokio::test]
async fn operation_can_offer_other_media_types() {
    let handler = async |headers: HeaderMap| -> Result<String> {
        let offered = ["application/json", "application/xml", "text/plain"];
        negotiate::choose(&headers, &offered).map(ToOwned::to_owned)
    };
    let (_server, client) = serve(Router::new().route("/", get(handler))).await;
    for (accept, chosen) in [
        ("", "application/json"),
        ("text/plain", "text/plain"),
        ("text/*, application/xml;q=0.5", "text/plain"),
        ("application/xml", "application/xml"),
    ] {
        assert_eq!(client.get("/").header("accept", accept).send().await.text(), chosen);
    }
    let answer = client.get("/").header("accept", "text/xml").send().await;
    assert_eq!(
        answer.is_problem(406, "not-acceptable"),
        "This operation answers as application/json, application/xml or text/plain only."
    );
}

#[tokio::test]
async fn answer_is_written_and_escaped() {
    let pet = Pet {
        photos: vec!["a?b=c&d".into(), "]]>".into(), String::new()],
        tags: vec![(-1, true), (2, false)],
        ..Pet::named(7, "<Tom> & \"Jerry's\"\r\n\té😀\u{85}")
    };
    let (_server, client) = serve(one(pet.clone())).await;
    client.get("/").send().await.is(200, &serde_json::to_value(&pet).unwrap());
    let answer = client.get("/").header("accept", "application/xml").send().await;
    is_xml(
        &answer,
        200,
        "<pet><id>7</id><category><name>cats</name></category>\
         <name>&lt;Tom&gt; &amp; \"Jerry's\"&#13;\n\té😀\u{85}</name>\
         <photoUrls><photoUrl>a?b=c&amp;d</photoUrl><photoUrl>]]&gt;</photoUrl><photoUrl></photoUrl></photoUrls>\
         <tags><tag><id>-1</id><good>true</good></tag><tag><id>2</id><good>false</good></tag></tags></pet>",
    );
    let head = client.call(Method::HEAD, "/").header("accept", "application/xml").send().await;
    assert_eq!(head.header("content-length"), answer.body.len().to_string());
}

#[tokio::test]
async fn created_resource_gets_201_and_its_location() {
    let router = Router::new().route(
        "/{place}",
        get(async |Path(place): Path<String>, format: ResponseFormat| {
            let location = (place == "there").then(|| "/pets/1".to_owned());
            let name = if place == "odd" { "\u{1}" } else { "Tom" };
            format.created(location, &Pet::named(1, name))
        }),
    );
    let (_server, client) = serve(router).await;
    for (path, location) in [("/there", "/pets/1"), ("/nowhere", "")] {
        let answer = client.get(path).header("accept", "application/xml").send().await;
        is_xml(&answer, 201, &written(1, "Tom"));
        assert_eq!(answer.header("location"), location);
        let answer = client.get(path).send().await;
        answer.is(201, &serde_json::to_value(Pet::named(1, "Tom")).unwrap());
        assert_eq!((answer.header("location"), answer.header("vary")), (location, "accept"));
    }
    let answer = client.get("/odd").header("accept", "application/xml").send().await;
    answer.is_problem(406, "not-acceptable");
}

const CANNOT: &str = "This answer has text that XML cannot carry; ask for application/json.";

#[tokio::test]
async fn text_that_xml_cannot_carry_gets_406() {
    for odd in ["\0", "a\u{1}", "\u{8}b", "\u{1b}", "\u{fffe}", "é\u{ffff}é"] {
        let (_server, client) = serve(one(Pet::named(1, odd))).await;
        let answer = client.get("/").header("accept", "application/xml").send().await;
        assert_eq!(answer.is_problem(406, "not-acceptable"), CANNOT, "{odd:?}");
        client.get("/").send().await.is(200, &serde_json::to_value(Pet::named(1, odd)).unwrap());
    }
    for fine in ["\u{7f}\u{80}\u{9f}", "\u{d7ff}\u{e000}\u{fffd}", "\u{fdd0}\u{10ffff}\u{1fffe}"] {
        let (_server, client) = serve(one(Pet::named(1, fine))).await;
        let answer = client.get("/").header("accept", "application/xml").send().await;
        is_xml(&answer, 200, &written(1, fine));
    }
}

/// Lists `count` pets in pages of `size`. On page `odd` there is one whose name XML cannot carry, and page `fails`
/// fails.
fn pets(count: usize, size: usize, odd: Option<usize>, fails: Option<usize>) -> Router {
    let handler = async move |format: ResponseFormat| {
        format
            .list(0, move |page: usize| async move {
                if fails == Some(page) {
                    return Err(Problem::new(&NOT_FOUND, "There is no such page."));
                }
                let name = if odd == Some(page) { "\u{1}" } else { "a&b" };
                let items: Vec<_> =
                    (page * size..count.min((page + 1) * size)).map(|id| Pet::named(id, name)).collect();
                let next = (items.len() == size).then_some(page + 1);
                Ok(Batch { items, next })
            })
            .await
    };
    Router::new().route("/", get(handler))
}

#[tokio::test]
async fn lists_of_any_length_are_complete() {
    // Up to a page, exactly a page (the next one is empty), a page and one more, many pages.
    for count in [0, 1, 9, 10, 11, 20, 25, 1000] {
        let (_server, client) = serve(pets(count, 10, None, None)).await;
        let all: String = (0..count).map(|id| written(id, "a&amp;b")).collect();
        let answer = client.get("/").header("accept", "application/xml").send().await;
        is_xml(&answer, 200, &format!("<pets>{all}</pets>"));
        let json: Vec<_> = (0..count).map(|id| Pet::named(id, "a&b")).collect();
        let answer = client.get("/").send().await;
        answer.is(200, &serde_json::to_value(json).unwrap());
        assert_eq!(answer.header("vary"), "accept");
    }
    let (_server, client) = serve(pets(15, 10, None, None)).await;
    let answer = client.get("/").header("accept", "text/xml").send().await;
    assert_eq!(answer.header("content-type"), "text/xml; charset=utf-8");
}

#[tokio::test]
async fn list_is_sent_page_by_page() {
    let (server, _) = serve(pets(3, 1, None, None)).await;
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send("GET / HTTP/1.1\r\nhost: localhost\r\naccept: application/xml\r\n\r\n").await;
    assert_eq!(wire.head().await.0, 200);
    let first = format!("{DECLARATION}<pets>{}", written(0, "a&amp;b"));
    for chunk in [&first, &written(1, "a&amp;b"), &written(2, "a&amp;b")] {
        assert_eq!(String::from_utf8(wire.chunk().await).unwrap(), *chunk);
    }
    assert_eq!(wire.chunk().await, b"</pets>");
    assert_eq!(wire.chunk().await, b"");
}

#[tokio::test]
async fn empty_first_pages_of_a_list_are_skipped() {
    let handler = async |format: ResponseFormat| {
        let page = async |page| {
            let items = if page < 2 { Vec::new() } else { vec![Pet::named(page, "a")] };
            Ok(Batch { items, next: (page < 3).then_some(page + 1) })
        };
        format.list(0_usize, page).await
    };
    let (_server, client) = serve(Router::new().route("/", get(handler))).await;
    let ids =
        |list: Value| -> Value { list.as_array().unwrap().iter().map(|pet| pet["id"].clone()).collect() };
    assert_eq!(ids(client.get("/").send().await.json()), json!([2, 3]));
    let answer = client.get("/").header("accept", "application/xml").send().await;
    is_xml(&answer, 200, &format!("<pets>{}{}</pets>", written(2, "a"), written(3, "a")));
}

#[tokio::test]
async fn error_on_a_later_page_aborts_the_list() {
    let xml = |client: &testkit::Client| client.get("/").header("accept", "application/xml");
    let (_server, client) = serve(pets(30, 10, Some(0), None)).await;
    assert_eq!(xml(&client).send().await.is_problem(406, "not-acceptable"), CANNOT);
    client.get("/").send().await.has_status(200);
    let (_server, client) = serve(pets(30, 10, None, Some(0))).await;
    assert_eq!(xml(&client).send().await.is_problem(404, "not-found"), "There is no such page.");
    // After the answer has started, the connection is closed.
    for (odd, fails) in [(Some(2), None), (None, Some(2))] {
        let (_server, client) = serve(pets(30, 10, odd, fails)).await;
        xml(&client).try_send().await.unwrap_err();
    }
}
