//! Parameters of rules: those of templates, as the `lark` package has them, and numbers, as llguidance
//! has them. For example, `sep{item, ","}` and `list::incr([0:3])`.

use super::{LarkParser, space};
use crate::dialects::ast::{Arguments, Expr};
use crate::dialects::numbers::{BitRange, Comparison, Condition, RuleNumber};
use crate::error::Error;
use crate::patterns::Reading;

/// The error about templates elsewhere: one text, because definitions and uses meet it alike.
const NO_TEMPLATES: &str =
    "templates are of the dialect `lark-splits`: write the rule out for each argument";
/// The error about numbers elsewhere, for the same reason: one text, because both meet it.
const NO_NUMBERS: &str =
    "parametric rules `::` are of the dialect `lark`: write each case out, or use `%json`";

impl LarkParser<'_> {
    /// Reads the names of a template's parameters, from the brace on.
    pub(super) fn parameters(&mut self) -> Result<Vec<String>, Error> {
        let at = self.r.at;
        if self.reading != Reading::Splits {
            return self.r.refuse(at, NO_TEMPLATES);
        }
        self.r.next();
        let mut names: Vec<String> = Vec::new();
        loop {
            space(&mut self.r, true);
            let here = self.r.at;
            let Some(name) = self.name() else {
                return self.r.expected("the name of a parameter");
            };
            if names.contains(&name) {
                return self
                    .r
                    .fail_at(here, format!("the parameter `{name}` is named twice"));
            }
            names.push(name);
            space(&mut self.r, true);
            if self.r.ends("}")? {
                return Ok(names);
            }
        }
    }

    /// Reads the `::_` of a parametric rule.
    pub(super) fn own_number(&mut self) -> Result<(), Error> {
        let at = self.r.at;
        if self.reading != Reading::Greedy {
            return self.r.refuse(at, NO_NUMBERS);
        }
        self.r.need("::")?;
        self.space(false);
        self.r.need("_")?;
        self.space(false);
        Ok(())
    }

    /// Reads the arguments behind a name, if there are some.
    pub(super) fn arguments(&mut self) -> Result<Option<Arguments>, Error> {
        let at = self.r.at;
        if self.r.rest().starts_with("::") {
            if self.reading != Reading::Greedy {
                return self.r.refuse(at, NO_NUMBERS);
            }
            self.r.need("::")?;
            return self.number().map(|number| Some(Arguments::Number(number)));
        }
        // A brace with a count is a repetition.
        let is_part = |c: char| c.is_ascii_alphabetic() || matches!(c, '"' | '_' | '/');
        if !self
            .r
            .rest()
            .strip_prefix('{')
            .is_some_and(|rest| rest.trim_start().starts_with(is_part))
        {
            return Ok(None);
        }
        if self.reading != Reading::Splits {
            return self.r.refuse(at, NO_TEMPLATES);
        }
        self.r.enter()?;
        self.r.next();
        let mut given: Vec<Expr> = Vec::new();
        loop {
            space(&mut self.r, true);
            given.push(self.atom(false)?);
            space(&mut self.r, true);
            if self.r.ends("}")? {
                self.r.leave();
                return Ok(Some(Arguments::Given(given)));
            }
        }
    }

    /// Reads a number that a rule is used with.
    fn number(&mut self) -> Result<RuleNumber, Error> {
        let at = self.r.at;
        if self.r.peek().is_some_and(|c| c.is_ascii_digit()) {
            return self.literal().map(RuleNumber::Literal);
        }
        let name = self.word();
        if name == "_" {
            return Ok(RuleNumber::Own);
        }
        self.open(&name)?;
        let number = match name.as_str() {
            "set_bit" => RuleNumber::Or(1 << self.bit()?),
            "clear_bit" => RuleNumber::And(!(1 << self.bit()?)),
            "bit_and" => RuleNumber::And(self.literal()?),
            "bit_or" => RuleNumber::Or(self.literal()?),
            "incr" => RuleNumber::Next(self.bits()?),
            "decr" => RuleNumber::Previous(self.bits()?),
            _ => {
                return self.r.fail_at(at, format!(
                    "`{name}` makes no number: there are `_`, `set_bit`, `clear_bit`, `bit_and`, `bit_or`, `incr` and `decr`"
                ));
            }
        };
        self.close()?;
        Ok(number)
    }

    /// Reads a condition, from its `%if` on.
    pub(super) fn condition(&mut self) -> Result<Condition, Error> {
        let at = self.r.at;
        if self.reading != Reading::Greedy {
            return self.r.refuse(
                at,
                "conditions `%if` are of the dialect `lark`: write each case out, or use `%json`",
            );
        }
        self.r.need("%if")?;
        self.space(false);
        self.one_condition()
    }

    fn one_condition(&mut self) -> Result<Condition, Error> {
        self.r.enter()?;
        let at = self.r.at;
        let name = self.word();
        if name == "true" && !self.r.rest().starts_with('(') {
            self.r.leave();
            return Ok(Condition::Always);
        }
        self.open(&name)?;
        let compared = name.strip_prefix("bit_count_").unwrap_or(&name);
        let condition = match (name.as_str(), Comparison::named(compared)) {
            (_, Some(how)) => {
                let bits = self.bits()?;
                self.comma()?;
                let other = self.literal()?;
                match compared.len() == name.len() {
                    true => Condition::Bits(bits, how, other),
                    false => Condition::Count(bits, how, other),
                }
            }
            ("true", _) => Condition::Always,
            ("bit_clear", _) => Condition::zeros(self.one_bit()?),
            ("bit_set", _) => Condition::ones(self.one_bit()?),
            ("is_ones", _) => Condition::ones(self.bits()?),
            ("is_zeros", _) => Condition::zeros(self.bits()?),
            ("and" | "or", _) => {
                let first = self.one_condition()?;
                self.comma()?;
                let both = vec![first, self.one_condition()?];
                match name.as_str() {
                    "and" => Condition::All(both),
                    _ => Condition::Any(both),
                }
            }
            ("not", _) => Condition::Not(Box::new(self.one_condition()?)),
            _ => return self.r.fail_at(at, format!(
                "`{name}` is no condition: there are `true`, `bit_clear`, `bit_set`, `is_ones`, `is_zeros`, `eq`, `ne`, `lt`, `le`, `gt`, `ge`, the same behind `bit_count_`, `and`, `or` and `not`"
            )),
        };
        self.close()?;
        self.r.leave();
        Ok(condition)
    }

    fn word(&mut self) -> String {
        self.r
            .take_while(|c| c.is_ascii_alphanumeric() || c == '_')
            .to_owned()
    }

    fn open(&mut self, name: &str) -> Result<(), Error> {
        if !self.r.take("(") {
            return self.r.expected(&format!("`(` behind `{name}`"));
        }
        space(&mut self.r, true);
        Ok(())
    }

    fn comma(&mut self) -> Result<(), Error> {
        space(&mut self.r, true);
        self.r.need(",")?;
        space(&mut self.r, true);
        Ok(())
    }

    fn close(&mut self) -> Result<(), Error> {
        space(&mut self.r, true);
        self.r.need(")")
    }

    /// Reads a number of 64 bits, decimal or hexadecimal.
    fn literal(&mut self) -> Result<u64, Error> {
        let at = self.r.at;
        let word = self.word();
        let number = match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => word.parse(),
        };
        number.map_err(|_| {
            self.r
                .error_at(at, "expected a number of 64 bits, such as `20` or `0x3f`")
        })
    }

    /// Reads the number of a bit.
    fn bit(&mut self) -> Result<u32, Error> {
        let at = self.r.at;
        match self.r.count()? {
            bit if bit < 64 => Ok(bit),
            bit => self.r.fail_at(
                at,
                format!("there is no bit {bit}: a parameter has bits 0 to 63"),
            ),
        }
    }

    fn one_bit(&mut self) -> Result<BitRange, Error> {
        let at = self.r.at;
        let bit = self.bit()?;
        BitRange::new(bit, bit + 1).ok_or_else(|| self.r.error_at(at, "expected a bit"))
    }

    /// Reads a range of bits: `[x:y]`, or `_` for all of them.
    fn bits(&mut self) -> Result<BitRange, Error> {
        let at = self.r.at;
        if self.r.take("_") {
            return Ok(BitRange::ALL);
        }
        self.r.need("[")?;
        space(&mut self.r, true);
        let from = self.r.count()?;
        space(&mut self.r, true);
        self.r.need(":")?;
        space(&mut self.r, true);
        let to = self.r.count()?;
        space(&mut self.r, true);
        self.r.need("]")?;
        BitRange::new(from, to).ok_or_else(|| {
            self.r.error_at(
                at,
                format!("`[{from}:{to}]` is no range of bits: it has one at least, of 64"),
            )
        })
    }
}
