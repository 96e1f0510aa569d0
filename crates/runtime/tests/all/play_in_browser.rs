//! The playground in a real browser: headless Chromium opens it, asks for an answer, steps through it,
//! types a text and looks at the ledger; what it has seen comes back to the test.
//!
//! `cargo test --test all play_in_browser -- --nocapture`. Without a browser the test says that it skips.

#![cfg(all(feature = "serve", feature = "cli"))]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use axum::Router;
use axum::response::Html;
use axum::routing::{get, post};
use serde_json::Value;
use tokenmold::embedded;
use tokenmold::serve::{ServeConfig, Server};

use crate::common::browser::browser;

/// Does what a person would, and reports. It waits by looking, not by the clock.
const VISITOR: &str = r##"<script>
(async () => {
  const byId = (id) => document.getElementById(id);
  const until = async (what, is) => {
    for (let tries = 0; tries < 2000; tries += 1) {
      if (is()) return;
      await new Promise((go) => setTimeout(go, 20));
    }
    throw new Error("it did not come: " + what);
  };
  const seen = {};
  try {
    await until("the answer", () => byId("text").querySelectorAll("[data-step]").length > 5 && byId("stop").disabled);
    const tokens = [...byId("text").querySelectorAll("[data-step]")];
    seen.tokens = tokens.length;
    seen.text = tokens.map((token) => token.textContent).join("");
    tokens[0].click();
    seen.first = byId("count").textContent;
    byId("on").click();
    seen.second = byId("count").textContent;
    tokens.at(-1).click();
    seen.last = byId("count").textContent;
    seen.where = byId("where").textContent;
    seen.step = byId("step").textContent;
    await until("the message", () => byId("message").textContent.includes("title"));
    seen.message = byId("message").textContent;
    await until("the ledger", () => byId("ledger").textContent.includes("pattern"));
    seen.ledger = byId("ledger").textContent;
    await until("the providers", () => byId("providers").textContent.includes("pattern"));
    seen.providers = [...byId("providers").querySelectorAll("h3")].map((name) => name.textContent);
    seen.elsewhere = byId("providers").textContent;
    byId("typed").value = '{"title": 5';
    byId("typed").dispatchEvent(new Event("input", {bubbles: true}));
    await until("the refusal", () => byId("typed-result").textContent.includes("/title"));
    seen.typed = byId("typed-result").textContent;
    byId("copy-curl").click();
    await until("the code", () => byId("code").textContent.includes("curl"));
    seen.code = byId("code").textContent;
    byId("tab-tools").click();
    await until("the tools' ledger", () => byId("ledger").textContent.includes("/0/function/parameters"));
    seen.tools = byId("ledger").textContent;
    seen.toolsElsewhere = byId("providers").textContent;
    byId("typed-for").value = "get_weather";
    byId("typed").value = '{"city": 5';
    byId("typed").dispatchEvent(new Event("input", {bubbles: true}));
    await until("the refusal of an argument", () => byId("typed-result").textContent.includes("/city"));
    seen.wide = document.documentElement.scrollWidth > window.innerWidth;
  } catch (error) {
    seen.error = String(error);
  }
  await fetch("/seen", {method: "POST", body: JSON.stringify(seen)});
})();
</script>
</html>"##;

/// The page as the server sends it.
fn served_page(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, page) = answer.split_once("\r\n\r\n").unwrap();
    page.to_owned()
}

#[test]
fn the_playground_answers_explains_and_refuses() {
    let Some(browser) = browser() else {
        eprintln!("skipped: no browser is here; install Chromium, or set TOKENMOLD_BROWSER");
        return;
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = Server::new(embedded::load().unwrap(), ServeConfig::default()).unwrap();
    let (saw, seen) = mpsc::channel();
    let visited = Arc::new(OnceLock::<String>::new());
    let shown = visited.clone();
    let visit = Router::new()
        .route(
            "/visit",
            get(move || async move { Html(shown.get().unwrap().clone()) }),
        )
        .route(
            "/seen",
            post(|body: String| async move {
                saw.send(body).unwrap();
            }),
        );
    let router = server.router().merge(visit);
    let listener = runtime
        .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
        .unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(async move { axum::serve(listener, router).await });
    let page = served_page(address);
    let visitor = page.replace("</html>", VISITOR);
    assert_ne!(page, visitor, "the page has an end");
    visited.set(visitor).unwrap();
    for size in ["1400,900", "390,844"] {
        let profile = tempfile::tempdir().unwrap();
        let mut child = Command::new(&browser)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
            ])
            .args(["--disable-sync", "--remote-debugging-port=0"])
            .arg(format!("--window-size={size}"))
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("http://{address}/visit?example=event&run=1"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let seen = seen.recv_timeout(Duration::from_secs(120));
        let _ = child.kill();
        let _ = child.wait();
        let seen: Value = serde_json::from_str(&seen.unwrap()).unwrap();
        assert_eq!(seen["error"], Value::Null, "{seen:#}");
        let tokens = &seen["tokens"];
        let text = seen["text"].as_str().unwrap();
        assert!(
            text.starts_with("{\"title") && text.ends_with('}'),
            "{text}"
        );
        assert_eq!(seen["first"], format!("step 1 of {tokens}"));
        assert_eq!(seen["second"], format!("step 2 of {tokens}"));
        assert_eq!(seen["last"], format!("step {tokens} of {tokens}"));
        assert!(seen["where"].as_str().unwrap().contains("\"title\""));
        assert!(seen["ledger"].as_str().unwrap().contains("enforced"));
        let names = serde_json::json!([
            "OpenAI, strict mode",
            "Anthropic, structured outputs",
            "Gemini, response schema"
        ]);
        assert_eq!(seen["providers"], names);
        assert!(seen["elsewhere"].as_str().unwrap().contains("ignored"));
        assert!(
            seen["code"]
                .as_str()
                .unwrap()
                .contains(&format!("http://{address}/v1/chat/completions"))
        );
        for place in ["tools", "toolsElsewhere"] {
            let told = seen[place].as_str().unwrap();
            assert!(told.contains("/1/function/parameters"), "{place}: {told}");
        }
        assert_eq!(
            seen["wide"], false,
            "{size}: the page is wider than the window"
        );
    }
}
