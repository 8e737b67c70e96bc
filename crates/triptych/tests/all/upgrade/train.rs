//! Train travel: bookings, payments, stored answers, webhooks.

use db::{Error, Value, WriteTx};
use jiff::civil::date;
use rust_decimal::Decimal;
use testkit::Client;
use uuid::Uuid;

use super::{Json, User, identity, json};

const SOURCE: &str = r#"{"object": "card", "name": "Ada", "number": "************4242", "exp_month": 12, "exp_year": 2030,
    "address_city": null, "address_country": "gb", "address_post_code": null}"#;

/// Books two seats: one is paid for, the other is cancelled.
pub(super) fn serve(tx: &mut WriteTx<'_>, user: User) -> Result<(), Error> {
    identity::add_account(tx, user)?;
    identity::sign_in(tx, user)?;
    let (paid, cancelled, payment) = (user.id(3), user.id(4), user.id(5));
    for booking in [paid, cancelled] {
        hold(tx, user, booking)?;
    }
    let answer = json!({"done": {"id": paid, "trip_id": user.id(6), "passenger_name": "Ada", "has_bicycle": false,
        "has_dog": false, "status": "held", "expires_at": user.until(), "links": {"self": "https://trains.example.com/"}}});
    tx.execute(
        "INSERT INTO idempotency (hash, fingerprint, expires_at) VALUES ($1, $2, $3) ON CONFLICT (hash) DO NOTHING",
        &[user.hash(5).as_slice().into(), user.hash(6).as_slice().into(), user.later()],
    )?;
    tx.execute(
        "UPDATE idempotency SET answer = $2 WHERE hash = $1",
        &[user.hash(5).as_slice().into(), Value::json(answer.to_string())],
    )?;
    tx.execute(
        "INSERT INTO payment (id, booking_id, amount, currency, source, status, check_at)
         VALUES ($1, $2, $3, $4, $5, 'processing', $6) ON CONFLICT DO NOTHING",
        &[
            payment.into(),
            paid.into(),
            Decimal::from(89).into(),
            "eur".into(),
            Value::json(SOURCE),
            user.later(),
        ],
    )?;
    tx.execute(
        "INSERT INTO sandbox_charge (payment_id, amount, currency, outcome, settles_at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (payment_id) DO NOTHING",
        &[payment.into(), Decimal::from(89).into(), "eur".into(), "succeeded".into(), user.now.into()],
    )?;
    let confirmed = tx.execute(
        "UPDATE booking SET status = 'confirmed' WHERE id = $1 AND status = 'held' AND expires_at > $2",
        &[paid.into(), user.now.into()],
    )?;
    assert_eq!(confirmed, 1);
    tx.execute(
        "UPDATE payment SET status = $2, check_at = $3 WHERE id = $1 AND status IN ('processing', 'pending')",
        &[payment.into(), "succeeded".into(), Value::Null],
    )?;
    let trip = tx.row(
        "UPDATE booking SET status = 'cancelled' WHERE id = $1 AND owner = $2 AND status IN ('held', 'confirmed')
         RETURNING trip_id",
        &[cancelled.into(), (&user.account().to_string()).into()],
        |row| row.get::<Uuid>(0),
    )?;
    assert_eq!(trip, Some(user.id(6)));
    tx.execute(
        "UPDATE trip_seats SET taken = taken - $2 WHERE trip_id = $1",
        &[user.id(6).into(), 1.into()],
    )?;
    let found = tx.row(
        "SELECT id, booking_id, amount, currency, source, status, failure FROM payment WHERE id = $1",
        &[payment.into()],
        |row| row.get::<String>(5),
    )?;
    assert_eq!(found.as_deref(), Some("succeeded"));
    Ok(())
}

fn hold(tx: &mut WriteTx<'_>, user: User, booking: Uuid) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO trip_seats (trip_id, origin, destination, date, taken) VALUES ($1, $2, $3, $4, 0)
         ON CONFLICT (trip_id) DO NOTHING",
        &[user.id(6).into(), user.id(7).into(), user.id(8).into(), date(2030, 5, 13).into()],
    )?;
    let taken = tx.execute(
        "UPDATE trip_seats SET taken = taken + 1 WHERE trip_id = $1 AND taken < $2",
        &[user.id(6).into(), 100.into()],
    )?;
    assert_eq!(taken, 1);
    tx.execute(
        "INSERT INTO booking (id, owner, trip_id, passenger_name, has_bicycle, has_dog, status, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, 'held', $7)",
        &[
            booking.into(),
            (&user.account().to_string()).into(),
            user.id(6).into(),
            "Ada".into(),
            false.into(),
            false.into(),
            user.later(),
        ],
    )
    .map(drop)
}

