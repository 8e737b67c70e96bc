//! Two instances of a service in one process, each under its own path prefix: neither knows of the other, and every address
//! that an instance names has its prefix.

use db::{Databases, Limits};
use jiff::SignedDuration;
use serde_json::{Value, json};
use service::{Instance, Service};
use testkit::{Address, Answer, Client, Engine, Server, Store};
use web::{Clock, ConnectionLimits, InstallationSecret, Random, RequestLimits};

/// An instance and a client of it.
struct One {
    instance: Instance,
    client: Client,
    prefix: &'static str,
}

impl One {
    async fn get(&self, path: &str) -> Answer {
        self.client.get(&format!("{}{path}", self.prefix)).send().await
    }

    async fn get_as(&self, path: &str, token: &str) -> Answer {
        self.client.get(&format!("{}{path}", self.prefix)).header("authorization", token).send().await
    }

    async fn post_as(&self, path: &str, token: &str, body: &Value) -> Answer {
        let call = self.client.post(&format!("{}{path}", self.prefix));
        call.header("authorization", token).json(body).send().await
    }

    /// Asserts that an answer is a problem of this instance.
    #[track_caller]
    fn refuses(&self, answer: &Answer, status: u16, kind: &str) {
        let problem = answer.has_status(status).json();
        assert_eq!(problem["type"], format!("{}/problems/{kind}", self.prefix), "{problem}");
    }

    fn address(&self) -> &str {
        &self.instance.address
    }
}

/// Both instances on one listener.
struct Two {
    ada: One,
    ben: One,
    url: String,
    _server: Server,
    _store: Store,
}

impl Two {
    async fn open(store: Store, service: &dyn Service, databases: [&'static str; 2]) -> Self {
        let address = Address::free().await;
        let url = address.url();
        // All instances share the connections of the process.
        let limits = Limits { connections: 2, ..Limits::default() };
        let all = Databases::connect(store.location(), limits).unwrap();
        let mut instances = Vec::new();
        let mut routers = Vec::new();
        for (database, prefix, body_bytes) in
            [(databases[0], "/x/ada", 1000), (databases[1], "/x/ben", 1 << 20)]
        {
            let db = all.open(database, service.description().migrations).unwrap();
            let clock = Clock::manual("2026-05-13T10:00:00Z".parse().unwrap());
            let instance = Instance {
                limits: RequestLimits { body_bytes, ..RequestLimits::default() },
                demo: true,
                secret: InstallationSecret::new(&[7; 32]),
                ..Instance::new(db, clock, Random::system()).at(format!("{url}{prefix}"))
            };
            let running = service.open(instance.clone()).await.unwrap();
            routers.push((prefix.to_owned(), running.app()));
            instances.push((instance, prefix));
        }
        let server = address.serve(ConnectionLimits::default(), web::by_prefix(routers));
        let client = Client::new(server.address());
        let mut instances =
            instances.into_iter().map(|(instance, prefix)| One { instance, client: client.clone(), prefix });
        let (ada, ben) = (instances.next().unwrap(), instances.next().unwrap());
        Two { ada, ben, url, _server: server, _store: store }
    }
}

/// The value of an `Authorization` header with an access token of the demo user.
async fn token(service: &dyn Service, one: &One) -> String {
    let description = service.description();
    let server = description.authorization_server(&one.instance).await.unwrap();
    let demo = description.accounts(&one.instance).unwrap().find("demo").await.unwrap().unwrap();
    format!("Bearer {}", server.token_for(demo, None).await.unwrap())
}

fn field<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).unwrap_or_else(|| panic!("{pointer} in {value}")).as_str().unwrap()
}

