//! Chats: which template is taken, where templates are kept, chats as tokens.

#![cfg(feature = "embedded")]

use serde_json::{Map, Value, json};
use tokenmold::chat::{Chat, ChatTemplate, ChatTemplates, Ending, PaddingSide};
use tokenmold::tokenizer::Surround;
use tokenmold::{ErrorKind, embedded};

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

const TRAINING: &str = "{% for m in messages %}\n\
    <|im_start|>{{ m.role }}\n\
    {% if m.role == 'assistant' %}\n\
    {% generation %}{{ m.content }}<|im_end|>{% endgeneration %}\n\
    {% else %}\n\
    {{ m.content }}<|im_end|>\n\
    {% endif %}\n\
    {% endfor %}";

#[test]
fn the_embedded_model_writes_its_chats_as_it_was_trained() {
    let loaded = embedded::load().unwrap();
    let messages = [
        json!({"role": "system", "content": "Answer with JSON."}),
        user("Zoe, 12"),
    ];
    let chat = Chat::new(&messages).with_ending(Ending::GenerationPrompt);
    let rendered = loaded.chat.apply(&chat).unwrap();
    assert_eq!(
        rendered.text,
        tokenmold::chat::chatml::prompt("Answer with JSON.", "Zoe, 12")
    );
    let encoded = loaded.chat.encode(&chat, &loaded.tokenizer).unwrap();
    let plain = loaded
        .tokenizer
        .encode(&rendered.text, Surround::Omit)
        .unwrap();
    assert_eq!(encoded.tokens, plain);
    // The marks of turns are tokens of their own, each once.
    let mark = loaded.tokenizer.token_to_id("<|im_start|>").unwrap();
    assert_eq!(encoded.tokens.iter().filter(|t| **t == mark).count(), 3);
}

#[test]
fn what_the_model_says_is_marked_for_training() {
    let loaded = embedded::load().unwrap();
    let templates = ChatTemplates::from_source(TRAINING);
    let messages = [
        user("grüße"),
        assistant("hallo 👋 du"),
        user("x"),
        assistant(""),
    ];
    let encoded = templates
        .encode(&Chat::new(&messages), &loaded.tokenizer)
        .unwrap();
    let mask = encoded.assistant_mask().unwrap();
    let said: Vec<u32> = encoded
        .tokens
        .iter()
        .zip(&mask)
        .filter_map(|(token, said)| said.then_some(*token))
        .collect();
    let end = loaded.tokenizer.token_to_id("<|im_end|>").unwrap();
    let mut expected = loaded
        .tokenizer
        .encode("hallo 👋 du", Surround::Omit)
        .unwrap();
    expected.extend([end, end]);
    assert_eq!(said, expected);
    let labels = encoded.labels().unwrap();
    assert_eq!(
        labels.iter().filter(|label| **label != -100).count(),
        said.len()
    );
    assert_eq!(labels.len(), encoded.tokens.len());

    let plain = ChatTemplates::from_source("{{ messages[0].content }}");
    let encoded = plain
        .encode(&Chat::new(&messages), &loaded.tokenizer)
        .unwrap();
    assert_eq!(
        encoded.assistant_mask().unwrap_err().kind(),
        ErrorKind::Chat
    );
}

#[test]
fn a_generation_block_in_a_macro_is_refused_for_training_only() {
    let source = "{% macro say(m) %}: {% generation %}{{ m.content }}{% endgeneration %}{% endmacro %}\
        {% for m in messages %}<{{ m.role }}>{{ say(m) }}{% endfor %}";
    let templates = ChatTemplates::from_source(source);
    let messages = [user("a"), assistant("b")];
    let rendered = templates.apply(&Chat::new(&messages)).unwrap();
    assert_eq!(rendered.text, "<user>: a<assistant>: b");
    let error = rendered.generated().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Chat);
    assert!(error.to_string().contains("macro"), "{error}");
}

