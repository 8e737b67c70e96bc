//! What it costs to find trips in a timetable of a million beside one of a thousand, with as much booked in it: the same
//! search with the same answer, over the loopback interface. And how many seats are held in a second, for information.

mod timetable;

use std::{net::SocketAddr, path::Path, time::Duration};

use db::{Db, Limits, Location};
use jiff::{ToSpan, civil::Date, tz::TimeZone};
use serde_json::{Value, json};
use service::Instance;
use tokio::runtime::Runtime;
use train::{SERVICE, Sandbox, Settings, Timetable, Train};
use uuid::Uuid;
use web::{Clock, Random};

use crate::{
    load::{self, Load},
    median,
};
use timetable::{DESTINATION, ORIGIN};

/// How many times as long a search may take.
const TARGET: f64 = 1.3;
const ROUNDS: usize = 41;
const SLICE: Duration = Duration::from_millis(250);
const DAYS: i32 = 91;
/// Trains between the two stations, and all trains there are: a thousand trips in 91 days, and a million.
const TRAINS: usize = 11;
const FEW: usize = TRAINS;
const MANY: usize = 11_000;
const ADDRESS: &str = "https://trains.example";

/// What was measured, to be printed.
pub(crate) struct Trips {
    few: f64,
    many: f64,
    /// How many times as long a search takes among many.
    cost: f64,
    holds: f64,
}

pub(crate) fn measure(runtime: &Runtime, folder: &Path) -> Trips {
    runtime.block_on(async {
        let few = Installation::new(&folder.join("few"), FEW).await;
        let many = Installation::new(&folder.join("many"), MANY).await;
        let mut sides = [few.load().await, many.load().await];
        let mut rates = [const { Vec::new() }; 2];
        for round in 0..=ROUNDS {
            for (rates, (load, searches)) in rates.iter_mut().zip(&mut sides) {
                let rate = load.rate(searches, SLICE).await;
                // The first round warms up.
                if round > 0 {
                    rates.push(rate);
                }
            }
        }
        // Slices in turn: other load on the machine lasts longer than two of them, and slows both.
        let cost = median(rates[0].iter().zip(&rates[1]).map(|(few, many)| few / many).collect());
        let holds = many.holds_a_second().await;
        let [few, many] = rates.map(median);
        Trips { few, many, cost, holds }
    })
}

impl Trips {
    pub(crate) fn print(&self) {
        let Trips { few, many, cost, holds } = self;
        println!("{:<34}{:>12}{:>12}{:>9}{:>9}", "HTTP, per second", "1,000,000", "1,000", "cost", "target");
        println!("{:<34}{many:>12.0}{few:>12.0}{cost:>9.2}{TARGET:>9.2}", "find trips among so many");
        println!("{:<34}{holds:>12.0}", "hold a seat, 64 at once");
        println!();
    }

    /// What was missed, if anything was.
    pub(crate) fn missed(&self) -> Option<String> {
        let cost = self.cost;
        (cost > TARGET).then(|| {
            format!("to find trips among a million takes {cost:.2} times as long as among a thousand, not {TARGET:.2}")
        })
    }
}

/// The service with a timetable of so many trains.
struct Installation {
    address: SocketAddr,
    token: String,
    today: Date,
}

impl Installation {
    async fn new(folder: &Path, trains: usize) -> Self {
        let (clock, random) = (Clock::system(), Random::system());
        let today = TimeZone::UTC.to_datetime(clock.now()).date();
        let location = Location::Sqlite(folder.to_owned());
        let db = Db::open(&location, "train", train::MIGRATIONS, Limits::default()).unwrap();
        let settings = Settings { calls_per_hour: u32::MAX, unpaid_holds: u32::MAX, ..Settings::default() };
        let instance = Instance::new(db.clone(), clock.clone(), random).at(ADDRESS);
        let timetable = Timetable::of_services(&timetable::of(TRAINS, trains)).unwrap();
        let processor = Box::new(Sandbox::new(db.clone(), clock.clone()));
        let train = Train::open_with(settings, timetable, processor, instance.clone()).await.unwrap();
        let address = load::listen(train.router()).await;

        let accounts = SERVICE.accounts(&instance).unwrap();
        let ada = accounts.add("ada", "correct horse".into()).await.unwrap();
        let server = SERVICE.authorization_server(&instance).await.unwrap();
        let token = server.token_for(ada, None).await.unwrap();
        let mut here = Installation { address, token, today };
        let trips = here.trips().await;
        assert_eq!(trips.len(), TRAINS * (DAYS as usize - 1), "all trips between the two stations");
        timetable::book(&db, trips, trains - TRAINS, today).await;
        // Filling it took a while, and a token lasts ten minutes.
        here.token = server.token_for(ada, None).await.unwrap();
        here
    }

    fn search(&self, days: i32) -> Vec<u8> {
        let date = self.today + days.days();
        let path = format!("/trips?origin={ORIGIN}&destination={DESTINATION}&date={date}&limit=100");
        load::request(&path, Some(&self.token))
    }

    /// The trips between the two stations, with their days.
    async fn trips(&self) -> Vec<(Uuid, Date)> {
        let mut load = Load::connect(self.address).await;
        let mut trips = Vec::new();
        // Today's may have departed.
        for days in 1..DAYS {
            let found: Value = serde_json::from_str(&load.body(&self.search(days)).await).unwrap();
            let ids = found["data"].as_array().unwrap().iter().map(|trip| trip["id"].as_str().unwrap());
            trips.extend(ids.map(|id| (id.parse().unwrap(), self.today + days.days())));
        }
        trips
    }

    /// Connections, and the searches to send: one for every day.
    async fn load(&self) -> (Load, &'static [Vec<u8>]) {
        let searches: Vec<_> = (1..DAYS).map(|days| self.search(days)).collect();
        (Load::connect(self.address).await, searches.leak())
    }

    async fn holds_a_second(&self) -> f64 {
        let book = |(trip, _)| {
            let body = json!({"trip_id": trip, "passenger_name": "Ada"}).to_string();
            load::post("/bookings", &self.token, &body)
        };
        let requests: &'static [Vec<u8>] =
            self.trips().await.into_iter().map(book).collect::<Vec<_>>().leak();
        let mut load = Load::connect(self.address).await;
        let mut rates = Vec::new();
        for _ in 0..5 {
            rates.push(load.rate(requests, SLICE * 2).await);
        }
        median(rates)
    }
}
