//! The models that presets know, and how they write.

/// How a model writes.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) name: &'static str,
    /// The marks of reasoning; none for a model that does not reason.
    pub(super) think: Option<(&'static str, &'static str)>,
    /// Whether the prompt has begun the reasoning where it is enabled.
    pub(super) is_begun: bool,
    /// Whether a blank line follows the reasoning.
    pub(super) blank_line: bool,
    /// Whether reasoning that is enabled may hold anything but its end.
    pub(super) is_bare: bool,
    /// What text may not have around calls.
    pub(super) closed: &'static [&'static str],
    /// What it may not have where no call may come, and in reasoning, before and behind the
    /// others.
    pub(super) closed_without_calls: (&'static [&'static str], &'static [&'static str]),
    /// Whether that holds in reasoning, too.
    pub(super) closes_reasoning: bool,
    pub(super) style: &'static str,
    /// Before the name of a tool, behind it, and behind the arguments.
    pub(super) call: [&'static str; 3],
    pub(super) calls: Calls,
}

/// How calls stand together.
#[derive(Debug)]
pub(super) enum Calls {
    /// Each alone.
    Each {
        trigger: &'static str,
    },
    /// All between two marks.
    Wrapped {
        trigger: &'static str,
        begin: &'static str,
        end: &'static str,
        separator: &'static str,
        must: Must,
    },
    Harmony,
    KimiK3,
}

/// How calls that must come are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Must {
    /// The marks are one tag with the only call.
    Joined,
    /// The marks are a tag around the calls.
    Nested,
    /// The marks are texts, with another before them.
    Texts(&'static str),
}

pub(super) const THINK: &[&str] = &["<think>", "</think>"];

pub(super) const PLAIN: Model = Model {
    name: "",
    think: Some(("<think>", "</think>")),
    is_begun: true,
    blank_line: false,
    is_bare: false,
    closed: THINK,
    closed_without_calls: (&[], &[]),
    closes_reasoning: true,
    style: "json",
    call: ["", "", ""],
    calls: Calls::Harmony,
};

pub(super) const QWEN_CODER: Model = Model {
    blank_line: true,
    style: "qwen_xml",
    call: [
        "<tool_call>\n<function=",
        ">\n",
        "\n</function>\n</tool_call>",
    ],
    calls: Calls::Each {
        trigger: "<tool_call>\n<function=",
    },
    ..PLAIN
};

pub(super) const DSML: Model = Model {
    style: "deepseek_xml",
    call: ["<｜DSML｜invoke name=\"", "\">\n", "</｜DSML｜invoke>\n"],
    ..PLAIN
};