#[test]
fn a_batch_is_padded_on_either_side() {
    let loaded = embedded::load().unwrap();
    let (short, long) = ([user("a")], [user("a long question"), assistant("yes")]);
    let chats = [Chat::new(&short), Chat::new(&long)];
    let pad = loaded.tokenizer.token_to_id("<|endoftext|>").unwrap();
    for side in [PaddingSide::Left, PaddingSide::Right] {
        let batch = loaded
            .chat
            .encode_batch(&chats, &loaded.tokenizer, side)
            .unwrap();
        let length = batch.chats[1].tokens.len();
        for (row, mask) in batch.tokens.iter().zip(&batch.attention_mask) {
            assert_eq!((row.len(), mask.len()), (length, length));
        }
        let looked_at = |at: usize| -> Vec<u32> {
            let row = batch.tokens[at].iter().zip(&batch.attention_mask[at]);
            row.filter_map(|(token, seen)| seen.then_some(*token))
                .collect()
        };
        assert_eq!(looked_at(0), batch.chats[0].tokens);
        assert_eq!(looked_at(1), batch.chats[1].tokens);
        let padding = match side {
            PaddingSide::Left => batch.tokens[0].first(),
            PaddingSide::Right => batch.tokens[0].last(),
        };
        assert_eq!(padding, Some(&pad));
    }
    let none = ChatTemplates::from_source("{{ messages[0].content }}{{ messages[-1].content }}");
    let error = none.encode_batch(&chats, &loaded.tokenizer, PaddingSide::Left);
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Tokenizer);
    let bad = [Chat::new(&short), Chat::new(&[])];
    let error = loaded
        .chat
        .encode_batch(&bad, &loaded.tokenizer, PaddingSide::Left);
    assert!(
        error
            .unwrap_err()
            .to_string()
            .starts_with("chat 1 of the batch: ")
    );
}

#[test]
fn templates_are_kept_with_a_model() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("tokenizer_config.json");
    std::fs::write(
        &config,
        r#"{"model_max_length": 5, "bos_token": {"content": "<s>"}, "eos_token": null,
            "extra_special_tokens": {"image_token": "<img>"}, "chat_template": "old"}"#,
    )
    .unwrap();
    let messages = [user("x")];
    let tools = [json!({"name": "f"})];
    let chat = Chat::new(&messages);
    let mut templates = ChatTemplates::from_directory(folder.path()).unwrap();
    assert_eq!(templates.apply(&chat).unwrap().text, "old");
    assert_eq!(templates.names(), Vec::<&str>::new());

    templates.set(
        None,
        "{{ bos_token }}{{ image_token }}{{ eos_token is defined }}",
    );
    templates.set(Some("tool_use"), "{{ tools | length }}\n\n");
    assert_eq!(templates.names(), ["default", "tool_use"]);
    templates.save(folder.path()).unwrap();
    let left: Value = serde_json::from_slice(&std::fs::read(&config).unwrap()).unwrap();
    assert_eq!(left.get("chat_template"), None);
    assert_eq!(left["model_max_length"], 5);
    let additional = folder.path().join("additional_chat_templates");
    assert!(folder.path().join("chat_template.jinja").is_file());
    assert!(additional.join("tool_use.jinja").is_file());

    let read = ChatTemplates::from_directory(folder.path()).unwrap();
    assert_eq!(read.apply(&chat).unwrap().text, "<s><img>False");
    let with_tools = chat.clone().with_tools(&tools);
    assert_eq!(read.apply(&with_tools).unwrap().text, "1\n");
    let named = chat.clone().with_template("tool_use").with_tools(&[]);
    assert_eq!(read.apply(&named).unwrap().text, "0\n");

    // A template that is gone leaves no file behind.
    ChatTemplates::from_source("only")
        .save(folder.path())
        .unwrap();
    assert!(!additional.join("tool_use.jinja").exists());
    let read = ChatTemplates::from_directory(folder.path()).unwrap();
    assert_eq!(read.apply(&chat).unwrap().text, "only");

    let odd = ChatTemplates::from_named([("../evil", "x")]);
    assert_eq!(
        odd.save(folder.path()).unwrap_err().kind(),
        ErrorKind::Config
    );
    let malformed = ChatTemplates::from_json(&json!(5));
    assert_eq!(malformed.unwrap_err().kind(), ErrorKind::Config);
}

