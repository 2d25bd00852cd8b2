//! Reading JSON as Python's reader does: NaN and infinities are numbers, the last of duplicate
//! keys wins. Nodes know their places, as those from YAML do.

use super::node::{Form, Node, NodeMap, Place};
use super::python;
use super::yaml::DEPTH_MAX;

/// What stands for half of a surrogate pair that stands alone, which Python's texts may have and
/// ours may not. It is no character either, so that no document in YAML is made of it.
const HALF: char = '\u{ffff}';

/// Reads a whole text; `None` if it is not JSON (Heat then tries YAML and speaks of that alone).
pub(super) fn read(text: &str) -> Option<Node> {
    parse(text).ok()
}

/// Reads a whole text; the error is Python's message.
pub(super) fn parse(text: &str) -> Result<Node, String> {
    let mut reader = Reader { text, at: 0, place: Place { line: 1, column: 1 }, depth: 0 };
    reader.space();
    let result = reader.value().and_then(|node| {
        reader.space();
        if reader.at < text.len() { Err(reader.problem("Extra data")) } else { Ok(node) }
    });
    result.map_err(|problem| {
        let before = &text[..problem.at];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
        let character = before.chars().count();
        format!("{}: line {line} column {column} (char {character})", problem.what)
    })
}

/// What is wrong, and at which byte.
struct Problem {
    what: &'static str,
    at: usize,
}

type Read<T> = Result<T, Problem>;

