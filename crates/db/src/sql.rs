//! One SQL text for both engines: `$1` parameters become SQLite's `?1`.

/// A statement as SQLite takes it, with the number of parameters it names.
pub(crate) struct Rewritten {
    pub(crate) text: String,
    pub(crate) parameters: usize,
}

/// Rewrites `$1` to `?1` outside of quotes and comments.
pub(crate) fn for_sqlite(sql: &str) -> Rewritten {
    let mut text = String::with_capacity(sql.len());
    let mut parameters = 0;
    let mut rest = sql;
    while let Some(at) = rest.find(['$', '\'', '"', '-']) {
        let (before, here) = rest.split_at(at);
        text.push_str(before);
        let taken = match here.as_bytes() {
            [b'$', digit, ..] if digit.is_ascii_digit() => {
                let digits = here[1..].bytes().take_while(u8::is_ascii_digit).count();
                let number = here[1..=digits].parse().unwrap_or(usize::MAX);
                parameters = parameters.max(number);
                text.push('?');
                text.push_str(&here[1..=digits]);
                rest = &here[1 + digits..];
                continue;
            }
            [quote @ (b'\'' | b'"'), ..] => {
                here[1..].find(char::from(*quote)).map_or(here.len(), |end| end + 2)
            }
            [b'-', b'-', ..] => here.find('\n').unwrap_or(here.len()),
            _ => 1,
        };
        text.push_str(&here[..taken]);
        rest = &here[taken..];
    }
    text.push_str(rest);
    Rewritten { text, parameters }
}

#[cfg(test)]
mod tests {
    use super::for_sqlite;

    #[test]
    fn parameters_are_rewritten_outside_of_quotes_and_comments() {
        let cases = [
            ("SELECT 1", "SELECT 1", 0),
            ("SELECT $1, $2, $1", "SELECT ?1, ?2, ?1", 2),
            ("SELECT $12", "SELECT ?12", 12),
            ("SELECT '$1', \"$2\", $1", "SELECT '$1', \"$2\", ?1", 1),
            ("SELECT 'it''s $2' || $1", "SELECT 'it''s $2' || ?1", 1),
            ("SELECT $1 -- not $2\n, $3 - $2", "SELECT ?1 -- not $2\n, ?3 - ?2", 3),
            ("SELECT 'open $1", "SELECT 'open $1", 0),
            ("SELECT $", "SELECT $", 0),
            ("SELECT 'é', $1", "SELECT 'é', ?1", 1),
        ];
        for (sql, text, parameters) in cases {
            let rewritten = for_sqlite(sql);
            assert_eq!((rewritten.text.as_str(), rewritten.parameters), (text, parameters), "{sql}");
        }
    }
}
