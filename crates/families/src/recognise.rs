//! The family of a chat template: by several marks, and never by a guess.
//!
//! For example, `<function=` and `<parameter=` beside `<|im_start|>` are of Qwen3-Coder; `<|im_start|>` alone is of no
//! family, because fifty of them begin a turn with it.

use std::fmt;

use serde::Deserialize;

use crate::Family;

/// Texts that a family's chat templates have, and texts that they do not have.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Marks {
    pub(crate) all: Vec<String>,
    #[serde(default)]
    pub(crate) none: Vec<String>,
}

impl Marks {
    fn fit(&self, chat_template: &str) -> bool {
        let has = |mark: &String| chat_template.contains(mark.as_str());
        self.all.iter().all(has) && !self.none.iter().any(has)
    }
}

impl Family {
    /// The family whose models have this chat template. It is only searched for marks, and need not be complete.
    /// Linear in its length for each family.
    ///
    /// # Errors
    ///
    /// The marks are those of no family, or of several: [`Unrecognised`] names them.
    ///
    /// ```
    /// use families::Family;
    ///
    /// let source = "{% for m in messages %}[INST] {{ m.content }} [/INST]{% endfor %}[TOOL_CALLS][AVAILABLE_TOOLS]";
    /// assert_eq!(Family::of_chat_template(source), Ok(Family::MISTRAL));
    /// assert!(Family::of_chat_template("{{ messages }}").is_err());
    /// ```
    pub fn of_chat_template(chat_template: &str) -> Result<Family, Unrecognised> {
        let fits = |family: &Family| {
            family
                .told()
                .marks
                .iter()
                .any(|marks| marks.fit(chat_template))
        };
        let candidates: Vec<Family> = Family::all().filter(fits).collect();
        match candidates[..] {
            [family] => Ok(family),
            _ => Err(Unrecognised { candidates }),
        }
    }

    /// The marks by which a chat template is recognised as of this family; none where it is not.
    ///
    /// ```
    /// use families::Family;
    ///
    /// let marks = Family::HERMES.marks_in("<|im_start|>user\nHi<|im_end|>");
    /// assert_eq!(marks.unwrap(), ["<|im_start|>", "<|im_end|>"]);
    /// ```
    #[must_use]
    pub fn marks_in(self, chat_template: &str) -> Option<&'static [String]> {
        let marks = &self.told().marks;
        let fitting = marks.iter().find(|marks| marks.fit(chat_template))?;
        Some(&fitting.all)
    }
}

/// A chat template whose marks are those of no family, or of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unrecognised {
    candidates: Vec<Family>,
}

impl Unrecognised {
    /// The families whose marks the chat template has.
    #[must_use]
    pub fn candidates(&self) -> &[Family] {
        &self.candidates
    }
}

impl fmt::Display for Unrecognised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.candidates[..] {
            [] => f.write_str(
                "the chat template has the marks of no family that is known; choose one by name",
            ),
            several => {
                let names: Vec<&str> = several.iter().map(|family| family.name()).collect();
                let names = names.join(", ");
                write!(
                    f,
                    "the chat template has the marks of several families ({names}); choose one by name"
                )
            }
        }
    }
}

impl std::error::Error for Unrecognised {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_family_has_several_marks() {
        for family in Family::all() {
            for marks in &family.told().marks {
                assert!(
                    marks.all.len() > 1,
                    "{family} is recognised by a single mark"
                );
            }
        }
    }

    #[test]
    fn marks_of_one_family_are_not_those_of_another() {
        for family in Family::all() {
            for marks in &family.told().marks {
                let source = marks.all.join("\n");
                assert_eq!(Family::of_chat_template(&source), Ok(family), "{source}");
            }
        }
    }

