//! How many statements a unit of work may run.

/// Most reads are one statement, which sees one state by itself and needs no `BEGIN` and `COMMIT`: two round trips less on
/// PostgreSQL.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    Statement,
    Transaction,
}
