//! Words to an expression. Operators bind as in yaql: members first, then indexes, signs, matching,
//! products, sums, comparisons, `not`, `and`, `or`, and `->` last.

use std::sync::Arc;

use super::DEPTH_MAX;
use super::expression::{Expression, Operation};
use super::failure;
use super::lexer::{Lexer, Token, Word};
use crate::template::error::{Outcome, TemplateError};
use crate::template::python;

/// How tightly an operator between two values binds, and whether its right side goes first.
fn binding(operator: &str) -> Option<(u8, bool)> {
    Some(match operator {
        "." | "?." => (11, false),
        "=~" | "!~" => (8, false),
        "*" | "/" | "mod" => (7, false),
        "+" | "-" => (6, false),
        ">" | "<" | ">=" | "<=" | "!=" | "=" | "in" => (5, false),
        "and" => (3, false),
        "or" => (2, false),
        "->" => (1, true),
        _ => return None,
    })
}

const INDEX_BINDING: u8 = 10;

/// How tightly an operator before a value binds.
fn prefix_binding(operator: &str) -> Option<u8> {
    match operator {
        "+" | "-" => Some(9),
        "not" => Some(4),
        _ => None,
    }
}

/// Parses a text.
pub(super) fn parse(text: &str) -> Outcome<Arc<Expression>> {
    let mut lexer = Lexer::new(text);
    let next = lexer.next()?;
    let mut parser = Parser { text, lexer, next, depth: 0 };
    let (expression, _) = parser.expression(0)?;
    match parser.next {
        None => Ok(expression),
        Some(_) => Err(parser.unexpected()),
    }
}

struct Parser<'a> {
    text: &'a str,
    lexer: Lexer,
    next: Option<Token>,
    depth: usize,
}

/// An expression with the depth of its tree.
type Parsed = (Arc<Expression>, usize);

