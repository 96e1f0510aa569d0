//! Servers at work: many clients, prompts that were read before, and the program. For example, each of many clients gets the answer that it would get alone.

use super::*;

#[test]
fn many_clients_get_the_answers_that_they_would_get_alone() {
    let server = start(ServeConfig::default().with_lanes(3).with_max_queue(200));
    let requests: Vec<Value> = (0..24)
        .map(|at| match at % 4 {
            0 => about_vera(),
            1 => weather(),
            2 => json!({"messages": [{"role": "user", "content": "Hi"}], "seed": at, "max_tokens": 9, "structured_outputs": {"regex": "[a-z]{3,20}"}}),
            _ => json!({"messages": [{"role": "user", "content": "Hi"}], "structured_outputs": {"regex": "("}}),
        })
        .collect();
    let content = |said: &Said| match said.status {
        200 => {
            let mut message = said.json()["choices"][0]["message"].clone();
            for call in message["tool_calls"].as_array_mut().into_iter().flatten() {
                call["id"] = Value::Null;
            }
            message
        }
        status => json!(status),
    };
    let alone: Vec<Value> = requests
        .iter()
        .map(|one| content(&server.post("/v1/chat/completions", one)))
        .collect();
    let together: Vec<Value> = std::thread::scope(|scope| {
        let threads: Vec<_> = requests
            .iter()
            .map(|one| scope.spawn(|| content(&server.post("/v1/chat/completions", one))))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(alone, together);
    assert!(alone.iter().any(|said| *said == 400));
    // An answer is sent before its lane is free again.
    let none = (json!(0), json!(0));
    let is_idle = (0..500).any(|_| {
        let health = server.get("/health").json();
        let now = (health["waiting"].clone(), health["running"].clone());
        std::thread::sleep(std::time::Duration::from_millis(10));
        now == none
    });
    assert!(is_idle);
}

#[test]
fn a_prompt_that_was_read_is_not_read_again() {
    let server = start(ServeConfig::default().with_lanes(1));
    let cached = |said: &Said| {
        let usage = &said.json()["usage"];
        usage["prompt_tokens_details"]["cached_tokens"].as_u64()
    };
    let first = server.post("/v1/chat/completions", &about_vera());
    assert_eq!(cached(&first), Some(0));
    let again = server.post("/v1/chat/completions", &about_vera());
    let prompt = again.json()["usage"]["prompt_tokens"].as_u64().unwrap();
    // The last token is read in any case.
    assert_eq!(cached(&again), Some(prompt - 1));
    let request = json!({"input": "Hi", "max_output_tokens": 4});
    let responses = [0, 1].map(|_| server.post("/v1/responses", &request).json());
    let usage = &responses[1]["usage"];
    let prompt = usage["input_tokens"].as_u64().unwrap();
    assert_eq!(usage["input_tokens_details"]["cached_tokens"], prompt - 1);
}

/// The program: it says where it listens, answers, and ends by a signal when its requests are done.
#[cfg(unix)]
#[test]
fn the_program_serves_and_ends() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_tokenmold"))
        .args(["--json", "serve", "--port", "0", "--lanes", "2"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
    let told: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    let address: SocketAddr = told["url"]
        .as_str()
        .unwrap()
        .strip_prefix("http://")
        .unwrap()
        .parse()
        .unwrap();
    let body = about_vera().to_string();
    let asked = std::thread::spawn(move || {
        send(
            address,
            "POST /v1/chat/completions HTTP/1.1",
            body.as_bytes(),
        )
    });
    let answered = asked.join().unwrap();
    assert_eq!(answered.status, 200);
    let ended = Command::new("kill")
        .args(["-TERM", &program.id().to_string()])
        .status()
        .unwrap();
    assert!(ended.success());
    assert!(program.wait().unwrap().success());
    assert_eq!(lines.count(), 0);
}
