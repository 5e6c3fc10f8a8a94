//! A minimal WebDriver client.

use std::env;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

/// Timeout of every step.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

// Keys in WebDriver's encoding.
const CONTROL: char = '\u{E009}';
const NO_KEY: char = '\u{E000}';
const DELETE: &str = "\u{E017}";

const BROWSERS: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

/// The paths of the programs.
pub(crate) struct BrowserPrograms {
    driver: PathBuf,
    browser: PathBuf,
}

impl BrowserPrograms {
    pub(crate) fn find() -> Option<BrowserPrograms> {
        Some(BrowserPrograms {
            driver: on_path("chromedriver")?,
            browser: BROWSERS.into_iter().find_map(on_path)?,
        })
    }
}

fn on_path(name: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// A browser with one page. Dropping it ends the browser.
pub(crate) struct Browser {
    client: Client<HttpConnector, Full<Bytes>>,
    session: String,
    _driver: Child,
    _stdout: BufReader<ChildStdout>,
}

impl Browser {
    /// Starts a browser with a window size.
    pub(crate) async fn open(programs: &BrowserPrograms, width: u32, height: u32) -> Browser {
        let mut driver = Command::new(&programs.driver)
            // By default, chromedriver selects a free IPv6 port and fails if the same IPv4 port is in use.
            // With a list of allowed addresses, it listens on one socket for both.
            .args(["--port=0", "--allowed-ips=127.0.0.1"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("chromedriver starts");
        let mut stdout = BufReader::new(driver.stdout.take().expect("its output"));
        let port = timeout(PATIENCE, port(&mut stdout))
            .await
            .expect("the port of chromedriver");
        let mut browser = Browser {
            client: Client::builder(TokioExecutor::new()).build_http(),
            session: format!("http://127.0.0.1:{port}/session"),
            _driver: driver,
            _stdout: stdout,
        };
        let options = json!({
            "binary": programs.browser,
            // Containers do not support the sandbox, and the test's page is the only one.
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                "--lang=en", format!("--window-size={width},{height}")],
        });
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": options, "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let opened = browser.ask(Method::POST, "", &wanted).await;
        let id = opened["sessionId"].as_str().expect("a session");
        browser.session = format!("{}/{id}", browser.session);
        let script = u64::try_from(PATIENCE.as_millis()).expect("a minute");
        browser
            .ask(Method::POST, "/timeouts", &json!({ "script": script }))
            .await;
        browser
    }

    async fn ask(&self, method: Method, path: &str, what: &Value) -> Value {
        let body = if method == Method::GET {
            String::new()
        } else {
            what.to_string()
        };
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.session))
            .header("content-type", "application/json")
            .body(Full::from(body))
            .expect("a request");
        let answered = timeout(2 * PATIENCE, async {
            let (head, body) = self
                .client
                .request(request)
                .await
                .expect("an answer")
                .into_parts();
            (head.status, body.collect().await.expect("a body").to_bytes())
        });
        let (status, body) = answered
            .await
            .unwrap_or_else(|_| panic!("the browser does not respond: {path} {what}"));
        let mut answer: Value = serde_json::from_slice(&body).expect("JSON");
        let value = answer["value"].take();
        assert!(status.is_success(), "{path} {what}: {value}");
        value
    }

    /// Opens a URL.
    pub(crate) async fn go(&self, url: &str) {
        self.ask(Method::POST, "/url", &json!({ "url": url })).await;
    }

    /// Evaluates an expression in the page.
    pub(crate) async fn eval(&self, expression: &str) -> Value {
        let script = json!({ "script": format!("return ({expression});"), "args": [] });
        self.ask(Method::POST, "/execute/sync", &script).await
    }

    /// Waits until an expression is truthy, and returns its value. It is evaluated whenever the page changes.
    pub(crate) async fn until(&self, expression: &str) -> Value {
        let script = format!(
            "const done = arguments[arguments.length - 1];
             const look = () => {{
               const found = ({expression});
               if (found) {{ observer.disconnect(); done(found); }}
             }};
             const observer = new MutationObserver(look);
             observer.observe(document, {{ subtree: true, childList: true, attributes: true, characterData: true }});
             look();"
        );
        let asked = json!({ "script": script, "args": [] });
        self.ask(Method::POST, "/execute/async", &asked).await
    }

    /// Replaces the content of a field by typing.
    pub(crate) async fn fill(&self, selector: &str, text: &str) {
        let found = json!({ "using": "css selector", "value": selector });
        let found = self.ask(Method::POST, "/element", &found).await;
        let id = found
            .as_object()
            .and_then(|all| all.values().next())
            .and_then(Value::as_str)
            .expect("an element");
        // Ctrl-A and release of all keys; the selection is replaced or deleted. WebDriver's own clear command
        // would send no key events to the page.
        let keys = format!(
            "{CONTROL}a{NO_KEY}{}",
            if text.is_empty() { DELETE } else { text }
        );
        let path = format!("/element/{id}/value");
        self.ask(Method::POST, &path, &json!({ "text": keys })).await;
    }

    /// Sends a command of the Chrome DevTools protocol.
    pub(crate) async fn command(&self, name: &str, parameters: &Value) -> Value {
        let command = json!({ "cmd": name, "params": parameters });
        self.ask(Method::POST, "/goog/cdp/execute", &command).await
    }

    /// Sets the size of the page, which can be smaller than a window.
    pub(crate) async fn resize(&self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500 });
        self.command("Emulation.setDeviceMetricsOverride", &size).await;
    }

    /// Sets the system's colour scheme: `light` or `dark`.
    pub(crate) async fn prefer(&self, scheme: &str) {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.command("Emulation.setEmulatedMedia", &features).await;
    }

    /// Takes a screenshot as a PNG.
    pub(crate) async fn screenshot(&self) -> Vec<u8> {
        let image = self.ask(Method::GET, "/screenshot", &Value::Null).await;
        STANDARD
            .decode(image.as_str().expect("base64"))
            .expect("a picture")
    }

    /// Returns errors of scripts, and violations of the content security policy.
    pub(crate) async fn complaints(&self) -> Vec<String> {
        let log = self
            .ask(Method::POST, "/se/log", &json!({ "type": "browser" }))
            .await;
        let entries = log.as_array().cloned().unwrap_or_default().into_iter();
        entries
            .filter(|entry| entry["level"] == "SEVERE")
            .map(|entry| entry["message"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// Ends the browser.
    pub(crate) async fn close(self) {
        self.ask(Method::DELETE, "", &json!({})).await;
    }
}

async fn port(stdout: &mut BufReader<ChildStdout>) -> u16 {
    let mut all = String::new();
    loop {
        let before = all.len();
        let read = stdout.read_line(&mut all).await.expect("its output");
        assert!(read > 0, "chromedriver ended with the output:\n{all}");
        let line = &all[before..];
        let number = line
            .split("on port ")
            .nth(1)
            .map(|rest| rest.trim_end_matches(['.', '\n', '\r']));
        // At first it prints port 0.
        if let Some(port) = number
            .and_then(|number| number.parse().ok())
            .filter(|port| *port != 0)
        {
            return port;
        }
    }
}
