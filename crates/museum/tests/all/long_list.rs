//! `GET /special-events` when there is much to list: it is read from the database 64 events at a time, and
//! written as it is read.

use db::{Error, Value as Sql};
use jiff::{Span, civil::Date};
use rust_decimal::Decimal;
use uuid::Uuid;

use crate::fixture::{ADA_BASIC, Open, each};

testkit::on_both_engines! {
    async fn long_list_is_complete_and_in_order(open: Open) {
        let crowd = crowd();
        let rows = crowd.clone();
        open.db
            .write(move |tx| {
                for one in &rows {
                    insert(tx, one)?;
                }
                Ok::<_, Error>(())
            })
            .await
            .unwrap();
        // One day with exactly one part, one with a single event more, one with exactly two parts, and all days.
        for (query, first, last, expected) in [
            ("?startDate=2027-01-04&limit=1", "2027-01-04", "2027-01-04", 64),
            ("?startDate=2027-01-05&limit=1", "2027-01-05", "2027-01-05", 65),
            ("?startDate=2027-01-06&limit=1", "2027-01-06", "2027-01-06", 128),
            ("?startDate=2027-01-01&limit=30", "2027-01-01", "2027-01-08", 457),
            ("?startDate=2027-01-02&limit=2", "2027-01-02", "2027-01-03", 200),
        ] {
            let (first, last): (Date, Date) = (first.parse().unwrap(), last.parse().unwrap());
            let mut on_page: Vec<_> = crowd
                .iter()
                .filter_map(|one| {
                    let date = one.dates.iter().find(|date| (first..=last).contains(*date))?;
                    Some((*date, one.name.as_bytes(), one.id))
                })
                .collect();
            on_page.sort_unstable();
            let ids: Vec<_> = on_page.iter().map(|(_, _, id)| id.to_string()).collect();
            assert_eq!(ids.len(), expected, "{query}");
            let answer = open.events(query).await;
            assert_eq!(each(&answer, "eventId"), ids, "{query}");
            assert_eq!(answer.header("content-type"), "application/json");
            // HEAD says the same but for the body.
            let head =
                open.ada.call(http::Method::HEAD, &format!("/v1.1/special-events{query}")).send().await;
            assert_eq!((head.status, head.text().as_str()), (200, ""), "{query}");
            assert_eq!(head.header("content-type"), "application/json");
        }
        let request = |encoding: &str| {
            format!(
                "GET /v1.1/special-events?startDate=2027-01-01&limit=30 HTTP/1.1\r\nHost: localhost\r\n\
             Authorization: {ADA_BASIC}\r\nConnection: close\r\n{encoding}\r\n"
            )
        };
        // The client of this test accepts gzip and unpacks it; this is the compressed answer.
        let packed = open.anyone.raw(request("Accept-Encoding: gzip\r\n").as_bytes()).await;
        assert!(packed.starts_with("HTTP/1.1 200 OK\r\n"), "{packed:.300}");
        assert!(packed.contains("\r\ncontent-encoding: gzip\r\n"), "{packed:.300}");
        let plain = open.anyone.raw(request("").as_bytes()).await;
        assert!(!plain.contains("content-encoding"), "{plain:.300}");
        assert!(packed.len() < plain.len() / 2);
    }
}

#[derive(Clone)]
struct One {
    id: Uuid,
    name: String,
    dates: Vec<Date>,
}

/// 200 events on overlapping days of the year's first three, and three days with many events each.
fn crowd() -> Vec<One> {
    let first: Date = "2027-01-01".parse().unwrap();
    let mut days: Vec<Vec<i64>> = Vec::new();
    days.extend((0..200).map(|number| match number % 4 {
        0 => vec![0, 1, 2],
        1 => vec![0, 2],
        2 => vec![1, 2],
        _ => vec![2],
    }));
    for (day, events) in [(3, 64), (4, 65), (5, 128)] {
        days.extend((0..events).map(|_| vec![day]));
    }
    let one = |(number, days): (usize, Vec<i64>)| One {
        id: Uuid::from_u128((number as u128) << 64 | 0x7000_8000_0000_0000_0000),
        // Names that repeat, so that the order within a name counts too, and that do not follow the ids.
        name: format!("Event {}", (number * 37) % 50),
        dates: days.into_iter().map(|day| first + Span::new().days(day)).collect(),
    };
    days.into_iter().enumerate().map(one).collect()
}

fn insert(tx: &mut db::WriteTx<'_>, one: &One) -> Result<(), Error> {
    let dates = serde_json::to_string(&one.dates).unwrap();
    tx.execute(
        "INSERT INTO special_event (id, name, location, description, dates, price)
         VALUES ($1, $2, 'Everywhere', 'A crowd of events that take room on the wire.', $3, $4)",
        &[one.id.into(), (&one.name).into(), Sql::json(dates), Decimal::ONE.into()],
    )?;
    for date in &one.dates {
        tx.execute(
            "INSERT INTO special_event_date (date, name, event_id) VALUES ($1, $2, $3)",
            &[(*date).into(), (&one.name).into(), one.id.into()],
        )?;
    }
    Ok(())
}
