//! Values that are built in code can nest deeper than any text: whatever recurses over one
//! takes all of a thread's stack, and the process with it. Each door refuses them.
#![cfg(feature = "tools")]

use serde_json::{Value, json};
use tokenmold::ErrorKind;
use tokenmold::agent::{Agent, FinishFunction, ModelRequest};
use tokenmold::chat::{Chat, ChatTemplate, ChatTemplates, chatml};
use tokenmold::response_parser::{Family, ResponseTemplate};
use tokenmold::tools::{Tool, ToolCall, Tools, read_response};

/// Runs on a small stack.
fn small(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(1 << 20);
    thread.spawn(test).unwrap().join().unwrap();
}

/// An object of one member. `json!` would copy what is inside, and recurse.
fn object(name: &str, inner: Value) -> Value {
    Value::Object([(name.to_owned(), inner)].into_iter().collect())
}

fn deep() -> Value {
    (0..100_000).fold(json!("x"), |inner, _| {
        object("content", Value::Array(vec![inner]))
    })
}

/// Takes a value apart: dropping it as it is would recurse.
fn undo(value: Value) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(map) => open.extend(map.into_iter().map(|(_, value)| value)),
            _ => {}
        }
    }
}

#[test]
fn chats_refuse_them() {
    small(|| {
        let source = "{{ messages }}{{ tools }}{{ documents }}";
        let template = ChatTemplate::new(source).unwrap();
        let templates = ChatTemplates::from_source(source);
        let plain = [json!({"role": "user", "content": "x"})];
        let deep = [deep()];
        let chats = [
            Chat::new(&deep),
            Chat::new(&plain).with_tools(&deep),
            Chat::new(&plain).with_documents(&deep),
        ];
        for chat in &chats {
            for rendered in [template.render(chat), templates.apply(chat)] {
                let error = rendered.map(|_| ()).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::TemplateLimit, "{error}");
            }
        }
        let [deep] = deep;
        assert!(chatml::tool_call("f", &deep).ends_with("\"arguments\":null}</tool_call>"));
        assert!(chatml::schema_system(&deep).ends_with("null"));
        undo(deep);
    });
}

#[test]
fn tools_refuse_them() {
    small(|| {
        let echo = |arguments: Value| Ok::<_, String>(arguments);
        let tool = Tool::from_schema("echo", "Says it again.", deep(), echo);
        assert_eq!(tool.parameters(), &json!({}));
        assert!(tool.call(deep()).unwrap_err().contains("128 levels"));
        let grows = |_: Value| Ok::<_, String>(deep());
        let grows = Tool::from_schema("grows", "", json!({}), grows);
        assert!(grows.call(json!({})).unwrap_err().contains("128 levels"));
        let tools: Tools = [tool].into_iter().collect();
        let mut call = json!({"name": "echo"});
        call["arguments"] = deep();
        assert!(ToolCall::from_json(&call).is_err());
        let answer = tools.run(&call);
        assert!(answer["content"].as_str().unwrap().starts_with("Error: "));
        undo(call);

        let template = ResponseTemplate::of_family(Family::HERMES).unwrap();
        let offered = [deep()];
        assert!(read_response(&template, "", &offered, "Hello").is_ok());
        let [offered] = offered;
        undo(offered);
    });
}

#[test]
fn agents_refuse_them() {
    small(|| {
        let model = |_: &ModelRequest<'_>| Ok(json!({"role": "assistant", "content": "Hello"}));
        let mut agent = Agent::new(model, Tools::default()).with_memory(vec![deep()]);
        assert!(agent.memory().is_empty());
        assert_eq!(agent.reply(deep()).unwrap_err().kind(), ErrorKind::Chat);
        let schema = deep();
        let message = json!({"role": "user", "content": "x"});
        let error = agent.reply_structured(message, &schema).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Tool);
        let error = FinishFunction::default()
            .definition(Some(&schema))
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Tool);
        undo(schema);
        let talks = |_: &ModelRequest<'_>| Ok(deep());
        let mut agent = Agent::new(talks, Tools::default());
        let message = json!({"role": "user", "content": "x"});
        assert_eq!(agent.reply(message).unwrap_err().kind(), ErrorKind::Chat);
    });
}

/// An error quotes what it speaks of, which can be a megabyte.
#[test]
fn messages_are_cut() {
    let long = "x".repeat(1 << 20);
    let source = format!("{{{{ raise_exception('{}') }}}}", &long[..1_000_000]);
    let messages = [json!({"role": "user", "content": "x"})];
    let template = ChatTemplate::new(&source).unwrap();
    let error = template.render(&Chat::new(&messages)).unwrap_err();
    assert!(error.to_string().len() < 3_000);
    // Whoever needs all of it has it.
    assert_eq!(error.said().map(str::len), Some(1_000_000));
}