impl Parser<'_> {
    fn advance(&mut self) -> Outcome<Option<Token>> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.next, next))
    }

    fn is_mark(&self, mark: char) -> bool {
        matches!(&self.next, Some(Token { word: Word::Mark(c), .. }) if *c == mark)
    }

    fn expect(&mut self, mark: char) -> Outcome<()> {
        if !self.is_mark(mark) {
            return Err(self.unexpected());
        }
        self.advance()?;
        Ok(())
    }

    fn unexpected(&self) -> TemplateError {
        let message = match &self.next {
            None => "Parse error: unexpected end of statement".to_owned(),
            Some(token) => format!(
                "Parse error: unexpected '{}' at position {} of expression '{}'",
                shown(&token.word),
                token.at,
                self.text
            ),
        };
        TemplateError::new(failure::GRAMMAR, message)
    }

    /// An expression of operators that bind at least this tightly.
    fn expression(&mut self, weakest: u8) -> Outcome<Parsed> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(failure::depth());
        }
        let mut left = self.prefixed()?;
        while let Some(binds) = self.next_binding()
            && binds.0 >= weakest
        {
            left = self.suffix(left, binds)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    /// How the next word binds to what stands before it, if it does.
    fn next_binding(&self) -> Option<(u8, bool)> {
        match self.next.as_ref()?.word {
            Word::Mark('[') => Some((INDEX_BINDING, false)),
            Word::Operator(operator) => binding(operator),
            _ => None,
        }
    }

    /// An operator, or an index, with what stands before and behind it.
    fn suffix(&mut self, left: Parsed, (binds, rightwards): (u8, bool)) -> Outcome<Parsed> {
        let Some(Token { word: Word::Operator(operator), .. }) = self.advance()? else {
            let (args, depth) = self.arguments(']')?;
            let args = [vec![Some(left.0)], args].concat();
            return operation("#indexer", args, left.1.max(depth));
        };
        let right = self.expression(if rightwards { binds } else { binds + 1 })?;
        between(operator, left, right)
    }

    fn prefixed(&mut self) -> Outcome<Parsed> {
        let Some(Token { word: Word::Operator(operator), .. }) = self.next else {
            return self.primary();
        };
        let Some(binds) = prefix_binding(operator) else { return Err(self.unexpected()) };
        self.advance()?;
        let (operand, depth) = self.expression(binds)?;
        operation(&format!("#unary_operator_{operator}"), vec![Some(operand)], depth)
    }

    fn primary(&mut self) -> Outcome<Parsed> {
        let starts_value = match &self.next {
            Some(token) => !matches!(token.word, Word::Arrow | Word::Mark(')' | ']' | '}' | ',')),
            None => false,
        };
        if !starts_value {
            return Err(self.unexpected());
        }
        let Some(Token { word, .. }) = self.advance()? else { return Err(self.unexpected()) };
        let plain = match word {
            Word::Variable(name) => Expression::Variable(name),
            Word::Int(number) => Expression::Int(number),
            Word::Float(number) => Expression::Float(number),
            Word::Text(text) => Expression::Text(text),
            Word::True => Expression::Bool(true),
            Word::False => Expression::Bool(false),
            Word::Keyword(name) => Expression::Keyword(name),
            Word::Function(name) => return self.call(name),
            Word::Mark('[') => return self.collection("#list", ']'),
            Word::Mark('{') => return self.collection("#map", '}'),
            Word::Mark('(') => return self.wrapped(),
            Word::Null | Word::Operator(_) | Word::Arrow | Word::Mark(_) => Expression::Null,
        };
        Ok((Arc::new(plain), 1))
    }

    fn call(&mut self, name: String) -> Outcome<Parsed> {
        let (args, depth) = self.arguments(')')?;
        deeper(Expression::Call(Operation { name, args }), depth)
    }

    fn collection(&mut self, name: &str, close: char) -> Outcome<Parsed> {
        let (args, depth) = self.arguments(close)?;
        operation(name, args, depth)
    }

    fn wrapped(&mut self) -> Outcome<Parsed> {
        let (inside, depth) = self.expression(0)?;
        self.expect(')')?;
        // Parentheses around parentheses say nothing more.
        let is_wrapped = matches!(*inside, Expression::Wrapped(_));
        let once = if is_wrapped { inside } else { Arc::new(Expression::Wrapped(inside)) };
        Ok((once, depth))
    }

    /// Arguments up to the closing mark. One may be left out before another one; rules come last.
    fn arguments(&mut self, close: char) -> Outcome<(Vec<Option<Arc<Expression>>>, usize)> {
        let mut args = Vec::new();
        let mut depth = 0;
        let mut in_rules = false;
        // Arguments left out since the last one that was not.
        let mut blanks = 0;
        if self.is_mark(close) {
            self.advance()?;
            return Ok((args, depth));
        }
        loop {
            while self.is_mark(',') && !in_rules {
                self.advance()?;
                args.push(None);
                blanks += 1;
            }
            let is_first = args.len() == blanks;
            let (value, value_depth) = self.expression(0)?;
            depth = depth.max(value_depth);
            let is_arrow = matches!(&self.next, Some(token) if token.word == Word::Arrow);
            let rule_may_stand = blanks == 0 || (blanks == 1 && !is_first);
            if is_arrow && rule_may_stand {
                self.advance()?;
                let (destination, destination_depth) = self.expression(0)?;
                depth = depth.max(destination_depth);
                args.push(Some(Arc::new(Expression::Rule(value, destination))));
                in_rules = true;
            } else if is_arrow || in_rules {
                return Err(self.unexpected());
            } else {
                args.push(Some(value));
            }
            blanks = 0;
            if self.is_mark(close) {
                self.advance()?;
                return Ok((args, depth));
            }
            self.expect(',')?;
        }
    }
}

fn between(operator: &str, left: Parsed, right: Parsed) -> Outcome<Parsed> {
    let depth = left.1.max(right.1);
    let name = match operator {
        "." | "?." => {
            let optional = operator == "?.";
            let member = Expression::Member { receiver: left.0, member: right.0, optional };
            return deeper(member, depth);
        }
        "=" => "*equal".to_owned(),
        "!=" => "*not_equal".to_owned(),
        other => format!("#operator_{other}"),
    };
    operation(&name, vec![Some(left.0), Some(right.0)], depth)
}

fn operation(name: &str, args: Vec<Option<Arc<Expression>>>, depth: usize) -> Outcome<Parsed> {
    deeper(Expression::Operation(Operation { name: name.to_owned(), args }), depth)
}

fn deeper(expression: Expression, depth: usize) -> Outcome<Parsed> {
    if depth >= DEPTH_MAX {
        return Err(failure::depth());
    }
    Ok((Arc::new(expression), depth + 1))
}

/// A word as Python's `str` has its value.
fn shown(word: &Word) -> String {
    match word {
        Word::Variable(text) | Word::Text(text) | Word::Keyword(text) | Word::Function(text) => {
            text.clone()
        }
        Word::Int(number) => number.to_string(),
        Word::Float(number) => python::float_text(*number),
        Word::True => "True".to_owned(),
        Word::False => "False".to_owned(),
        Word::Null => "None".to_owned(),
        Word::Operator(sign) => (*sign).to_owned(),
        Word::Arrow => "=>".to_owned(),
        Word::Mark(mark) => mark.to_string(),
    }
}
