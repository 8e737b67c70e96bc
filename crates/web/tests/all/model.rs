//! The code that is generated for one declaration of a resource.

use crate::support::serve;
use axum::{
    Router,
    routing::{get, patch, post, put},
};
use db::{Record, Value, Word};
use model::{Input, Parameters, Resource, Words, sql};
use serde::Deserialize;
use serde_json::json;
use testkit::{Client, Server};
use utoipa::{IntoParams, PartialSchema, ToSchema, openapi::RefOr};
use uuid::{Uuid, uuid};
use web::{
    Body, Query, Reply, ResponseFormat,
    input::{
        Fields,
        rules::{Rule, text},
    },
    problem::UNPROCESSABLE,
    xml::Xml,
};

/// A book of the library's.
#[derive(Debug, Clone, PartialEq, Resource)]
#[resource(case = "camelCase", xml = "book", list = "books", form, broken = UNPROCESSABLE, table)]
#[resource(new = NewBook, new_name = "BookInput", new_doc = "A book as a client sends it.", replace = BookUpdate)]
#[resource(new_derive(Debug, PartialEq))]
#[resource(changes = BookChanges, changes_doc = "What is to change about a book.")]
struct Book {
    #[field(assigned, example = 10)]
    id: i64,
    /// The title on the cover.
    #[field(rule = text(1..=20), example = "Emma")]
    title: String,
    #[field(items = 0..=2, each = text(1..=5), element = "author", json)]
    all_authors: Vec<String>,
    #[field(items = 0..=2, json)]
    editions: Option<Vec<Edition>>,
    #[field(default = State::InStock)]
    state: State,
    #[field(rule = isbn(), column = "isbn_13")]
    isbn: Option<String>,
}

/// An edition of a book.
#[derive(Debug, Clone, PartialEq, Deserialize, Resource)]
#[resource(xml = "edition", readable)]
struct Edition {
    #[field(rule = integer(1450..=2100))]
    year: i64,
}

/// Whether a book can be borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
enum State {
    InStock,
    #[words(word = "out")]
    Borrowed,
}

fn isbn() -> impl Rule<Value = String> {
    let digits = |text: &str| text.len() == 13 && text.bytes().all(|byte| byte.is_ascii_digit());
    text(..).pattern("^[0-9]{13}$").then(move |field, text: String| {
        if digits(&text) { Some(text) } else { field.fail("must be 13 digits") }
    })
}

fn book() -> Book {
    Book {
        id: 7,
        title: "Sense & Sense".into(),
        all_authors: vec!["Jane".into()],
        editions: Some(vec![Edition { year: 1811 }]),
        state: State::Borrowed,
        isbn: None,
    }
}

/// The same book, as an answer.
fn answered() -> serde_json::Value {
    json!({"id": 7, "title": "Sense & Sense", "allAuthors": ["Jane"], "editions": [{"year": 1811}], "state": "out"})
}

#[test]
fn answer_in_json_omits_absent_members() {
    assert_eq!(serde_json::to_value(book()).unwrap(), answered());
    let bare = Book { editions: None, isbn: Some("9780141439662".into()), ..book() };
    assert_eq!(serde_json::to_value(bare).unwrap().get("editions"), None);
}

#[test]
fn answer_in_xml_has_an_element_for_each_member_and_item() {
    let document = String::from_utf8(Xml::document(&book()).unwrap()).unwrap();
    let expected = "<book><id>7</id><title>Sense &amp; Sense</title><allAuthors><author>Jane</author></allAuthors>\
                    <editions><edition><year>1811</year></edition></editions><state>out</state></book>";
    assert_eq!(document.split_once("?>").unwrap().1, expected);
}