struct Reader<'text> {
    text: &'text str,
    at: usize,
    place: Place,
    depth: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Goes over ASCII that has no line break in it, or one at a time.
    fn skip(&mut self, bytes: usize) {
        for byte in &self.text.as_bytes()[self.at..self.at + bytes] {
            if *byte == b'\n' {
                self.place = Place { line: self.place.line + 1, column: 1 };
            } else if byte & 0xc0 != 0x80 {
                self.place.column += 1;
            }
        }
        self.at += bytes;
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.skip(1);
        }
    }

    fn take(&mut self, token: &str) -> Option<()> {
        self.text[self.at..].starts_with(token).then(|| self.skip(token.len()))
    }

    fn problem(&self, what: &'static str) -> Problem {
        Problem { what, at: self.at }
    }

    fn value(&mut self) -> Read<Node> {
        let place = self.place;
        let words = [
            ("null", Form::Null),
            ("true", Form::Bool(true)),
            ("false", Form::Bool(false)),
            ("NaN", Form::Float(f64::NAN)),
            ("Infinity", Form::Float(f64::INFINITY)),
            ("-Infinity", Form::Float(f64::NEG_INFINITY)),
        ];
        let form = match self.peek() {
            Some(b'{') => self.nested(Self::object)?,
            Some(b'[') => self.nested(Self::array)?,
            Some(b'"') => Form::Text(self.string()?.into()),
            _ => match words.into_iter().find(|(word, _)| self.take(word).is_some()) {
                Some((_, form)) => form,
                None => self.number()?,
            },
        };
        Ok(Node { place, key_place: place, form, tainted: false })
    }

    fn nested(&mut self, read: fn(&mut Self) -> Read<Form>) -> Read<Form> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.problem("Nested too deep"));
        }
        let form = read(self);
        self.depth -= 1;
        form
    }

    fn object(&mut self) -> Read<Form> {
        const NAME: &str = "Expecting property name enclosed in double quotes";
        self.skip(1);
        let mut map = NodeMap::default();
        self.space();
        if self.take("}").is_some() {
            return Ok(Form::Map(Box::new(map)));
        }
        loop {
            self.space();
            let key_place = self.place;
            if self.peek() != Some(b'"') {
                return Err(self.problem(NAME));
            }
            let key = self.string()?;
            self.space();
            self.take(":").ok_or_else(|| self.problem("Expecting ':' delimiter"))?;
            self.space();
            let mut value = self.value()?;
            value.key_place = key_place;
            map.insert(key.into(), value);
            self.space();
            if self.take("}").is_some() {
                return Ok(Form::Map(Box::new(map)));
            }
            self.take(",").ok_or_else(|| self.problem("Expecting ',' delimiter"))?;
        }
    }

    fn array(&mut self) -> Read<Form> {
        self.skip(1);
        let mut items = Vec::new();
        self.space();
        if self.take("]").is_some() {
            return Ok(Form::List(items));
        }
        loop {
            self.space();
            items.push(self.value()?);
            self.space();
            if self.take("]").is_some() {
                return Ok(Form::List(items));
            }
            self.take(",").ok_or_else(|| self.problem("Expecting ',' delimiter"))?;
        }
    }

    fn string(&mut self) -> Read<String> {
        let unterminated = Problem { what: "Unterminated string starting at", at: self.at };
        self.skip(1);
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(plain) = rest.find(|c: char| c == '"' || c == '\\' || c < ' ') else {
                return Err(unterminated);
            };
            out.push_str(&rest[..plain]);
            self.skip(plain);
            match self.peek() {
                Some(b'"') => {
                    self.skip(1);
                    return Ok(out);
                }
                Some(b'\\') if self.at + 1 == self.text.len() => return Err(unterminated),
                Some(b'\\') => {
                    let at = self.at;
                    let what = match self.text.as_bytes()[at + 1] {
                        b'u' => "Invalid \\uXXXX escape",
                        _ => "Invalid \\escape",
                    };
                    let code = self.escape().ok_or(Problem { what, at })?;
                    out.push(char::from_u32(code).unwrap_or(HALF));
                }
                _ => return Err(self.problem("Invalid control character at")),
            }
        }
    }

    /// The code of an escaped character; that of half of a pair if it stands alone.
    fn escape(&mut self) -> Option<u32> {
        self.skip(1);
        let c = self.peek()?;
        if c != b'u' {
            let c = match c {
                b'"' | b'\\' | b'/' => char::from(c),
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                b'n' => '\n',
                b'r' => '\r',
                b't' => '\t',
                _ => return None,
            };
            self.skip(1);
            return Some(u32::from(c));
        }
        let high = self.unit()?;
        if !(0xd800..0xdc00).contains(&high) || !self.text[self.at..].starts_with("\\u") {
            return Some(high);
        }
        let after_high = (self.at, self.place);
        self.skip(1);
        match self.unit()? {
            low @ 0xdc00..0xe000 => Some(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)),
            _ => {
                (self.at, self.place) = after_high;
                Some(high)
            }
        }
    }

    /// The four digits after `\u`.
    fn unit(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at + 1..self.at + 5)?;
        if !digits.chars().all(|c| c.is_ascii_hexdigit()) {
            return None;
        }
        let unit = u32::from_str_radix(digits, 16).ok()?;
        self.skip(5);
        Some(unit)
    }

    fn number(&mut self) -> Read<Form> {
        let expecting = self.problem("Expecting value");
        let rest = &self.text.as_bytes()[self.at..];
        let digits = |from: usize| {
            rest[from.min(rest.len())..].iter().take_while(|byte| byte.is_ascii_digit()).count()
        };
        let sign = usize::from(rest.first() == Some(&b'-'));
        let whole = match rest.get(sign) {
            Some(b'0') => 1,
            _ => digits(sign),
        };
        if whole == 0 {
            return Err(expecting);
        }
        let mut end = sign + whole;
        let mut is_float = false;
        if rest.get(end) == Some(&b'.') && digits(end + 1) > 0 {
            end += 1 + digits(end + 1);
            is_float = true;
        }
        if matches!(rest.get(end), Some(b'e' | b'E')) {
            let signed = usize::from(matches!(rest.get(end + 1), Some(b'+' | b'-')));
            let exponent = digits(end + 1 + signed);
            if exponent > 0 {
                end += 1 + signed + exponent;
                is_float = true;
            }
        }
        let text = &self.text[self.at..self.at + end];
        let form = match is_float {
            true => Form::Float(text.parse().map_err(|_| expecting)?),
            false => Form::Int(text.parse().map_err(|_| self.problem(python::INT_TOO_LARGE))?),
        };
        self.skip(end);
        Ok(form)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        let read = read(text).map(|node| python::repr(&node.to_datum()));
        assert_eq!(read.as_deref(), expected, "{text}");
    }

    #[test]
    fn json_is_read_as_python_reads_it() {
        check(
            r#"{"a": 1, "b": [true, null, -1.5e3], "a": 2}"#,
            Some("{'a': 2, 'b': [True, None, -1500.0]}"),
        );
        check("[NaN, -Infinity, 1e400]", Some("[nan, -inf, inf]"));
        check(r#""\u00e9\ud83d\ude00\n""#, Some("'é😀\\n'"));
        check("[1,]", None);
        check("{a: 1}", None);
        check("[01]", None);
        check("\"a\nb\"", None);
        check(r#""\ud83d""#, Some("'\\uffff'"));
        check(r#""\ud83d\u0041\udc00a""#, Some("'\\uffffA\\uffffa'"));
        check(&"1".repeat(40), None);
        check("", None);
    }
}