/// Subscribes a URL, and writes an event that is to be delivered to it.
pub(super) fn notify(tx: &mut WriteTx<'_>, user: User, url: &str) -> Result<(), Error> {
    let owner = user.account().to_string();
    tx.execute(
        "INSERT INTO webhook_owner (owner, subscriptions) VALUES ($1, 1)
         ON CONFLICT (owner) DO UPDATE SET subscriptions = webhook_owner.subscriptions + 1
         WHERE webhook_owner.subscriptions < $2",
        &[(&owner).into(), 20.into()],
    )?;
    tx.execute(
        "INSERT INTO webhook_subscription (id, owner, url, secret) VALUES ($1, $2, $3, $4)",
        &[user.id(9).into(), (&owner).into(), url.into(), user.hash(7).as_slice().into()],
    )?;
    event(tx, user)?;
    let sent = tx.execute(
        "INSERT INTO webhook_delivery (subscription_id, event_id, status, attempts, due_at)
         SELECT id, $2, CASE WHEN disabled IS NULL THEN 'ready' ELSE 'failed' END, 0, $3
         FROM webhook_subscription WHERE owner = $1 AND (disabled IS NULL OR disabled = 'failing')",
        &[(&owner).into(), user.id(10).into(), user.now.into()],
    )?;
    assert_eq!(sent, 1);
    Ok(())
}

/// The same by the statements of the first schema of webhooks.
pub(super) fn notify_at_version_1(tx: &mut WriteTx<'_>, user: User, url: &str) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO webhook_subscription (id, owner, url, secret, old_secret, old_secret_until)
         VALUES ($1, $2, $3, $4, $5, $6)",
        &[
            user.id(9).into(),
            (&user.account().to_string()).into(),
            url.into(),
            user.hash(7).as_slice().into(),
            user.hash(8).as_slice().into(),
            user.later(),
        ],
    )?;
    event(tx, user)?;
    tx.execute(
        "INSERT INTO webhook_delivery (subscription_id, event_id, status, attempts, due_at)
         VALUES ($1, $2, 'pending', 0, $3)",
        &[user.id(9).into(), user.id(10).into(), user.now.into()],
    )
    .map(drop)
}

fn event(tx: &mut WriteTx<'_>, user: User) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO webhook_event (id, kind, payload, created_at) VALUES ($1, $2, $3, $4)",
        &[user.id(10).into(), "newBooking".into(), "{}".into(), user.now.into()],
    )
    .map(drop)
}

pub(super) async fn is_served(train: &Client, token: &str, user: User) {
    let token = format!("Bearer {token}");
    let get = async |path: &str| {
        train.get(path).header("authorization", &token).send().await.has_status(200).json()
    };
    let bookings = get("/bookings").await;
    let ids: Vec<_> =
        bookings["data"].as_array().unwrap().iter().map(|one| (&one["id"], &one["status"])).collect();
    assert_eq!(ids, [(&json!(user.id(3)), &json!("confirmed"))], "{bookings}");
    let webhooks = get("/webhooks").await;
    assert_eq!(webhooks["data"][0]["id"], json!(user.id(9)), "{webhooks}");
}

pub(super) fn is_exported(export: &Json, user: User) {
    let booking = |id: u32, status: &str| {
        json!({
            "id": user.id(id), "trip_id": user.id(6), "passenger_name": "Ada", "has_bicycle": false, "has_dog": false,
            "status": status, "expires_at": user.until()
        })
    };
    assert_eq!(export["bookings"], json!([booking(3, "confirmed"), booking(4, "cancelled")]));
    let payment = json!({
        "id": user.id(5), "booking_id": user.id(3), "amount": Decimal::from(89), "currency": "eur",
        "source": serde_json::from_str::<Json>(SOURCE).unwrap(), "status": "succeeded", "failure": null, "failed_at": null
    });
    assert_eq!(export["payments"], json!([payment]));
}
