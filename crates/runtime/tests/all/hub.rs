//! Downloads from a server on this machine, and what is said without one.

#![cfg(feature = "hub")]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;

use tokenmold::ErrorKind;
use tokenmold::hub::{HubOptions, Progress, download_with};
use tokenmold::model;

fn options(endpoint: String, cache: &Path) -> HubOptions {
    let mut options = HubOptions::default();
    options.endpoint = Some(endpoint);
    options.cache = Some(cache.to_owned());
    options.progress = Progress::Silent;
    options
}

/// Serves files as the hub does; returns its address.
fn serve(files: HashMap<&'static str, &'static [u8]>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let Some(Ok(request)) = lines.next() else {
                continue;
            };
            let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
            let mut range = None;
            for line in lines
                .map_while(Result::ok)
                .take_while(|line| !line.is_empty())
            {
                let line = line.to_ascii_lowercase();
                if let Some(bytes) = line.strip_prefix("range: bytes=") {
                    let (from, to) = bytes.split_once('-').unwrap();
                    range = Some((from.parse::<usize>().unwrap(), to.parse::<usize>().ok()));
                }
            }
            let names: Vec<String> = files
                .keys()
                .map(|name| format!("{{\"rfilename\":\"{name}\"}}"))
                .collect();
            let list = format!("{{\"sha\":\"abc\",\"siblings\":[{}]}}", names.join(","));
            let body = match path.strip_prefix("/some/model/resolve/main/") {
                Some(file) => files.get(file).map(|bytes| bytes.to_vec()),
                None if path.starts_with("/api/models/some/model") => Some(list.into_bytes()),
                None => None,
            };
            let Some(body) = body else {
                let _ = stream.write_all(
                    b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                );
                continue;
            };
            let (from, to) = range.unwrap_or((0, None));
            let to = to.unwrap_or(body.len() - 1).min(body.len() - 1);
            let head = format!(
                "HTTP/1.1 206 Partial Content\r\nContent-Length: {}\r\nContent-Range: bytes {from}-{to}/{}\r\nETag: \"{}\"\r\nx-repo-commit: abc\r\nConnection: close\r\n\r\n",
                to + 1 - from,
                body.len(),
                path.replace('/', "-"),
            );
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(&body[from..=to]);
        }
    });
    address
}

fn files() -> HashMap<&'static str, &'static [u8]> {
    HashMap::from([
        (
            "config.json",
            &include_bytes!("../../model/config.json")[..],
        ),
        (
            "tokenizer.json",
            include_bytes!("../../model/tokenizer.json"),
        ),
        (
            "model.safetensors",
            include_bytes!("../../model/model.safetensors"),
        ),
        ("README.md", b"not needed"),
    ])
}

#[test]
fn a_model_is_downloaded_once_and_then_used_without_a_server() {
    let cache = tempfile::tempdir().unwrap();
    let address = serve(files());
    let folder = download_with("some/model", &options(address, cache.path())).unwrap();
    assert!(!folder.join("README.md").exists());
    model::load(&folder).unwrap();
    let nowhere = options("http://127.0.0.1:1".to_owned(), cache.path());
    assert_eq!(download_with("some/model", &nowhere).unwrap(), folder);
}

#[test]
fn errors_say_what_could_not_be_had_and_why() {
    let cache = tempfile::tempdir().unwrap();
    let address = serve(files());
    let mut lines = Vec::new();
    let mut refused = |name: &str, address: &str| {
        let error = download_with(name, &options(address.to_owned(), cache.path())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Download);
        lines.push(error.to_string());
    };
    refused("model", &address);
    refused("../etc/model.gguf", &address);
    refused("some/model/weights.bin", &address);
    refused("some/other", &address);
    refused("some/model/model.gguf", &address);
    let mut lacking = files();
    lacking.remove("model.safetensors");
    refused("some/model", &serve(lacking));
    refused("some/thing", "http://127.0.0.1:1");
    insta::assert_snapshot!(lines.join("\n"));
}
