//! One SQL text for both engines: for SQLite, `$1` becomes `?1` and the clause that locks rows is removed.

/// The end of a statement that locks the rows it selects until the end of the transaction. It does not block a foreign key
/// to these rows, as `FOR UPDATE` would. SQLite does not know it, and does not need it: it has one writer at a time.
pub(crate) const LOCK: &str = " FOR NO KEY UPDATE";

/// A statement as SQLite takes it.
pub(crate) struct Rewritten {
    pub(crate) text: String,
    /// How many parameters it names.
    pub(crate) parameters: usize,
    /// Whether it ended with [`LOCK`].
    pub(crate) locks: bool,
}

/// Rewrites `$1` to `?1` outside of quotes and comments, and removes a [`LOCK`] at the end.
pub(crate) fn for_sqlite(sql: &str) -> Rewritten {
    let mut text = String::with_capacity(sql.len());
    let mut parameters = 0;
    let (mut rest, locks) = sql.strip_suffix(LOCK).map_or((sql, false), |select| (select, true));
    while let Some(at) = rest.find(['$', '\'', '"', '-']) {
        let (before, found) = rest.split_at(at);
        text.push_str(before);
        let taken = match found.as_bytes() {
            [b'$', digit, ..] if digit.is_ascii_digit() => {
                let digits = found[1..].bytes().take_while(u8::is_ascii_digit).count();
                let number = found[1..=digits].parse().unwrap_or(usize::MAX);
                parameters = parameters.max(number);
                text.push('?');
                text.push_str(&found[1..=digits]);
                rest = &found[1 + digits..];
                continue;
            }
            [quote @ (b'\'' | b'"'), ..] => {
                found[1..].find(char::from(*quote)).map_or(found.len(), |end| end + 2)
            }
            [b'-', b'-', ..] => found.find('\n').unwrap_or(found.len()),
            _ => 1,
        };
        text.push_str(&found[..taken]);
        rest = &found[taken..];
    }
    text.push_str(rest);
    Rewritten { text, parameters, locks }
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
            ("SELECT 1 FROM pet WHERE id = $1 FOR NO KEY UPDATE", "SELECT 1 FROM pet WHERE id = ?1", 1),
        ];
        for (sql, text, parameters) in cases {
            let rewritten = for_sqlite(sql);
            assert_eq!((rewritten.text.as_str(), rewritten.parameters), (text, parameters), "{sql}");
        }
    }
}
