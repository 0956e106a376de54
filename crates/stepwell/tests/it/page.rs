//! The API page in a real browser, driven over the WebDriver protocol.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::program::{Running, Server, first_line};

/// A browser with one window.
struct Browser {
    client: reqwest::Client,
    session: String,
    _driver: Running,
}

impl Browser {
    /// A browser of this machine; `None`, with a word about it, where there is none.
    async fn open() -> Option<Self> {
        let mut driver = Command::new("chromedriver");
        let driver = driver.arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let Ok(mut driver) = driver else {
            eprintln!(
                "skipped: chromedriver is not installed; `cargo xtask test` tries to install it"
            );
            return None;
        };
        let mut out = driver.stdout.take().expect("it is piped");
        let driver = Running(driver);
        let port = loop {
            // It says first what it is, then where it listens; each line is waited for.
            let line = line_of(&mut out);
            if let Some((_, port)) = line.rsplit_once("started successfully on port ") {
                break port.trim().trim_end_matches('.').to_owned();
            }
        };
        let _ = std::thread::spawn(move || first_line(out));
        let client = client();
        let arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ];
        let wish = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": {"args": arguments},
        }}});
        let url = format!("http://127.0.0.1:{port}/session");
        let answer: Value = call(client.post(&url).body(wish.to_string())).await;
        let id = answer["value"]["sessionId"].as_str().expect("a session").to_owned();
        Some(Self { client, session: format!("{url}/{id}"), _driver: driver })
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        let request = self.client.post(format!("{}{path}", self.session));
        call(request.body(body.to_string())).await["value"].take()
    }

    async fn element(&self, selector: &str) -> String {
        let found =
            self.post("/element", json!({"using": "css selector", "value": selector})).await;
        let found = found.as_object().and_then(|found| found.values().next()?.as_str());
        found.unwrap_or_else(|| panic!("no {selector} on the page")).to_owned()
    }

    async fn fill(&self, selector: &str, text: &str) {
        let element = self.element(selector).await;
        self.post(&format!("/element/{element}/clear"), json!({})).await;
        self.post(&format!("/element/{element}/value"), json!({"text": text})).await;
    }

    async fn click(&self, selector: &str) {
        let element = self.element(selector).await;
        self.post(&format!("/element/{element}/click"), json!({})).await;
    }

    /// Resolves in the page itself, when an expression becomes true there.
    async fn until(&self, expression: &str) -> Value {
        let script = format!(
            "const done = arguments[0];
             const look = () => {{ const it = {expression}; if (it) done(it); }};
             new MutationObserver(look).observe(document.body, {{
               subtree: true, childList: true, attributes: true, characterData: true }});
             look();"
        );
        self.post("/execute/async", json!({"script": script, "args": []})).await
    }

    async fn close(self) {
        let _ = self.client.delete(&self.session).send().await;
    }
}

/// A client for this machine; it needs no TLS, but must be told with which it would do it.
fn client() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().expect("a client")
}

async fn call(request: reqwest::RequestBuilder) -> Value {
    let answer = request.send().await.expect("the driver answers");
    let answer: Value = answer.json().await.expect("the driver speaks JSON");
    assert!(answer["value"]["error"].is_null(), "the browser refused: {answer}");
    answer
}

fn line_of(stream: &mut impl std::io::Read) -> String {
    let mut line = Vec::new();
    let mut byte = [0];
    while stream.read(&mut byte).expect("it can be read") == 1 && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    String::from_utf8_lossy(&line).into_owned()
}

// D-064: the page itself holds no data; what it shows it fetches with the token it is given.
#[tokio::test]
async fn the_api_page_shows_every_operation_to_whoever_has_a_token() {
    let server = Server::start();
    let Some(browser) = Browser::open().await else { return };
    browser.post("/url", json!({"url": format!("{}/docs", server.url)})).await;

    browser.fill("#token", "swl_wrong_token").await;
    browser.click("#login button").await;
    let refused = browser.until("document.getElementById('message').textContent").await;
    assert!(refused.as_str().expect("text").contains("token"), "it says what is wrong: {refused}");

    browser.fill("#token", &server.token).await;
    browser.click("#login button").await;
    let shown = browser.until("document.querySelectorAll('main details').length").await;
    browser.until("getComputedStyle(document.getElementById('login')).display === 'none'").await;
    let client = client();
    let document = client.get(format!("{}/openapi.json", server.url)).bearer_auth(&server.token);
    let document: Value = document.send().await.expect("sent").json().await.expect("JSON");
    let paths = document["paths"].as_object().expect("paths");
    let operations: usize =
        paths.values().map(|path| path.as_object().map_or(0, |it| it.len())).sum();
    assert_eq!(shown, json!(operations));

    browser.fill("#search", "cancel").await;
    let left =
        browser.until("document.querySelectorAll('main details:not([hidden])').length").await;
    assert!(left.as_u64().expect("a number") < operations as u64, "the filter leaves fewer");
    browser.close().await;
}
