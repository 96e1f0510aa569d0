//! The calls of an answer in a family's format.
//!
//! For example, a call of Hermes is `<tool_call>`, an object with `name` and `arguments`, and
//! `</tool_call>`.

use families::{Body, CallObject, Calls, Content as Said, Each, Form, Order};
use serde_json::Value;

use super::build::Node;
use super::loose::{Loose, Notation};
use super::orders::Orders;
use super::response::{Opening, ResponseFormat};
use super::spelled::{ToolSpec, not_a_call, of_tool, spell};
use super::whole::Whole;
use super::{Count, compile_schema, escape};
use crate::{Error, ErrorKind};

impl ResponseFormat {
    /// All calls of a turn, and the content that belongs to them alone.
    pub(super) fn calls(&self, closed: &[String], rules: &mut Vec<Node>) -> Result<Node, Error> {
        if self.tools.is_empty() {
            return Err(Error::new(
                ErrorKind::Tool,
                "calls are asked for, and there is no tool to call",
            ));
        }
        match &self.shape.writes.calls {
            Calls::Refused(why) => Err(self.refused(format!("its calls cannot be bound: {why}"))),
            Calls::Each(each) => self.each(each, closed, rules),
            Calls::List { open, close, call } => {
                let mut markers = match close.is_empty() {
                    true => closed.to_vec(),
                    false => vec![close.clone()],
                };
                markers.retain(|marker| !marker.is_empty());
                let (least, most) = (self.calls.least.max(1), self.calls.most);
                let tools = self.tools.iter();
                let one = tools
                    .map(|tool| self.object(call, tool, &markers))
                    .collect::<Result<_, _>>()
                    .map(Node::Alt)?;
                let more = Node::Seq(vec![Node::regex(",[ \n]{0,8}")?, one.clone()]);
                Ok(Node::Seq(vec![
                    Node::marker(open),
                    Node::regex("[ \n]?\\[[ \n]{0,8}")?,
                    one,
                    Node::Repeat(Box::new(more), least - 1, most.map(|most| most - 1)),
                    Node::regex("[ \n]{0,8}\\][ \n]?")?,
                    Node::marker(close),
                ]))
            }
        }
    }

    /// Calls one after another, with the content before and behind them that depends on
    /// there being calls.
    fn each(&self, each: &Each, closed: &[String], rules: &mut Vec<Node>) -> Result<Node, Error> {
        let Count { least, most } = self.calls;
        let most = match (each.most, most) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let least = least.max(1);
        if most.is_some_and(|most| least > most) {
            return Err(self.refused(format!(
                "it has one call in a turn, and {least} are asked for"
            )));
        }
        let orders = Orders::new(self.tools.len());
        let mut with_forms = |forms: &[&Form]| {
            let mut ways = Vec::new();
            for tool in &self.tools {
                for form in forms {
                    ways.push(self.call(each, form, tool, &orders, rules)?);
                }
            }
            let call = Node::Alt(ways);
            let mut more = vec![spell(&each.separator, &[])?, call.clone()];
            let more = match most {
                Some(1) => Node::text(""),
                _ => Node::Repeat(
                    Box::new(Node::Seq(std::mem::take(&mut more))),
                    least - 1,
                    most.map(|most| most - 1),
                ),
            };
            let (open, close) = &each.section;
            Ok::<Node, Error>(Node::Seq(vec![
                spell(open, &[])?,
                call,
                more,
                spell(close, &[])?,
                self.behind(each, closed)?,
            ]))
        };
        let all: Vec<&Form> = each.forms.iter().collect();
        let calls = with_forms(&all)?;
        if self.calls_alone() {
            return Ok(match (&each.preamble, self.opening) {
                (Some((open, close)), Opening::Content) => {
                    Node::Seq(vec![self.message(open, Node::text(""), close)?, calls])
                }
                _ => calls,
            });
        }
        if let Some(call) = &each.alone {
            let is_marked = |form: &&Form| !form.open.beginnings().is_empty();
            let marked: Vec<&Form> = each.forms.iter().filter(is_marked).collect();
            if marked.is_empty() {
                return Ok(calls);
            }
            let before = not_a_call(call, closed)?;
            return Ok(Node::Alt(vec![
                calls,
                Node::Seq(vec![before, with_forms(&marked)?]),
            ]));
        }
        Ok(match &each.preamble {
            None => calls,
            Some((open, close)) => {
                let mut markers = closed.to_vec();
                markers.extend(close.beginnings());
                let message = self.message(open, Node::Free(markers, None), close)?;
                match self.opening {
                    Opening::Content => Node::Seq(vec![message, calls]),
                    _ => Node::Seq(vec![Node::optional(message), calls]),
                }
            }
        })
    }