    /// Chat templates that share a mark with another family's, in a few words.
    #[test]
    fn what_looks_alike_is_told_apart() {
        let chatml = "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>";
        let llama = "<|start_header_id|>{{ m.role }}<|end_header_id|>{{ m.content }}<|eot_id|>";
        let known = [
            ("", chatml, Family::HERMES),
            (
                "{{ tools }}<tool_call>{}</tool_call>",
                chatml,
                Family::HERMES,
            ),
            ("<function=f><parameter=a>", chatml, Family::QWEN3_CODER),
            (
                "<|action_start|><|plugin|>{}<|action_end|>",
                chatml,
                Family::INTERNLM,
            ),
            (
                "<function name=\"f\"><param name=\"a\">",
                chatml,
                Family::MINICPM5,
            ),
            ("You are xLAM. {{ tools }}", chatml, Family::XLAM),
            ("<function=f>{}</function>", llama, Family::FUNCTIONARY),
            (
                "<beginning_of_sentence>ai name=MiniMax AI<end_of_sentence>",
                "<tool_calls>{}</tool_calls>",
                Family::MINIMAX_M1,
            ),
            (
                "<start_of_turn>model<end_of_turn>",
                "[func_name1(params_name1=params_value1)]",
                Family::GEMMA_PYTHONIC,
            ),
            (
                "<|tool_call_start|>[f()]<|tool_call_end|>",
                chatml,
                Family::LFM2,
            ),
            (
                "{{ tools }} [func_name1(params_name1=params_value1)]",
                llama,
                Family::PYTHONIC,
            ),
            ("", llama, Family::LLAMA3),
            (
                "{{ tools }} {\"name\": .., \"parameters\": ..}",
                llama,
                Family::LLAMA3,
            ),
            (
                "<|start_of_role|>assistant<|end_of_role|>",
                "<|tool_call|>[..]",
                Family::GRANITE,
            ),
            (
                "<|start_of_role|>assistant<|end_of_role|>",
                "<tool_call>{}</tool_call>",
                Family::GRANITE4,
            ),
            ("<｜User｜>{{ m }}<｜Assistant｜>", "", Family::DEEPSEEK_V3),
            (
                "<｜User｜>{{ m }}<｜Assistant｜>",
                "<｜DSML｜function_calls>",
                Family::DEEPSEEK_V3_2,
            ),
            (
                "<｜User｜>{{ m }}<｜Assistant｜>",
                "<｜DSML｜tool_calls>",
                Family::DEEPSEEK_V4,
            ),
            (
                "<｜User｜>{{ m }}<｜Assistant｜>",
                "<｜DSML｜ calls>",
                Family::DEEPSEEK_V4_1,
            ),
            (
                "<seed:bos>assistant",
                "<seed:tool_call><function=f><parameter=a>",
                Family::SEED_OSS,
            ),
            (
                "[gMASK]<sop>",
                "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>",
                Family::GLM4,
            ),
            (
                "[gMASK]<sop>",
                "<tool_call>f<arg_key>a</arg_key><arg_value>",
                Family::GLM4_7,
            ),
            (
                "<role>ASSISTANT</role>",
                "<arg_key>a</arg_key><arg_value>",
                Family::LING3,
            ),
            (
                "<assistant>",
                "<arg_key>a</arg_key>\n<arg_value>",
                Family::LAGUNA,
            ),
            (
                "<start_of_turn>model",
                "<start_function_call>call:f{}",
                Family::FUNCTIONGEMMA,
            ),
            (
                "<functions>{{ tools }}</functions>",
                "<|im_start|><|im_end|><function_calls>f()</function_calls>",
                Family::OLMO3,
            ),
            (
                "<|assistant_start|>{{ m }}<|assistant_end|>",
                "<|tools_prefix|>[{}]<|tools_suffix|>",
                Family::APERTUS,
            ),
        ];
        for (before, behind, family) in known {
            let source = format!("{before} {behind}");
            assert_eq!(Family::of_chat_template(&source), Ok(family), "{source}");
        }
        let unknown = [
            // MiniCPM3 and MiroThinker call tools in forms of their own.
            ("<|thought_start|>{{ tools }}<|thought_end|>", chatml),
            ("<use_mcp_tool> <tool_call>{}</tool_call>", chatml),
            ("{{ tools }} in a form that nobody knows", chatml),
            ("<function_calls>f()</function_calls>", chatml),
            // functionary 3.2, firefunction.
            (">>>all {{ tools }}", llama),
            (" functools[{}]", llama),
            // A model of Cohere's without calls.
            (
                "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
                "<|START_RESPONSE|>",
            ),
            ("<|user|>{{ m }}", "<arg_key>a</arg_key><arg_value>"),
        ];
        for (before, behind) in unknown {
            let source = format!("{before} {behind}");
            let found = Family::of_chat_template(&source);
            let error = found.expect_err(&source).to_string();
            assert!(error.contains("choose one by name"), "{source}: {error}");
        }
    }
}
