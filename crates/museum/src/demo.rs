//! Demo data: an account, and events with dates around today.

use db::{Error, WriteTx, to_json};
use jiff::{Timestamp, ToSpan, civil::Date};
use rust_decimal::Decimal;
use uuid::{Uuid, uuid};

use crate::{
    Museum,
    event::{SpecialEvent, store},
    hours::Hours,
};

/// The demo's account, as `triptych` prints it: name and password.
pub(crate) const ACCOUNT: (&str, &str) = ("demo", "demo");

struct DemoEvent {
    id: Uuid,
    name: &'static str,
    location: &'static str,
    description: &'static str,
    /// Days from today.
    days: &'static [i32],
    price: &'static str,
}

const EVENTS: &[DemoEvent] = &[
    DemoEvent {
        id: uuid!("dad4bce8-f5cb-4078-a211-995864315e39"),
        name: "Mermaid Treasure Identification and Analysis",
        location: "Room Sea-12",
        description: "Sort a chest of things that fell off ships, and learn which of them mermaids keep and why.",
        days: &[2, 5, 9],
        price: "30",
    },
    DemoEvent {
        id: uuid!("f3e0e76e-e4a8-466e-ab9c-ae36c15b8e97"),
        name: "Sasquatch Ballet",
        location: "The forest behind the car park",
        description: "An evening of dance by performers nobody has ever managed to photograph well.",
        days: &[6, 13],
        price: "40",
    },
    DemoEvent {
        id: uuid!("2f14374a-9c65-4ee5-94b7-fba66d893483"),
        name: "Solar Telescope Demonstration",
        location: "Roof terrace",
        description: "See spots on the sun through a telescope that is made for it. Clouds are part of the experience.",
        days: &[-1, 1, 8],
        price: "50",
    },
    DemoEvent {
        id: uuid!("6aaa61ba-b2aa-4868-b803-603dbbf7bfdb"),
        name: "Cook like a Caveman",
        location: "Fire pit, east side",
        description: "Dinner over an open fire with tools you make yourself. Bring an appetite and old clothes.",
        days: &[3, 10, 17],
        price: "5",
    },
    DemoEvent {
        id: uuid!("602b75e1-5696-4ab8-8c7a-f9e13580f910"),
        name: "Underwater Basket Weaving",
        location: "Swimming pool next door",
        description: "An old craft at a new depth. Snorkels are provided, willow too.",
        days: &[0, 4],
        price: "15",
    },
    DemoEvent {
        id: uuid!("6744a0da-4121-49cd-8479-f8cc20526495"),
        name: "Time Traveler Tea Party",
        location: "Temporal Tearoom",
        description: "Tea with guests from several centuries. It started yesterday and may have ended tomorrow.",
        days: &[7, 14, 21],
        price: "60",
    },
    DemoEvent {
        id: uuid!("3be6453c-03eb-4357-ae5a-984a0e574a54"),
        name: "Pirate Coding Workshop",
        location: "Computer Room",
        description: "Write your first program under a black flag. Languages with one letter are preferred.",
        days: &[0, 1, 2],
        price: "45",
    },
    DemoEvent {
        id: uuid!("9d90d29a-2af5-4206-97d9-9ea9ceadcb78"),
        name: "Llama Street Art Through the Ages",
        location: "Auditorium",
        description: "A slide show of murals by and about llamas, with the artists present and hungry.",
        days: &[-2, 0, 3],
        price: "45",
    },
    DemoEvent {
        id: uuid!("a3c7b2c4-b5fb-4ef7-9322-00a919864957"),
        name: "The Great Parrot Debate",
        location: "Outdoor Amphitheatre",
        description: "Two parrots, one microphone, and a motion that both will repeat.",
        days: &[5, 12],
        price: "35",
    },
    DemoEvent {
        id: uuid!("b92d46b7-4c5d-422b-87a5-287767e26f29"),
        name: "Eat a Bunch of Corn",
        location: "Cafeteria",
        description: "Somebody ordered by the tonne instead of by the cob. Help us.",
        days: &[1, 8, 15],
        price: "5.50",
    },
];