#[test]
fn columns_are_named_after_the_members() {
    assert_eq!(Book::COLUMNS, ["id", "title", "all_authors", "editions", "state", "isbn_13"]);
    assert_eq!(
        book().values().unwrap(),
        [
            Value::Int(7),
            Value::Text("Sense & Sense".into()),
            Value::Json(r#"["Jane"]"#.into()),
            Value::Json(r#"[{"year":1811}]"#.into()),
            Value::Text("out".into()),
            Value::Null,
        ]
    );
    assert_eq!(
        sql!("SELECT {Book as b} FROM book AS b; UPDATE book SET {Book.set}"),
        "SELECT b.id, b.title, b.all_authors, b.editions, b.state, b.isbn_13 FROM book AS b; \
         UPDATE book SET title = $2, all_authors = $3, editions = $4, state = $5, isbn_13 = $6"
    );
    assert_eq!(
        sql!("({Book.values}) {Book.excluded}"),
        "($1, $2, $3, $4, $5, $6) title = excluded.title, all_authors = excluded.all_authors, \
         editions = excluded.editions, state = excluded.state, isbn_13 = excluded.isbn_13"
    );
}

#[test]
fn new_resource_derives_the_listed_traits() {
    let new = NewBook {
        id: None,
        title: "Emma".into(),
        all_authors: Vec::new(),
        editions: None,
        state: State::InStock,
        isbn: None,
    };
    assert_eq!(new, new.clone());
    assert!(format!("{new:?}").starts_with("NewBook { id: None, title: \"Emma\""));
}

#[test]
fn words_of_an_enumeration_round_trip() {
    assert_eq!(State::WORDS, [("in_stock", State::InStock), ("out", State::Borrowed)]);
    assert_eq!((State::Borrowed.word(), State::from_word("in_stock")), ("out", Some(State::InStock)));
    assert_eq!(State::from_word("Borrowed"), None);
    assert_eq!(serde_json::from_str::<State>(r#""out""#).unwrap(), State::Borrowed);
}

#[test]
fn schema_of_the_answer_has_all_members() {
    assert_eq!(
        described::<Book>(),
        json!({
            "type": "object",
            "description": "A book of the library's.",
            "required": ["id", "title", "allAuthors", "state"],
            "properties": {
                "id": {"type": "integer", "format": "int64", "examples": [10]},
                "title": {"type": "string", "description": "The title on the cover.", "examples": ["Emma"],
                    "minLength": 1, "maxLength": 20},
                "allAuthors": {"type": "array", "maxItems": 2, "xml": {"wrapped": true},
                    "items": {"type": "string", "minLength": 1, "maxLength": 5, "xml": {"name": "author"}}},
                "editions": {"type": "array", "maxItems": 2, "xml": {"wrapped": true},
                    "items": {"$ref": "#/components/schemas/Edition"}},
                "state": {"$ref": "#/components/schemas/State"},
                "isbn": {"type": "string", "pattern": "^[0-9]{13}$"},
            },
            "xml": {"name": "book"},
            "x-list": "books",
        })
    );
    let mut components = Vec::new();
    Book::schemas(&mut components);
    let names: Vec<_> = components.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["Edition", "State"]);
    assert_eq!(
        described::<State>(),
        json!({"type": "string", "description": "Whether a book can be borrowed.", "enum": ["in_stock", "out"]})
    );
}

#[test]
fn schemas_of_request_bodies_are_views_of_the_same_members() {
    let (new, update, changes) =
        (described::<NewBook>(), described::<BookUpdate>(), described::<BookChanges>());
    assert_eq!(
        (NewBook::name(), BookUpdate::name(), BookChanges::name()),
        ("BookInput".into(), "BookUpdate".into(), "BookChanges".into())
    );
    assert_eq!(new["required"], json!(["title", "allAuthors"]));
    assert_eq!(update["required"], json!(["id", "title", "allAuthors"]));
    assert_eq!(changes.get("required"), None);
    assert_eq!(new["properties"]["id"]["description"], "Assigned if it is absent.");
    assert_eq!(update["properties"]["id"].get("description"), None);
    assert_eq!(changes["properties"].get("id"), None);
    assert_eq!(changes["properties"]["state"].get("default"), None, "what is absent stays as it is");
    let state = json!({"$ref": "#/components/schemas/State", "default": "in_stock"});
    assert_eq!((&new["properties"]["state"], &update["properties"]["state"]), (&state, &state));
    for view in [&new, &update, &changes] {
        assert_eq!(view["properties"]["title"], described::<Book>()["properties"]["title"]);
    }
}

/// A reader of the library's.
#[derive(Debug, Clone, Default, Resource)]
#[resource(table, new = NewReader, changes = ReaderChanges, changes_doc = "What is to change about a reader.")]
struct Reader {
    #[field(stored)]
    account_id: i64,
    #[field(assigned, changeable, changes_doc = "The id, if it is to be another.")]
    id: i64,
    #[field(rule = text(1..=20), computed)]
    name: String,
    #[field(write_only, rule = text(4..=4), input_doc = "Without one, no book is lent.")]
    #[field(changes_doc = "The old one stays if this is absent.")]
    pin: Option<String>,
    phone: Option<i64>,
}

#[test]
fn stored_members_are_columns_and_write_only_members_are_read() {
    assert_eq!(Reader::COLUMNS, ["account_id", "id", "phone"]);
    let new = NewReader { id: None, name: "Ann".into(), pin: Some("1234".into()), phone: Some(5) };
    let reader = new.complete(3, 7);
    assert_eq!(reader.pin.as_deref(), Some("1234"));
    assert_eq!(reader.values().unwrap(), [Value::Int(3), Value::Int(7), Value::Int(5)]);
    assert_eq!(serde_json::to_value(&reader).unwrap(), json!({"id": 7, "name": "Ann", "phone": 5}));
    let names = |schema: serde_json::Value| -> Vec<String> {
        schema["properties"].as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(names(described::<Reader>()), ["id", "name", "phone"]);
    assert_eq!(names(described::<NewReader>()), ["id", "name", "phone", "pin"]);
}

#[test]
fn changes_have_a_changeable_id_and_their_own_descriptions() {
    let (new, changes) = (described::<NewReader>(), described::<ReaderChanges>());
    let told = |schema: &serde_json::Value, name: &str| schema["properties"][name]["description"].clone();
    assert_eq!(told(&new, "id"), "Assigned if it is absent.");
    assert_eq!(told(&changes, "id"), "The id, if it is to be another.");
    assert_eq!(told(&new, "pin"), "Without one, no book is lent.");
    assert_eq!(told(&changes, "pin"), "The old one stays if this is absent.");
    let mut reader = Reader { account_id: 3, id: 7, phone: Some(5), ..Reader::default() };
    ReaderChanges { id: Some(8), name: None, pin: None, phone: Some(6) }.apply_to(&mut reader);
    assert_eq!((reader.account_id, reader.id, reader.phone), (3, 8, Some(6)));
}

pub(crate) fn described<T: PartialSchema>() -> serde_json::Value {
    let RefOr::T(schema) = T::schema() else { panic!("a reference") };
    serde_json::to_value(schema).unwrap()
}

/// A search for books.
#[derive(Parameters)]
#[resource(check = is_narrow)]
struct Search {
    /// How the title begins.
    #[field(rule = text(1..=20), example = "Em")]
    title: Option<String>,
    #[field(rule = values(word::<State>().inline()), default = vec![State::InStock])]
    state: Vec<State>,
    shelf: Uuid,
    #[field(rule = limit(30), default = 10)]
    limit: i64,
}

fn is_narrow(search: &PartialSearch<'_>, fields: &mut Fields<'_>) {
    if let (Some(None), Some(20..)) = (search.title, search.limit) {
        fields.fail::<()>("limit", "must be under 20 without a title");
    }
}

#[test]
fn query_parameters_are_described() {
    let parameters = serde_json::to_value(Search::into_params(|| None)).unwrap();
    assert_eq!(
        parameters,
        json!([
            {"name": "title", "in": "query", "description": "How the title begins.", "required": false,
                "schema": {"type": "string", "minLength": 1, "maxLength": 20}, "example": "Em"},
            {"name": "state", "in": "query", "required": false, "style": "form", "explode": true,
                "schema": {"type": "array", "default": ["in_stock"],
                    "items": {"type": "string", "description": "Whether a book can be borrowed.", "enum": ["in_stock", "out"]}}},
            {"name": "shelf", "in": "query", "required": true, "schema": {"type": "string", "format": "uuid"}},
            {"name": "limit", "in": "query", "required": false,
                "schema": {"type": "integer", "format": "int64", "default": 10, "minimum": 1, "maximum": 30}},
        ])
    );
}

/// Objects that differ in a member.
#[derive(Input)]
struct Club {
    #[field(rule = list(1..=3, distinct(nested::<NewReader>(), "name", text(1..=20), "is the name of another")))]
    readers: Vec<NewReader>,
}

#[tokio::test]
async fn objects_of_a_list_with_an_equal_unique_member_are_rejected() {
    let (_server, client) = serve_books().await;
    let club = |names: [&str; 2]| json!({"readers": names.map(|name| json!({"name": name}))});
    client.post("/clubs").json(&club(["Ann", "Eve"])).send().await.is(200, &json!(2));
    let errors = [("#/readers/1/name", "is the name of another")];
    client.post("/clubs").json(&club(["Ann", "Ann"])).send().await.is_invalid(&errors);
    // A value that breaks its rule is noted once, and no other object is compared with it.
    let errors = ["#/readers/0/name", "#/readers/1/name"].map(|pointer| (pointer, "must not be empty"));
    client.post("/clubs").json(&club(["", ""])).send().await.is_invalid(&errors);
    // The second is compared although something else is wrong with it.
    let sent = json!({"readers": [{"name": "Ann"}, {"name": "Ann", "phone": "x"}, 1]});
    let errors = [
        ("#/readers/1/phone", "must be a whole number from -9223372036854775808 to 9223372036854775807"),
        ("#/readers/1/name", "is the name of another"),
        ("#/readers/2", "must be a JSON object"),
    ];
    client.post("/clubs").json(&sent).send().await.is_invalid(&errors);
    let clubs = described::<Club>();
    assert_eq!(clubs["properties"]["readers"]["items"], json!({"$ref": "#/components/schemas/NewReader"}));
}

/// An object that is only read.
#[derive(Input)]
struct Loan {
    #[field(rule = text(1..=5))]
    reader: String,
    #[field(default = 14, rule = integer(1..=28))]
    days: i64,
}

async fn serve_books() -> (Server, Client) {
    let router = Router::new()
        .route(
            "/books",
            post(async |format: ResponseFormat, Body(new): Body<NewBook>| format.reply(&new.with_id(1))),
        )
        .route("/book", put(async |Body(BookUpdate(book)): Body<BookUpdate>| Reply(book)))
        .route(
            "/book",
            patch(async |Body(changes): Body<BookChanges>| {
                let mut changed = book();
                changes.apply_to(&mut changed);
                Reply(changed)
            }),
        )
        .route("/clubs", post(async |Body(club): Body<Club>| Reply(club.readers.len())))
        .route("/loans", post(async |Body(loan): Body<Loan>| Reply(json!([loan.reader, loan.days]))))
        .route(
            "/search",
            get(async |Query(search): Query<Search>| {
                Reply(json!([search.title, search.state, search.shelf, search.limit]))
            }),
        );
    serve(router).await
}

#[tokio::test]
async fn new_resource_is_read_in_every_format() {
    let (_server, client) = serve_books().await;
    let read = json!({"id": 1, "title": "Emma", "allAuthors": ["Jane", "Anne"], "editions": [{"year": 1815}],
        "state": "in_stock"});
    let sent = json!({"title": "Emma", "allAuthors": ["Jane", "Anne"], "editions": [{"year": 1815}]});
    client.post("/books").json(&sent).send().await.is(200, &read);
    let xml = "<book><title>Emma</title><allAuthors><author>Jane</author><author>Anne</author></allAuthors>\
               <editions><edition><year>1815</year></edition></editions></book>";
    client.post("/books").body("application/xml", xml).send().await.is(200, &read);
    let form = "title=Emma&allAuthors=Jane&allAuthors=Anne&editions=%7B%22year%22%3A1815%7D";
    client.post("/books").body("application/x-www-form-urlencoded", form).send().await.is(200, &read);
}

#[tokio::test]
async fn all_validation_errors_are_noted_at_once() {
    let (_server, client) = serve_books().await;
    let sent = json!({"id": 3, "title": "", "allAuthors": ["", "Jane"], "editions": [{"year": 1}, {}],
        "state": "lost", "isbn": "1"});
    let answer = client.post("/books").json(&sent).send().await;
    answer.is_problem(422, "unprocessable");
    assert_eq!(
        answer.json()["errors"],
        json!([
            {"pointer": "#/title", "detail": "must not be empty"},
            {"pointer": "#/allAuthors/0", "detail": "must not be empty"},
            {"pointer": "#/editions/0/year", "detail": "must be a whole number from 1450 to 2100"},
            {"pointer": "#/editions/1/year", "detail": "is required"},
            {"pointer": "#/state", "detail": "must be one of: in_stock, out"},
            {"pointer": "#/isbn", "detail": "must be 13 digits"},
        ])
    );
}

#[tokio::test]
async fn replacement_without_id_is_rejected() {
    let (_server, client) = serve_books().await;
    client.put("/book").json(&answered()).send().await.is(200, &answered());
    let answer = client.put("/book").json(&json!({"title": "", "allAuthors": []})).send().await;
    answer.is_problem(400, "invalid-request");
    assert_eq!(
        answer.json()["errors"],
        json!([
            {"pointer": "#/title", "detail": "must not be empty"},
            {"pointer": "#/id", "detail": "is required, to say which book is replaced"},
        ])
    );
}

#[tokio::test]
async fn absent_members_are_not_changed() {
    let (_server, client) = serve_books().await;
    client.patch("/book").json(&json!({})).send().await.is(200, &answered());
    let mut changed = answered();
    changed["title"] = json!("Emma");
    changed["isbn"] = json!("9780141439587");
    let sent = json!({"title": "Emma", "isbn": "9780141439587"});
    client.patch("/book").json(&sent).send().await.is(200, &changed);
    let answer = client.patch("/book").json(&json!({"title": null})).send().await;
    answer.is_problem(422, "unprocessable");
}

#[tokio::test]
async fn input_and_parameters_have_defaults_and_checks() {
    let (_server, client) = serve_books().await;
    client.post("/loans").json(&json!({"reader": "Ann"})).send().await.is(200, &json!(["Ann", 14]));
    let errors = [("#/reader", "is required"), ("#/days", "must be a whole number from 1 to 28")];
    client.post("/loans").json(&json!({"days": 29})).send().await.is_invalid(&errors);
    let shelf = uuid!("efdbb9d1-02c2-4bc3-afb7-6788d8782b1e");
    let read = json!([null, ["in_stock"], shelf, 10]);
    client.get(&format!("/search?shelf={shelf}")).send().await.is(200, &read);
    let read = json!(["Em", ["out", "in_stock"], shelf, 25]);
    client
        .get(&format!("/search?shelf={shelf}&title=Em&limit=25&state=out,in_stock"))
        .send()
        .await
        .is(200, &read);
    let errors = [("?shelf", "is required"), ("?limit", "must be under 20 without a title")];
    client.get("/search?limit=20").send().await.is_invalid(&errors);
}
