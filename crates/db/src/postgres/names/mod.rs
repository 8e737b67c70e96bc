//! Adds the schema to the table names of a statement.
//!
//! Every statement names the schema of its service, instead of a setting of the session: a pooler (PgBouncer in transaction
//! mode) gives each transaction another session. The services write SQL without schemas, since SQLite has none; this module
//! adds the schema to each table name, once per service and statement.

mod token;

use std::collections::HashSet;

use token::{Kind, Token, tokens};

/// A statement as PostgreSQL takes it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Qualified {
    pub(crate) text: String,
    /// How many parameters it names.
    pub(crate) parameters: usize,
    /// Whether it cannot write, so that it needs no read-only transaction.
    pub(crate) reads: bool,
}

/// Puts the schema before every table name. An unknown table is an error, and so is a table that a `WITH` hides: both could
/// reach the wrong table.
pub(crate) fn qualify(sql: &str, schema: &str, tables: &HashSet<String>) -> Result<Qualified, String> {
    let tokens = tokens(sql);
    let common = common_tables(&tokens);
    if let Some(hidden) = common.iter().find(|name| tables.contains(*name)) {
        return Err(format!("WITH {hidden} hides the table {schema}.{hidden}"));
    }
    let mut text = String::with_capacity(sql.len() + 32);
    let mut copied = 0;
    for (start, name) in table_names(&tokens) {
        if tables.contains(&name) {
            text.push_str(&sql[copied..start]);
            text.push_str(schema);
            text.push('.');
            copied = start;
        } else if !common.contains(&name) && !name.starts_with("pg_") {
            return Err(format!("the schema {schema} has no table {name:?}"));
        }
    }
    text.push_str(&sql[copied..]);
    let parameters = tokens.iter().filter_map(|token| match token.kind {
        Kind::Parameter(number) => Some(number),
        _ => None,
    });
    Ok(Qualified { text, parameters: parameters.max().unwrap_or(0), reads: reads(&tokens) })
}

/// The statements of a text, without the semicolons between them.
pub(crate) fn statements(sql: &str) -> Vec<&str> {
    let tokens = tokens(sql);
    let ends = (0..tokens.len()).filter(|&at| is_symbol(tokens.get(at), ';')).map(|at| tokens[at].start);
    let mut start = 0;
    let mut found = Vec::new();
    for end in ends.chain([sql.len()]) {
        // Without one that is empty, or a comment.
        if tokens.iter().any(|token| (start..end).contains(&token.start)) {
            found.push(sql[start..end].trim());
        }
        start = end + 1;
    }
    found
}

/// Whether a statement contains no keyword that writes.
fn reads(tokens: &[Token<'_>]) -> bool {
    const START: &[&str] = &["SELECT", "WITH", "VALUES"];
    const WRITE: &[&str] = &["INSERT", "UPDATE", "DELETE", "MERGE", "INTO"];
    tokens.first().is_some_and(|first| is_word(first, START))
        && !tokens.iter().any(|token| is_word(token, WRITE))
}

fn is_word(token: &Token<'_>, words: &[&str]) -> bool {
    matches!(token.kind, Kind::Word(word) if words.iter().any(|one| one.eq_ignore_ascii_case(word)))
}

fn is_symbol(token: Option<&Token<'_>>, symbol: char) -> bool {
    token.is_some_and(|token| token.kind == Kind::Symbol(symbol))
}

/// A name as PostgreSQL reads it: lower case, unless quoted.
fn name(token: &Token<'_>) -> Option<String> {
    match token.kind {
        Kind::Word(word) => Some(word.to_lowercase()),
        Kind::Quoted(name) => Some(name.to_owned()),
        _ => None,
    }
}

/// The names that `WITH` gives: `name AS (…)`, `name (columns) AS MATERIALIZED (…)`.
fn common_tables(tokens: &[Token<'_>]) -> HashSet<String> {
    let mut found = HashSet::new();
    for (at, _) in tokens.iter().enumerate().filter(|(_, token)| is_word(token, &["AS"])) {
        let next = tokens[at + 1..].iter().find(|next| !is_word(next, &["NOT", "MATERIALIZED"]));
        if at == 0 || !is_symbol(next, '(') {
            continue;
        }
        let mut before = at - 1;
        if is_symbol(tokens.get(before), ')') {
            let open = tokens[..before].iter().rposition(|token| token.kind == Kind::Symbol('('));
            before = open.unwrap_or(0).saturating_sub(1);
        }
        found.extend(name(&tokens[before]));
    }
    found
}

/// What may follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The name of a table.
    Table,
    /// The name of a table, a function that gives rows, or a query in parentheses.
    Source,
    Other,
}

/// The state within a pair of parentheses.
#[derive(Default)]
struct Level {
    /// A `FROM` at this level names tables, unlike that of `EXTRACT(YEAR FROM date)`.
    statement: bool,
    /// A comma at this level is followed by another table.
    list: bool,
}

/// The start of each table name, and the name. Names with a schema are left out.
fn table_names(tokens: &[Token<'_>]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut levels = vec![Level::default()];
    let mut next = Next::Other;
    for (at, token) in tokens.iter().enumerate() {
        let (before, after) = (at.checked_sub(1).map(|before| &tokens[before]), tokens.get(at + 1));
        let follows = |words: &[&str]| before.is_some_and(|before| is_word(before, words));
        if token.kind == Kind::Symbol('(') {
            // FROM (SELECT …) or FROM (a JOIN b …).
            let query = after.is_some_and(|after| is_word(after, &["SELECT", "VALUES", "WITH"]));
            let join = next == Next::Source && !query;
            levels.push(Level { statement: false, list: join });
            next = if join { Next::Source } else { Next::Other };
            continue;
        }
        if token.kind == Kind::Symbol(')') && levels.len() > 1 {
            levels.pop();
            next = Next::Other;
            continue;
        }
        let last = levels.len() - 1;
        let level = &mut levels[last];
        if next != Next::Other {
            if is_word(token, &["ONLY", "LATERAL"]) {
                continue;
            }
            let is_function = next == Next::Source && is_symbol(after, '(');
            if let Some(name) = name(token)
                && !is_function
                && !is_symbol(after, '.')
            {
                found.push((token.start, name));
            }
            next = Next::Other;
            continue;
        }
        let Kind::Word(word) = token.kind else {
            if token.kind == Kind::Symbol(',') && level.list {
                next = Next::Source;
            }
            continue;
        };
        match word.to_ascii_uppercase().as_str() {
            "SELECT" => *level = Level { statement: true, list: false },
            "DELETE" => level.statement = true,
            "FROM" if level.statement && !follows(&["DISTINCT"]) => {
                level.list = true;
                next = Next::Source;
            }
            "JOIN" => next = Next::Source,
            "INTO" => next = Next::Table,
            "UPDATE" if !follows(&["DO", "FOR", "KEY", "ON"]) => {
                level.statement = true;
                next = Next::Table;
            }
            // DELETE … USING table, not JOIN … USING (column).
            "USING" if after.is_some_and(|after| name(after).is_some()) => {
                level.list = true;
                next = Next::Source;
            }
            "WHERE" | "GROUP" | "HAVING" | "WINDOW" | "ORDER" | "LIMIT" | "OFFSET" | "FETCH" | "FOR"
            | "UNION" | "INTERSECT" | "EXCEPT" | "SET" | "RETURNING" | "VALUES" => level.list = false,
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests;
