//! The tree of a template, for example a loop with its body.

use std::sync::Arc;

/// A name, as an index into [`Tree::names`].
pub(crate) type Name = u32;

/// A template.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) body: Body,
    pub(crate) names: Vec<Arc<str>>,
}

pub(crate) type Body = Vec<Statement>;

/// A tag, or text between tags, and the line it begins in.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) line: usize,
    pub(crate) kind: StatementKind,
}

#[derive(Debug)]
pub(crate) enum StatementKind {
    Data(Arc<str>),
    Print(Expression),
    If {
        branches: Vec<(Expression, Body)>,
        otherwise: Body,
    },
    For(Arc<For>),
    Set(Target, Expression),
    /// `set` of what a body prints, [`Expression::Captured`] in the value.
    SetBlock {
        target: Target,
        value: Expression,
        body: Body,
    },
    Macro(Name, Arc<Macro>),
    /// A call with a body, which is its `caller`.
    CallBlock {
        caller: Arc<Macro>,
        callee: Expression,
        arguments: Vec<Argument>,
    },
    /// Prints [`Expression::Captured`] with what is done to it.
    Filter {
        value: Expression,
        body: Body,
    },
    With {
        values: Vec<(Target, Expression)>,
        body: Body,
    },
    /// Text of the model.
    Generation(Body),
    Break,
    Continue,
    /// A tag that would read another template.
    Load(Arc<str>),
}

#[derive(Debug)]
pub(crate) struct For {
    pub(crate) target: Target,
    pub(crate) iterated: Expression,
    pub(crate) condition: Option<Expression>,
    pub(crate) recursive: bool,
    /// True if the name `loop` is in it.
    pub(crate) says_loop: bool,
    pub(crate) body: Body,
    pub(crate) otherwise: Body,
}

/// A macro, or the body of a call block.
#[derive(Debug)]
pub(crate) struct Macro {
    pub(crate) label: Arc<str>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) body: Body,
    /// The names of what else it takes, where its body speaks of that.
    pub(crate) varargs: Option<Name>,
    pub(crate) kwargs: Option<Name>,
    pub(crate) caller: Option<Name>,
}

#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) name: Name,
    pub(crate) label: Arc<str>,
    pub(crate) default: Option<Expression>,
}

/// The target of an assignment.
#[derive(Debug)]
pub(crate) enum Target {
    Name(Name),
    Attribute(Name, Arc<str>),
    Tuple(Vec<Target>),
}

/// An argument of a call.
#[derive(Debug)]
pub(crate) enum Argument {
    Place(Expression),
    Named(Arc<str>, Expression),
    /// `*items`
    Items(Expression),
    /// `**entries`
    Entries(Expression),
}

/// An operator between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Modulo,
    Power,
}

/// The comparison of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
}

#[derive(Debug)]
pub(crate) enum Expression {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(Arc<str>),
    Name(Name),
    /// The text that the body of the tag printed.
    Captured,
    List(Vec<Expression>),
    Tuple(Vec<Expression>),
    Dict(Vec<(Expression, Expression)>),
    /// Operators of one precedence, from the left.
    Operators(Box<Expression>, Vec<(Operator, Expression)>),
    /// `~` between all of them.
    Concatenation(Vec<Expression>),
    Negative(Box<Expression>),
    Positive(Box<Expression>),
    Not(Box<Expression>),
    And(Vec<Expression>),
    Or(Vec<Expression>),
    Comparisons(Box<Expression>, Vec<(Comparison, Expression)>),
    Conditional(Box<Conditional>),
    Attribute(Box<Expression>, Arc<str>),
    Item(Box<(Expression, Expression)>),
    Slice(Box<(Expression, [Option<Expression>; 3])>),
    Call(Box<Expression>, Vec<Argument>),
    Filter(Box<Expression>, Arc<str>, Vec<Argument>),
    Test(Box<Expression>, Arc<str>, Vec<Argument>),
}

#[derive(Debug)]
pub(crate) struct Conditional {
    pub(crate) test: Expression,
    pub(crate) then: Expression,
    pub(crate) otherwise: Option<Expression>,
}

impl Tree {
    /// Returns the text that an author wrote for a value, for messages.
    pub(crate) fn source(&self, expression: &Expression) -> String {
        let mut text = match expression {
            Expression::Name(name) => self.name(*name).to_string(),
            Expression::Attribute(of, name) => format!("{}.{name}", self.source(of)),
            Expression::Item(parts) => {
                let key = match &parts.1 {
                    Expression::Text(text) if text.len() <= 40 => format!("'{text}'"),
                    Expression::Int(number) => number.to_string(),
                    Expression::Name(name) => self.name(*name).to_string(),
                    _ => "...".to_owned(),
                };
                format!("{}[{key}]", self.source(&parts.0))
            }
            _ => "the value".to_owned(),
        };
        if text.len() > 60 {
            // Messages stay short.
            text = "the value".to_owned();
        }
        text
    }

    pub(crate) fn name(&self, name: Name) -> &Arc<str> {
        &self.names[name as usize]
    }
}
