//! Signs in on the pages of a service, as a browser does.

use serde_json::Value;

use crate::{Answer, Client};

const FORM: &str = "application/x-www-form-urlencoded";
const CALLBACK: &str = "http%3A%2F%2F127.0.0.1%3A5999%2Fcallback";

/// The pair of RFC 7636.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// Signs a user in at a prefix of the service, and gives the demo client the user's tokens. All texts are in the encoding of a form.
pub async fn tokens(client: &Client, prefix: &str, scope: &str, name: &str, password: &str) -> Value {
    let path = format!(
        "{prefix}/oauth/authorize?response_type=code&client_id=demo&redirect_uri={CALLBACK}&scope={scope}\
         &state=s&code_challenge={CHALLENGE}&code_challenge_method=S256"
    );
    let mut cookies = Vec::new();
    let fields = format!("intent=sign-in&name={name}&password={password}");
    send(client, &path, &mut cookies, &fields).await.has_status(303);
    let allowed = send(client, &path, &mut cookies, "intent=allow").await;
    let location = allowed.has_status(303).header("location").to_owned();
    let code = location.split(['?', '&']).find_map(|pair| pair.strip_prefix("code=")).unwrap();
    let form = format!(
        "grant_type=authorization_code&client_id=demo&code={code}&redirect_uri={CALLBACK}&code_verifier={VERIFIER}"
    );
    let tokens = client.post(&format!("{prefix}/oauth/token")).body(FORM, form).send().await;
    tokens.has_status(200).json()
}

/// Opens a page, and sends its form with these fields.
async fn send(client: &Client, path: &str, cookies: &mut Vec<(String, String)>, fields: &str) -> Answer {
    let header = |cookies: &[(String, String)]| {
        cookies.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
    };
    let page = client.get(path).header("cookie", &header(cookies)).send().await;
    keep(cookies, &page);
    let html = page.has_status(200).text();
    let token = html.split("name=\"token\" value=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let call = client.post(path).header("cookie", &header(cookies)).header("sec-fetch-site", "same-origin");
    let answer = call.header("origin", "null").body(FORM, format!("{fields}&token={token}")).send().await;
    keep(cookies, &answer);
    answer
}

fn keep(cookies: &mut Vec<(String, String)>, answer: &Answer) {
    for set in answer.headers.get_all("set-cookie") {
        let (name, rest) = set.to_str().unwrap().split_once('=').unwrap();
        cookies.retain(|(known, _)| known != name);
        cookies.push((name.to_owned(), rest.split(';').next().unwrap().to_owned()));
    }
}