/// An event of the demo and its days, for the examples of the document.
pub(crate) fn example(today: Date, hours: &Hours) -> (Uuid, Vec<Date>) {
    let event = &EVENTS[6];
    (event.id, dates_around(today, event.days, hours))
}

/// Not an event's id: its row marks that the demo data was added, so that a deleted event stays deleted.
const MARK: Uuid = Uuid::nil();

impl Museum {
    /// Adds the demo data once, and gives new dates to demo events whose dates have all passed, unless a user
    /// has changed them. Call it at every start and every day.
    pub(crate) async fn keep_demo_fresh(&self) -> Result<(), Error> {
        let hours = self.hours.clone();
        let today = hours.today(self.clock.now());
        self.db
            .write(move |tx| {
                let first_time = tx.execute(
                    "INSERT INTO demo_event (event_id, dates) VALUES ($1, $2) ON CONFLICT (event_id) DO NOTHING",
                    &[MARK.into(), to_json::<[Date]>(&[])?],
                )?;
                for event in EVENTS {
                    let dates = dates_around(today, event.days, &hours);
                    if first_time == 1 {
                        bring(tx, event, dates)?;
                    } else {
                        refresh(tx, event.id, today, &dates)?;
                    }
                }
                Ok(())
            })
            .await
    }

    /// Gives new dates to past demo events every day while the service runs.
    pub(crate) async fn keep_demo_fresh_for_ever(self) {
        loop {
            self.clock.wait_until(self.hours.next_midnight(self.clock.now())).await;
            if let Err(error) = self.keep_demo_fresh().await {
                tracing::warn!(%error, "the demo events could not be given new dates");
            }
        }
    }
}

impl Hours {
    /// When the next day begins in the zone of the museum.
    fn next_midnight(&self, now: Timestamp) -> Timestamp {
        let tomorrow = self.today(now).tomorrow().ok().and_then(|day| self.start_of(day));
        tomorrow.unwrap_or(Timestamp::MAX)
    }
}

/// The days, each moved on to the next one on which the museum is open, so that a ticket can be bought for it.
fn dates_around(today: Date, days: &[i32], hours: &Hours) -> Vec<Date> {
    let mut dates: Vec<Date> = days
        .iter()
        .map(|days| {
            let day = today.saturating_add(days.days());
            let following = std::iter::successors(Some(day), |day| day.tomorrow().ok());
            following.take(14).find(|day| hours.on(*day).is_some()).unwrap_or(day)
        })
        .collect();
    dates.sort_unstable();
    dates.dedup();
    dates
}

fn bring(tx: &mut WriteTx<'_>, event: &DemoEvent, dates: Vec<Date>) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO demo_event (event_id, dates) VALUES ($1, $2)",
        &[event.id.into(), to_json(&dates)?],
    )?;
    store::insert(
        tx,
        &SpecialEvent {
            event_id: event.id,
            name: event.name.into(),
            location: event.location.into(),
            event_description: event.description.into(),
            dates,
            price: event.price.parse().unwrap_or(Decimal::ZERO),
        },
    )
}

fn refresh(tx: &mut WriteTx<'_>, id: Uuid, today: Date, dates: &[Date]) -> Result<(), Error> {
    let given =
        tx.row("SELECT dates FROM demo_event WHERE event_id = $1", &[id.into()], |row| row.json(0))?;
    let given: Vec<Date> = given.unwrap_or_default();
    if given.last().is_none_or(|last| *last >= today) {
        return Ok(());
    }
    let Some(event) = store::by_id(tx, id)?.filter(|event| event.dates == given) else { return Ok(()) };
    tx.execute("UPDATE demo_event SET dates = $2 WHERE event_id = $1", &[id.into(), to_json(dates)?])?;
    store::set_dates(tx, &event, dates)
}
