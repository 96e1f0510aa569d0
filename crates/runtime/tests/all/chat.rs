//! Chats: which template is taken, chats as tokens.

#![cfg(feature = "embedded")]

use serde_json::{Value, json};
use tokenmold::chat::{Chat, ChatTemplates, Ending, PaddingSide};
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