pub(super) static MODELS: [Model; 18] = [
    Model {
        name: "llama",
        think: None,
        call: ["{\"name\": \"", "\", \"parameters\": ", "}"],
        calls: Calls::Each {
            trigger: "{\"name\": ",
        },
        ..PLAIN
    },
    Model {
        name: "qwen_3",
        blank_line: true,
        call: [
            "<tool_call>\n{\"name\": \"",
            "\", \"arguments\": ",
            "}\n</tool_call>",
        ],
        calls: Calls::Each {
            trigger: "<tool_call>",
        },
        ..PLAIN
    },
    Model {
        name: "qwen_3_coder",
        ..QWEN_CODER
    },
    Model {
        name: "qwen_3_5",
        ..QWEN_CODER
    },
    Model {
        name: "exaone",
        blank_line: true,
        is_bare: true,
        call: [
            "<tool_call>{\"name\": \"",
            "\", \"arguments\": ",
            "}</tool_call>",
        ],
        calls: Calls::Each {
            trigger: "<tool_call>",
        },
        ..PLAIN
    },
    Model {
        name: "mimo",
        is_begun: false,
        closed: &["<think>", "</think>", "</tool_call>", "<function="],
        closed_without_calls: (&["<tool_call>"], &[]),
        style: "qwen_xml",
        call: ["<tool_call><function=", ">", "</function></tool_call>"],
        calls: Calls::Each {
            trigger: "<tool_call>",
        },
        ..PLAIN
    },
    Model {
        name: "glm_4_7",
        closed: &[
            "<think>",
            "</think>",
            "</tool_call>",
            "<arg_key>",
            "</arg_key>",
            "<arg_value>",
            "</arg_value>",
        ],
        // Written behind the two marks of reasoning, see `closed_texts`.
        closed_without_calls: (&[], &["<tool_call>"]),
        style: "glm_xml",
        call: ["<tool_call>", "", "</tool_call>"],
        calls: Calls::Each {
            trigger: "<tool_call>",
        },
        ..PLAIN
    },
    Model {
        name: "kimi",
        is_bare: true,
        closed: &["<think>", "</think>", "<|tool_call_begin|>"],
        closes_reasoning: false,
        call: ["<|tool_call_begin|>functions.", ":", "<|tool_call_end|>"],
        calls: Calls::Wrapped {
            trigger: "<|tool_calls_section_begin|>",
            begin: "<|tool_calls_section_begin|>",
            end: "<|tool_calls_section_end|>",
            separator: "",
            must: Must::Texts(""),
        },
        ..PLAIN
    },
    Model {
        name: "kimi_k3",
        think: Some(("<|open|>think<|sep|>", "<|close|>think<|sep|>")),
        closed: &["<|open|>", "<|close|>"],
        style: "kimi_k3_xml",
        call: [
            "<|open|>call tool=\"",
            "\" index=\"",
            "<|close|>call<|sep|>",
        ],
        calls: Calls::KimiK3,
        ..PLAIN
    },
    Model {
        name: "deepseek_r1",
        call: [
            "<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
            "\n```json\n",
            "\n```<｜tool▁call▁end｜>",
        ],
        calls: Calls::Wrapped {
            trigger: "<｜tool▁calls▁begin｜>",
            begin: "<｜tool▁calls▁begin｜>",
            end: "<｜tool▁calls▁end｜>",
            separator: "\n",
            must: Must::Joined,
        },
        ..PLAIN
    },
    Model {
        name: "deepseek_v3_1",
        call: [
            "<｜tool▁call▁begin｜>",
            "<｜tool▁sep｜>",
            "<｜tool▁call▁end｜>",
        ],
        calls: Calls::Wrapped {
            trigger: "<｜tool▁calls▁begin｜>",
            begin: "<｜tool▁calls▁begin｜>",
            end: "<｜tool▁calls▁end｜>",
            separator: "",
            must: Must::Joined,
        },
        ..PLAIN
    },
    Model {
        name: "deepseek_v3_2",
        calls: Calls::Wrapped {
            trigger: "<｜DSML｜function_calls>",
            begin: "<｜DSML｜function_calls>\n",
            end: "</｜DSML｜function_calls>",
            separator: "",
            must: Must::Texts("\n\n"),
        },
        ..DSML
    },
    Model {
        name: "deepseek_v4",
        calls: Calls::Wrapped {
            trigger: "<｜DSML｜tool_calls>",
            begin: "<｜DSML｜tool_calls>\n",
            end: "</｜DSML｜tool_calls>",
            separator: "",
            must: Must::Texts("\n\n"),
        },
        ..DSML
    },
    Model {
        name: "deepseek_v4_1",
        closed_without_calls: (&[], &["<｜DSML｜ calls>"]),
        closes_reasoning: false,
        style: "deepseek_v4_1_xml",
        call: ["<｜DSML｜ invoke name=\"", "\">\n", "</｜DSML｜ invoke>\n"],
        calls: Calls::Wrapped {
            trigger: "<｜DSML｜ calls>",
            begin: "<｜DSML｜ calls>\n",
            end: "</｜DSML｜ calls>",
            separator: "",
            must: Must::Texts("\n\n"),
        },
        ..PLAIN
    },
    Model {
        name: "minimax",
        blank_line: true,
        is_bare: true,
        style: "minimax_xml",
        call: ["<invoke name=\"", "\">\n", "</invoke>\n"],
        calls: Calls::Wrapped {
            trigger: "<minimax:tool_call>",
            begin: "<minimax:tool_call>\n",
            end: "</minimax:tool_call>",
            separator: "",
            must: Must::Texts("\n"),
        },
        ..PLAIN
    },
    Model {
        name: "minimax_m3",
        think: Some(("<mm:think>", "</mm:think>")),
        closed: &[
            "<mm:think>",
            "</mm:think>",
            "]<]minimax[>[</tool_call>",
            "]<]minimax[>[<invoke",
            "]<]minimax[>[</invoke>",
        ],
        closed_without_calls: (&["]<]minimax[>[<tool_call>"], &[]),
        style: "minimax_m3_xml",
        call: [
            "]<]minimax[>[<invoke name=\"",
            "\">",
            "]<]minimax[>[</invoke>\n",
        ],
        calls: Calls::Wrapped {
            trigger: "]<]minimax[>[<tool_call>",
            begin: "]<]minimax[>[<tool_call>\n",
            end: "]<]minimax[>[</tool_call>",
            separator: "",
            must: Must::Nested,
        },
        ..PLAIN
    },
    Model {
        name: "cohere",
        think: Some(("<|START_THINKING|>", "<|END_THINKING|>")),
        is_bare: true,
        closed: &["<|START_THINKING|>", "<|END_THINKING|>"],
        style: "cohere_xml",
        call: ["<cofl:tool_call id=\"", "\" name=\"", "</cofl:tool_call>"],
        calls: Calls::Wrapped {
            trigger: "<cofl:tool_calls>",
            begin: "<cofl:tool_calls>",
            end: "</cofl:tool_calls>",
            separator: "",
            must: Must::Texts(""),
        },
        ..PLAIN
    },
    Model {
        name: "harmony",
        think: None,
        closed: &[],
        ..PLAIN
    },
];
