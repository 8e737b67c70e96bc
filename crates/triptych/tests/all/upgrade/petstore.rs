//! The pet store: pets with tags and images, orders, users.

use db::{Error, Value, WriteTx};
use testkit::Client;

use super::{Json, User, identity, json};

/// Sells a pet to a user.
pub(super) fn serve(tx: &mut WriteTx<'_>, user: User) -> Result<(), Error> {
    identity::add_account(tx, user)?;
    identity::sign_in(tx, user)?;
    let id = user.row();
    tx.execute(
        "INSERT INTO store_user (id, account_id, first_name, last_name, email, phone, user_status)
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
        &[
            id.into(),
            user.account().into(),
            "Ada".into(),
            Value::Null,
            "ada@example.com".into(),
            Value::Null,
            1.into(),
        ],
    )?;
    tx.execute(
        "INSERT INTO pet (id, name, category, photo_urls, tags, status) VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (id) DO NOTHING",
        &[
            id.into(),
            "Rex".into(),
            Value::json(r#"{"id": 1, "name": "Dogs"}"#),
            Value::json("[]"),
            Value::json(r#"[{"id": 1, "name": "old"}]"#),
            "available".into(),
        ],
    )?;
    tx.execute(
        "INSERT INTO pet_tag (name, pet_id) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        &["old".into(), id.into()],
    )?;
    count(tx, 1, "available", id)?;
    tx.execute(
        "UPDATE pet SET name = COALESCE($2, name), status = COALESCE($3, status) WHERE id = $1",
        &[id.into(), Value::Null, "sold".into()],
    )?;
    count(tx, -1, "available", id)?;
    count(tx, 1, "sold", id)?;
    let image = user.id(3);
    tx.execute(
        "INSERT INTO pet_image (id, pet_id, media_type, size) VALUES ($1, $2, $3, $4)",
        &[image.into(), id.into(), "image/png".into(), 3.into()],
    )?;
    tx.execute(
        "INSERT INTO pet_image_part (image_id, number, bytes) VALUES ($1, $2, $3)",
        &[image.into(), 0.into(), b"png".as_slice().into()],
    )?;
    tx.execute(
        "INSERT INTO store_order (id, pet_id, quantity, ship_date, status, complete) VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (id) DO NOTHING",
        &[id.into(), id.into(), 1.into(), Value::Null, "placed".into(), false.into()],
    )?;
    tx.execute(
        "INSERT INTO api_key (hash, name, demo, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
        &[user.hash(4).as_slice().into(), (&user.name()).into(), false.into(), user.now.into()],
    )?;
    let found = tx.row(
        "SELECT id, name, category, photo_urls, tags, status FROM pet WHERE id = $1",
        &[id.into()],
        |row| Ok((row.get::<String>(1)?, row.get::<Option<String>>(5)?)),
    )?;
    assert_eq!(found, Some(("Rex".to_owned(), Some("sold".to_owned()))));
    Ok(())
}

fn count(tx: &mut WriteTx<'_>, change: i64, status: &str, pet: i64) -> Result<(), Error> {
    tx.execute(
        "UPDATE pet_count SET pets = pets + $1 WHERE status = $2 AND shard = $3",
        &[change.into(), status.into(), (pet & 15).into()],
    )
    .map(drop)
}

pub(super) async fn is_served(store: &Client, user: User) {
    let id = user.row();
    let pet = store.get(&format!("/v3/pet/{id}")).header("api_key", "special-key").send().await;
    pet.is(
        200,
        &json!({
            "id": id, "name": "Rex", "category": {"id": 1, "name": "Dogs"}, "photoUrls": [], "tags": [{"id": 1, "name": "old"}],
            "status": "sold"
        }),
    );
    let order = store.get(&format!("/v3/store/order/{id}")).send().await;
    order.is(200, &json!({"id": id, "petId": id, "quantity": 1, "status": "placed", "complete": false}));
}

pub(super) fn is_exported(export: &Json, user: User) {
    let profile = json!({
        "id": user.row(), "first_name": "Ada", "last_name": null, "email": "ada@example.com", "phone": null, "user_status": 1
    });
    assert_eq!(export["profile"], json!([profile]));
    assert_eq!(
        export["sessions"],
        json!([{"kind": "browser", "started_at": null, "expires_at": user.until()}])
    );
    let grants = export["grants"].as_array().unwrap();
    assert!(grants.iter().any(|grant| grant["client_name"] == "An old client"), "{grants:?}");
    let token = json!({"grant_id": user.id(2), "expires_at": user.until(), "used_at": null});
    assert_eq!(export["refresh_tokens"], json!([token]));
}
