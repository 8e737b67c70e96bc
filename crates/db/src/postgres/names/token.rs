//! A tokenizer with just enough of PostgreSQL's lexical rules to find names.

/// A token of a statement, and its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'s> {
    pub(super) kind: Kind<'s>,
    pub(super) start: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind<'s> {
    /// A keyword or a name, as written.
    Word(&'s str),
    /// A name in double quotes, without them.
    Quoted(&'s str),
    /// `$1`.
    Parameter(usize),
    /// A literal: text, a number.
    Literal,
    Symbol(char),
}

/// The tokens of a statement, without blanks and comments.
pub(super) fn tokens(sql: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = sql[at..].chars().next() {
        let (kind, length) = token(&sql[at..], first);
        if let Some(kind) = kind {
            found.push(Token { kind, start: at });
        }
        at += length;
    }
    found
}

/// The first token of `rest`, and its length.
fn token(rest: &str, first: char) -> (Option<Kind<'_>>, usize) {
    let literal = |length| (Some(Kind::Literal), length);
    match rest.as_bytes() {
        [b'-', b'-', ..] => (None, rest.find('\n').unwrap_or(rest.len())),
        [b'/', b'*', ..] => (None, comment(rest)),
        [b'\'', ..] => literal(quoted(rest, '\'')),
        [b'e' | b'E', b'\'', ..] => literal(1 + escaped(&rest[1..])),
        [b'"', ..] => {
            let length = quoted(rest, '"');
            (Some(Kind::Quoted(rest[1..length].strip_suffix('"').unwrap_or_default())), length)
        }
        [b'$', digit, ..] if digit.is_ascii_digit() => {
            let digits = rest[1..].bytes().take_while(u8::is_ascii_digit).count();
            (Some(Kind::Parameter(rest[1..=digits].parse().unwrap_or(usize::MAX))), 1 + digits)
        }
        [b'$', ..] => dollar_quoted(rest).map_or((Some(Kind::Symbol('$')), 1), literal),
        [digit, ..] if digit.is_ascii_digit() => {
            literal(rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'.').count())
        }
        _ if first.is_whitespace() => (None, first.len_utf8()),
        _ if first == '_' || first.is_alphabetic() => {
            let end = rest.find(|next: char| !(next == '_' || next == '$' || next.is_alphanumeric()));
            let word = &rest[..end.unwrap_or(rest.len())];
            (Some(Kind::Word(word)), word.len())
        }
        _ => (Some(Kind::Symbol(first)), first.len_utf8()),
    }
}

/// The length of a quoted token. Within it, the quote is doubled.
fn quoted(rest: &str, quote: char) -> usize {
    rest[1..].find(quote).map_or(rest.len(), |end| end + 2)
}

/// The length of a quoted text with backslash escapes.
fn escaped(rest: &str) -> usize {
    let mut backslash = false;
    let end = rest.bytes().skip(1).position(|byte| {
        let closes = byte == b'\'' && !backslash;
        backslash = byte == b'\\' && !backslash;
        closes
    });
    end.map_or(rest.len(), |end| end + 2)
}

/// The length of `$tag$ … $tag$`, if `rest` starts with one.
fn dollar_quoted(rest: &str) -> Option<usize> {
    let tag = rest[1..].find('$').map(|end| &rest[..end + 2])?;
    let name = &tag[1..tag.len() - 1];
    let end = rest[tag.len()..].find(tag).map_or(rest.len(), |end| end + 2 * tag.len());
    name.chars().all(|letter| letter == '_' || letter.is_alphanumeric()).then_some(end)
}

/// The length of a comment. Comments may be nested.
fn comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match &rest.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::{Kind::*, tokens};

    #[test]
    fn names_literals_parameters_and_comments_are_distinguished() {
        let cases = [
            ("SELECT a_1", vec![Word("SELECT"), Word("a_1")]),
            ("'it''s' x", vec![Literal, Literal, Word("x")]),
            (r"E'it\'s FROM pet' x", vec![Literal, Word("x")]),
            (r"e'\\' x", vec![Literal, Word("x")]),
            ("\"group\".x", vec![Quoted("group"), Symbol('.'), Word("x")]),
            ("$12=$1", vec![Parameter(12), Symbol('='), Parameter(1)]),
            ("$$ FROM 'pet $$ x", vec![Literal, Word("x")]),
            ("$a$ FROM $$ pet $a$ x", vec![Literal, Word("x")]),
            ("1.5e3 x", vec![Literal, Word("x")]),
            ("a -- FROM b\nc", vec![Word("a"), Word("c")]),
            ("a /* FROM /* b */ */ c", vec![Word("a"), Word("c")]),
            ("a - b", vec![Word("a"), Symbol('-'), Word("b")]),
            ("größe", vec![Word("größe")]),
            ("a /* open", vec![Word("a")]),
            ("'open", vec![Literal]),
            ("\"open", vec![Quoted("")]),
            ("$", vec![Symbol('$')]),
            ("", vec![]),
        ];
        for (sql, expected) in cases {
            let kinds: Vec<_> = tokens(sql).into_iter().map(|token| token.kind).collect();
            assert_eq!(kinds, expected, "{sql}");
        }
    }
}