testkit::on_both_engines! {
    async fn each_pet_store_has_its_own_data_tokens_sessions_clock_and_limits(store: Store) {
        let engine = store.engine();
        let settings = petstore::Settings::default();
        let Two { ada, ben, url, .. } = &Two::open(store, &settings, ["petstoreada", "petstoreben"]).await;
        let (to_ada, to_ben) = (token(&settings, ada).await, token(&settings, ben).await);

        let rex = json!({"id": 77, "name": "Rex", "photoUrls": []});
        ada.post_as("/v3/pet", &to_ada, &rex).await.is(200, &rex);
        ada.get_as("/v3/pet/77", &to_ada).await.is(200, &rex);
        ben.refuses(&ben.get_as("/v3/pet/77", &to_ben).await, 404, "not-found");

        let foreign = ben.get_as("/v3/pet/findByStatus?status=sold", &to_ada).await;
        assert_eq!(foreign.status, 401);
        let challenge = foreign.header("www-authenticate");
        let metadata = format!("resource_metadata=\"{url}/.well-known/oauth-protected-resource/x/ben\"");
        assert!(challenge.contains(&metadata), "{challenge}");

        let login = ada.get("/v3/user/login?username=demo&password=demo").await;
        let session = format!("Bearer {}", login.has_status(200).json().as_str().unwrap());
        assert!(login.header("set-cookie").contains("; Path=/x/ada/v3; "), "{}", login.header("set-cookie"));
        let user = json!({"username": "zoe"});
        ben.refuses(&ben.post_as("/v3/user", &session, &user).await, 401, "unauthorized");
        ada.post_as("/v3/user", &session, &user).await.has_status(200);
        ben.refuses(&ben.get("/v3/user/zoe").await, 404, "not-found");

        let large = json!({"name": "x".repeat(1500), "photoUrls": []});
        ada.refuses(&ada.post_as("/v3/pet", &to_ada, &large).await, 413, "too-large");
        ben.refuses(&ben.post_as("/v3/pet", &to_ben, &large).await, 422, "unprocessable");

        ada.instance.clock.advance(SignedDuration::from_mins(11));
        assert_eq!(ada.get_as("/v3/pet/findByStatus?status=sold", &to_ada).await.status, 401);
        ben.get_as("/v3/pet/findByStatus?status=sold", &to_ben).await.has_status(200);

        if engine == Engine::Postgres {
            let count = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()";
            let open = ada.instance.db.read(|tx| tx.row(count, &[], |row| row.get::<i64>(0))).await;
            let open = open.unwrap_or_else(|error: db::Error| panic!("{error}"));
            assert!(open <= Some(2), "{open:?} connections");
        }
    }

    async fn addresses_of_a_pet_store_have_its_prefix(store: Store) {
        let settings = petstore::Settings::default();
        let Two { ada, ben, url, .. } = &Two::open(store, &settings, ["petstoreada", "petstoreben"]).await;
        let (address, client) = (ada.address(), &ada.client);
        assert_eq!(address, format!("{url}/x/ada"));

        let server = client.get("/.well-known/oauth-authorization-server/x/ada").send().await.has_status(200).json();
        assert_eq!(server["issuer"], address);
        assert_eq!(server["token_endpoint"], format!("{address}/oauth/token"));
        assert_eq!(server["jwks_uri"], format!("{address}/oauth/jwks.json"));
        let resource = client.get("/.well-known/oauth-protected-resource/x/ada/v3").send().await.has_status(200).json();
        assert_eq!(resource["resource"], format!("{address}/v3"));
        assert_eq!(resource["authorization_servers"], json!([address]));
        client.get("/.well-known/oauth-authorization-server").send().await.is_problem(404, "not-found");
        client.get("/v3/pet/1").send().await.is_problem(404, "not-found");

        let document = ada.get("/openapi.json").await.has_status(200).json();
        assert_eq!(field(&document, "/servers/0/url"), "/x/ada/v3");
        let flow = &document["components"]["securitySchemes"]["petstore_auth"]["flows"]["authorizationCode"];
        assert_eq!(flow["authorizationUrl"], format!("{address}/oauth/authorize"));
        let redirect = ada.get("/docs").await;
        assert_eq!((redirect.status, redirect.header("location")), (303, "/x/ada/docs/"));
        let page = ada.get("/docs/").await.has_status(200).text();
        assert!(page.contains("&#34;/x/ada/openapi.json&#34;"), "{page}");
        let front = ada.get("").await.has_status(200).text();
        assert!(front.contains("href=\"/x/ada/docs/\"") && !front.contains("href=\"/docs"), "{front}");

        let missing = ada.get("/v3/nothing").await;
        let detail = "There is nothing at this address. The API begins at /x/ada/v3; its operations are listed at /x/ada/docs.";
        assert_eq!(missing.has_status(404).json()["detail"], detail);
        assert_eq!(missing.json()["type"], "/x/ada/problems/not-found");
        client.get(field(&missing.json(), "/type")).send().await.has_status(200);
        let in_ben = ben.get("/v3/nothing").await.json();
        assert_eq!(in_ben["type"], "/x/ben/problems/not-found");

        let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
        let query = format!(
            "response_type=code&client_id=pages&redirect_uri={address}/docs/signed-in&scope=read:pets\
             &state=s&code_challenge={challenge}&code_challenge_method=S256"
        );
        let page = ada.get(&format!("/oauth/authorize?{query}")).await;
        assert_eq!(page.status, 200, "{}", page.header("location"));
        let html = page.text();
        assert!(html.contains("action=\"authorize?"), "{html}");
        let cookie = page.header("set-cookie");
        assert!(cookie.starts_with("pet-store-x-ada-form=") && cookie.contains("; Path=/x/ada; "), "{cookie}");
        // The form goes to this instance, and a wrong password leads back to its page.
        let form = html.split_once("name=\"token\" value=\"").unwrap().1.split_once('"').unwrap().0;
        let body = format!("token={form}&name=demo&password=wrong");
        let call = client.post(&format!("/x/ada/oauth/authorize?{query}"));
        let call = call.header("cookie", cookie.split_once(';').unwrap().0);
        let rejected = call.body("application/x-www-form-urlencoded", body).send().await;
        assert_eq!(rejected.status, 303);
        assert!(rejected.header("location").starts_with("/x/ada/oauth/authorize?"), "{}", rejected.header("location"));
    }

    async fn links_of_a_train_service_stay_within_it(store: Store) {
        let settings = train::Settings::default();
        let Two { ada, ben, .. } = &Two::open(store, &settings, ["trainada", "trainben"]).await;
        let (to_ada, to_ben) = (token(&settings, ada).await, token(&settings, ben).await);
        let address = ada.address();
        let trips = "/trips?origin=efdbb9d1-02c2-4bc3-afb7-6788d8782b1e\
                     &destination=b2e783e1-c824-4d63-b37a-d8d698862f1d&date=2026-05-20&limit=1";
        let found = ada.get_as(trips, &to_ada).await.has_status(200).json();
        assert!(field(&found, "/links/self").starts_with(&format!("{address}/trips?")), "{found}");
        let trip = field(&found, "/data/0/id");
        assert_eq!(field(&found, "/data/0/links/self"), format!("{address}/trips/{trip}"));
        let made = ada.post_as("/bookings", &to_ada, &json!({"trip_id": trip, "passenger_name": "Ada"})).await;
        let id = field(&made.has_status(201).json(), "/id").to_owned();
        assert_eq!(made.header("location"), format!("{address}/bookings/{id}"));
        ben.refuses(&ben.get_as(&format!("/bookings/{id}"), &to_ben).await, 404, "not-found");
        assert_eq!(ben.get_as(&format!("/bookings/{id}"), &to_ada).await.status, 401);
        let document = ben.get("/openapi.json").await.has_status(200).json();
        assert_eq!(field(&document, "/servers/0/url"), "/x/ben");
    }

    async fn each_museum_has_its_own_accounts_and_locations(store: Store) {
        let settings = museum::Settings::default();
        let Two { ada, ben, .. } = &Two::open(store, &settings, ["museumada", "museumben"]).await;
        settings.add_user(&ada.instance, "zoe", "correct horse".into()).await.unwrap();
        let zoe = ada.client.signed_in("zoe", "correct horse");
        let event = json!({"name": "Open day", "location": "Hall", "eventDescription": "All doors are open.", "dates": ["2026-05-20"], "price": 5});
        let made = zoe.post("/x/ada/v1.1/special-events").json(&event).send().await;
        let id = field(&made.has_status(201).json(), "/eventId").to_owned();
        assert_eq!(made.header("location"), format!("{}/v1.1/special-events/{id}", ada.address()));
        ben.refuses(&zoe.get(&format!("/x/ben/v1.1/special-events/{id}")).send().await, 401, "unauthorized");
        let demo = ben.client.signed_in("demo", "demo");
        ben.refuses(&demo.get(&format!("/x/ben/v1.1/special-events/{id}")).send().await, 404, "not-found");
        assert_eq!(field(&ada.get("/openapi.json").await.json(), "/servers/0/url"), format!("{}/v1.1", ada.address()));
    }
}
