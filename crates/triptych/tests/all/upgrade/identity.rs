//! Accounts, sessions and grants, by the statements of the released schema.

use db::{Error, Value, WriteTx};

use super::User;

/// Adds an account without a password.
pub(super) fn add_account(tx: &mut WriteTx<'_>, user: User) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO account (id, name, password_hash, demo, created_at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (name) DO NOTHING",
        &[user.account().into(), (&user.name()).into(), Value::Null, false.into(), user.now.into()],
    )?;
    tx.execute(
        "INSERT INTO call_quota (caller, hour, used) VALUES ($1, $2, $3)
         ON CONFLICT (caller) DO UPDATE SET hour = excluded.hour, used =
             CASE WHEN call_quota.hour = excluded.hour THEN call_quota.used ELSE 0 END + excluded.used
         WHERE call_quota.hour <> excluded.hour OR call_quota.used < $4",
        &[
            (&format!("user:{}", user.account())).into(),
            (user.now.as_second() / 3600).into(),
            1000.into(),
            100_000.into(),
        ],
    )?;
    Ok(())
}

/// Signs a user in, and gives a client a code and a refresh token.
pub(super) fn sign_in(tx: &mut WriteTx<'_>, user: User) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO session (hash, kind, account_id, expires_at) VALUES ($1, $2, $3, $4)",
        &[user.hash(1).as_slice().into(), "browser".into(), user.account().into(), user.later()],
    )?;
    let found = tx.row(
        "SELECT account.name FROM session JOIN account ON account.id = session.account_id
         WHERE session.hash = $1 AND session.kind = $2 AND session.expires_at > $3",
        &[user.hash(1).as_slice().into(), "browser".into(), user.now.into()],
        |row| row.get::<String>(0),
    )?;
    assert_eq!(found, Some(user.name()));
    let client = format!("client{}", user.number);
    tx.execute(
        "INSERT INTO oauth_client (id, name, secret_hash, redirect_uris, scopes, demo, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        &[
            (&client).into(),
            "An old client".into(),
            Value::Null,
            Value::json(r#"["https://app.example.com/callback"]"#),
            "read write".into(),
            false.into(),
            user.now.into(),
        ],
    )?;
    tx.execute(
        "INSERT INTO oauth_grant (id, client_id, account_id, scopes, audience, created_at, ends_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        &[
            user.id(2).into(),
            (&client).into(),
            user.account().into(),
            "read write".into(),
            "https://trains.example.com".into(),
            user.now.into(),
            user.later(),
        ],
    )?;
    tx.execute(
        "INSERT INTO oauth_code (hash, grant_id, redirect_uri, challenge, expires_at) VALUES ($1, $2, $3, $4, $5)",
        &[
            user.hash(2).as_slice().into(),
            user.id(2).into(),
            "https://app.example.com/callback".into(),
            "challenge".into(),
            user.later(),
        ],
    )?;
    let used = tx.execute(
        "UPDATE oauth_code SET used_at = $2 WHERE hash = $1 AND used_at IS NULL",
        &[user.hash(2).as_slice().into(), user.now.into()],
    )?;
    assert_eq!(used, 1);
    tx.execute(
        "INSERT INTO oauth_refresh_token (hash, grant_id, expires_at) VALUES ($1, $2, $3)",
        &[user.hash(3).as_slice().into(), user.id(2).into(), user.later()],
    )
    .map(drop)
}