#[test]
fn errors_name_the_line() {
    let messages = [user("x")];
    let chat = Chat::new(&messages);
    let message = |source: &str| {
        let template = ChatTemplate::new(source);
        let error = template.and_then(|t| t.render(&chat)).unwrap_err();
        format!("{:?} {:?}: {error}", error.kind(), error.line())
    };
    insta::assert_snapshot!(
        [
            "a\n{% if x %}",
            "a\n\n{{ 'b }}",
            "{% for x in y %}\n{% endif %}",
            "a\n{{ x | nope }}",
            "{# a\ncomment #}\n{{ messages[0].tool_calls[0].name }}",
            "{%- for m in messages -%}\n\n  {{- m.content + 1 -}}\n{%- endfor -%}",
            "{% macro a(x) %}\n{{ x.y.z }}\n{% endmacro %}\n\n{{ a(1) }}",
            "\n{{ raise_exception('Roles must alternate') }}",
            "{{ messages.append(1) }}",
            "{{ 'x' * 99999999999 }}",
            "{% set x = [\n1,\n2] %}\n{{ x.y.z }}",
            "{{ undefined_function(1) }}",
        ]
        .map(message)
        .join("\n")
    );
}

#[test]
fn a_chat_may_bring_variables_and_its_template() {
    let messages = [
        user("x"),
        json!({"role": "assistant", "content": null, "reasoning": "r"}),
    ];
    let mut special = Map::new();
    special.insert("bos_token".into(), "<s>".into());
    let templates = ChatTemplates::none().with_special_tokens(special);
    let error = templates.apply(&Chat::new(&messages)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Chat);
    let chat = Chat::new(&messages)
        .with_template("{# reasoning #}{{ bos_token }}{{ flag }}{{ messages[1] | tojson }}")
        .with_variable("flag", true);
    assert_eq!(
        templates.apply(&chat).unwrap().text,
        r#"<s>True{"thinking": "r", "role": "assistant", "reasoning": "r", "reasoning_content": "r"}"#
    );
    let chat = chat
        .with_variable("bos_token", "!")
        .with_ending(Ending::Continue("reasoning"));
    assert_eq!(
        templates.apply(&chat).unwrap().text,
        r#"!True{"thinking": "rCONTINUE_FINAL_MESSAGE_TAG ", "role": "assistant", "reasoning": "rCONTINUE_FINAL_MESSAGE_TAG ", "reasoning_content": "r"#
    );
}

#[test]
fn a_text_that_begins_with_special_tokens_gets_no_more_of_them() {
    let Some(folder) = std::env::var_os("TOKENMOLD_DATA") else {
        eprintln!("skipped: TOKENMOLD_DATA names no data");
        return;
    };
    let model = std::path::Path::new(&folder).join("tokenizers/llama3_1");
    let templates = ChatTemplates::from_directory(&model).unwrap();
    let json = std::fs::read(model.join("tokenizer.json")).unwrap();
    let tokenizer = tokenmold::tokenizer::Tokenizer::from_json(&json).unwrap();
    let messages = [user("Why is the sea salty?")];
    let chat = Chat::new(&messages).with_ending(Ending::GenerationPrompt);
    let encoded = templates.encode(&chat, &tokenizer).unwrap();
    let begin = tokenizer.token_to_id("<|begin_of_text|>").unwrap();
    assert_eq!(encoded.tokens[0], begin);
    assert_eq!(encoded.tokens.iter().filter(|t| **t == begin).count(), 1);
    // The tokenizer by itself would have put another one before it.
    let doubled = tokenizer
        .encode(&encoded.rendered.text, Surround::Add)
        .unwrap();
    assert_eq!(doubled.len(), encoded.tokens.len() + 1);
}