    /// The end of a turn behind calls.
    fn behind(&self, each: &Each, closed: &[String]) -> Result<Node, Error> {
        let last = spell(&each.last, &[])?;
        let last = match last {
            Node::Marker(text) if text.is_empty() => Node::Marker(text),
            last => Node::optional(last),
        };
        let (Some(behind), false) = (&each.behind, self.calls_alone()) else {
            return Ok(last);
        };
        let content = match &self.shape.writes.content {
            None => return Ok(last),
            Some(Said::Bare) => Node::Free(closed.to_vec(), None),
            Some(Said::Between(open, close)) => Node::Seq(vec![
                spell(open, &[])?,
                Node::Free(closed.to_vec(), None),
                spell(close, &[])?,
            ]),
        };
        let more = Node::Seq(vec![spell(behind, &[])?, content]);
        Ok(Node::Alt(vec![last, more]))
    }

    /// One call of a tool.
    fn call(
        &self,
        each: &Each,
        form: &Form,
        tool: &ToolSpec,
        orders: &Orders,
        rules: &mut Vec<Node>,
    ) -> Result<Node, Error> {
        let named = [("{name}", tool.name.as_str())];
        let body = match &form.body {
            Body::Object(object) => self.object(object, tool, &each.closes)?,
            Body::Arguments => self.arguments(tool, &each.closes)?,
            Body::Loose(open, close) => {
                let whole = Whole {
                    schema: &tool.parameters,
                    options: &self.options,
                };
                let notation = Notation::Bare(open, close);
                let loose = Loose::new(notation, &each.closes, whole, orders);
                let arguments = loose.arguments(rules);
                arguments.map_err(|error| of_tool(tool, error))?
            }
            Body::OneByOne(argument) => {
                self.one_by_one(tool, argument, &each.closes, orders, rules)?
            }
        };
        Ok(Node::Seq(vec![
            spell(&form.open, &named)?,
            body,
            spell(&form.close, &named)?,
        ]))
    }

    /// A call as an object of JSON.
    fn object(
        &self,
        keys: &CallObject,
        tool: &ToolSpec,
        markers: &[String],
    ) -> Result<Node, Error> {
        let mut head = "\\{".to_owned();
        for (key, value) in &keys.constants {
            let (key, value) = (quoted(key), quoted(value));
            head.push_str(&format!("(?:{key}: ?{value}, ?)?"));
        }
        if let Some(id) = &keys.id {
            head.push_str(&format!("{}: ?\"[0-9]{{1,4}}\", ?", quoted(id)));
        }
        let name = format!("{}: ?{}", quoted(&keys.name), quoted(&tool.name));
        let arguments: Vec<String> = keys.arguments.iter().map(|key| quoted(key)).collect();
        let arguments = format!("(?:{}): ?", arguments.join("|"));
        let name_first = Node::Seq(vec![
            Node::regex(&format!("{head}{name}, ?{arguments}"))?,
            self.arguments(tool, markers)?,
            Node::text("}"),
        ]);
        if keys.order == Order::NameFirst {
            return Ok(name_first);
        }
        let name_last = Node::Seq(vec![
            Node::regex(&format!("{head}{arguments}"))?,
            self.arguments(tool, markers)?,
            Node::regex(&format!(", ?{name}\\}}"))?,
        ]);
        Ok(Node::Alt(vec![name_first, name_last]))
    }

    fn arguments(&self, tool: &ToolSpec, markers: &[String]) -> Result<Node, Error> {
        let automaton = compile_schema(&tool.parameters, &self.options)
            .map_err(|error| of_tool(tool, error))?;
        Ok(Node::Json(automaton.into(), markers.to_vec()))
    }
}

/// A string of JSON as a regular expression.
fn quoted(text: &str) -> String {
    escape(&Value::from(text).to_string())
}
