//! The server over real sockets, with the model inside the library. The answers are compared with
//! those of the library alone, and what clients of OpenAI's API rely on is looked at member by member.

#![cfg(feature = "serve")]

mod answers;
mod description;
mod page;
mod refusals;
mod running;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokenmold::embedded;
use tokenmold::serve::{ServeConfig, Server};

/// A server on a port of its own, as long as the test runs.
struct Running {
    address: SocketAddr,
    _runtime: tokio::runtime::Runtime,
}

/// An answer of the server.
struct Said {
    status: u16,
    head: String,
    body: String,
}

impl Said {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The data of a stream's events.
    fn events(&self) -> Vec<Value> {
        let data = self
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("data: "));
        let data = data.filter(|data| *data != "[DONE]");
        data.map(|data| serde_json::from_str(data).unwrap())
            .collect()
    }
}

fn start(config: ServeConfig) -> Running {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = Server::new(embedded::load().unwrap(), config).unwrap();
    let listener = runtime
        .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
        .unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(async move { server.serve(listener, std::future::pending()).await });
    Running {
        address,
        _runtime: runtime,
    }
}

/// Sends a request as it is written, and reads to the end of the connection.
fn send(address: SocketAddr, head: &str, body: &[u8]) -> Said {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(120)))
        .unwrap();
    let length = body.len();
    let written = format!(
        "{head}\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all(written.as_bytes()).unwrap();
    // A server may answer before it has read a body that it refuses.
    let _ = stream.write_all(body);
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all);
    let all = String::from_utf8(all).unwrap();
    let (head, body) = all.split_once("\r\n\r\n").unwrap_or((&all, ""));
    let status = head.split(' ').nth(1).unwrap_or_default().parse().unwrap();
    let body = match head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked")
    {
        true => unchunked(body),
        false => body.to_owned(),
    };
    Said {
        status,
        head: head.to_owned(),
        body,
    }
}

/// A body that came in chunks (RFC 9112, section 7.1).
fn unchunked(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        if size == 0 {
            break;
        }
        body.push_str(&after[..size]);
        rest = &after[size + 2..];
    }
    body
}

impl Running {
    fn post(&self, path: &str, body: &Value) -> Said {
        let head = format!("POST {path} HTTP/1.1\r\nContent-Type: application/json");
        send(self.address, &head, body.to_string().as_bytes())
    }

    fn get(&self, path: &str) -> Said {
        send(self.address, &format!("GET {path} HTTP/1.1"), b"")
    }
}

fn person() -> Value {
    json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
        "required": ["name", "age"],
        "additionalProperties": false,
    })
}

fn about_vera() -> Value {
    json!({
        "messages": [{"role": "user", "content": "Note about Vera Hale, is 41 years old."}],
        "temperature": 0,
        "response_format": {"type": "json_schema", "json_schema": {"name": "person", "schema": person()}},
    })
}

fn weather() -> Value {
    json!({
        "messages": [{"role": "user", "content": "Weather in Oslo?"}],
        "temperature": 0,
        "tools": [{"type": "function", "function": {"name": "weather", "parameters": {
            "type": "object", "properties": {"city": {"enum": ["Oslo", "Ulm"]}}, "required": ["city"],
            "additionalProperties": false,
        }}}],
        "tool_choice": "required",
    })
}

/// The message that a stream's pieces add up to, as clients add them up.
fn assembled(events: &[Value]) -> (Value, Option<String>) {
    let (mut content, mut calls, mut finish) = (String::new(), Vec::<Value>::new(), None);
    for event in events {
        let Some(choice) = event["choices"].get(0) else {
            continue;
        };
        let delta = &choice["delta"];
        content.push_str(delta["content"].as_str().unwrap_or_default());
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let at = call["index"].as_u64().unwrap() as usize;
            if at == calls.len() {
                assert!(call["id"].as_str().unwrap().starts_with("call_"));
                calls.push(json!({"name": call["function"]["name"], "arguments": ""}));
            }
            let text = call["function"]["arguments"].as_str().unwrap_or_default();
            let so_far = calls[at]["arguments"].as_str().unwrap().to_owned();
            calls[at]["arguments"] = format!("{so_far}{text}").into();
        }
        if let Some(why) = choice["finish_reason"].as_str() {
            assert!(finish.replace(why.to_owned()).is_none(), "one end");
        }
    }
    (json!({"content": content, "calls": calls}), finish)
}
