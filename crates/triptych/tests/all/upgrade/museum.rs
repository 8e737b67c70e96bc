//! The museum: special events and tickets.

use db::{Error, Value, WriteTx};
use jiff::civil::date;
use rust_decimal::Decimal;
use testkit::Client;

use super::{Json, User, identity, json};

/// Sells a ticket for an event.
pub(super) fn serve(tx: &mut WriteTx<'_>, user: User) -> Result<(), Error> {
    identity::add_account(tx, user)?;
    let (event, day) = (user.id(2), date(2030, 5, 13));
    let name = format!("Night of {}", user.name());
    tx.execute(
        "INSERT INTO special_event (id, name, location, description, dates, price) VALUES ($1, $2, $3, $4, $5, $6)",
        &[
            event.into(),
            (&name).into(),
            "Hall 1".into(),
            "Masks.".into(),
            Value::json(r#"["2030-05-13"]"#),
            Decimal::from(10).into(),
        ],
    )?;
    tx.execute(
        "INSERT INTO special_event_date (date, name, event_id) VALUES ($1, $2, $3)",
        &[day.into(), (&name).into(), event.into()],
    )?;
    tx.execute(
        "INSERT INTO ticket (id, account_id, event_id, event_name, date, opens_at, email, confirmation_code, bought_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (confirmation_code) DO NOTHING",
        &[
            user.id(3).into(),
            user.account().into(),
            event.into(),
            (&name).into(),
            day.into(),
            user.later(),
            "ada@example.com".into(),
            (&format!("ticket-event-{}", user.number)).into(),
            user.now.into(),
        ],
    )?;
    let found = tx.row(
        "SELECT event_name, opens_at FROM ticket WHERE id = $1 AND account_id = $2",
        &[user.id(3).into(), user.account().into()],
        |row| row.get::<String>(0),
    )?;
    assert_eq!(found, Some(name));
    Ok(())
}

pub(super) async fn is_served(museum: &Client, user: User) {
    let event = museum.get(&format!("/v1.1/special-events/{}", user.id(2))).send().await;
    let name = format!("Night of {}", user.name());
    event.is(
        200,
        &json!({
            "eventId": user.id(2), "name": name, "location": "Hall 1", "eventDescription": "Masks.", "dates": ["2030-05-13"],
            "price": Decimal::from(10)
        }),
    );
}

pub(super) fn is_exported(export: &Json, user: User) {
    let ticket = json!({
        "id": user.id(3), "event_id": user.id(2), "event_name": format!("Night of {}", user.name()), "date": "2030-05-13",
        "email": "ada@example.com", "confirmation_code": format!("ticket-event-{}", user.number), "bought_at": user.now,
        "admitted_at": null
    });
    assert_eq!(export["tickets"], json!([ticket]));
}
