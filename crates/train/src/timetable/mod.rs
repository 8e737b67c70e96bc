//! The timetable: which trains run between which stations, and when.
//!
//! It is part of the program: a few tables, read once in a process. A trip is a service on a day; nothing is stored for it until
//! the first booking. So every process has all trips from today on, and no process creates them.

mod read;
#[cfg(test)]
mod tests;
mod trip_id;

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use jiff::{SignedDuration, Timestamp, ToSpan, civil::Date, civil::Time, tz::TimeZone};
use rust_decimal::Decimal;
use uuid::Uuid;

use crate::{OpenError, station::Station};

/// How many days ahead of today trips can be found and booked.
pub(crate) const DAYS_AHEAD: i32 = 90;

/// A train that runs on some days of the week.
pub(crate) struct Service {
    /// Its permanent name, in all installations: `ICE 595`.
    pub(crate) number: String,
    /// Identifies it in the ids of its trips.
    key: trip_id::Key,
    pub(crate) operator: String,
    pub(crate) origin: usize,
    pub(crate) destination: usize,
    /// In local time of the origin.
    pub(crate) departs: Time,
    /// The duration, also when clocks change during the trip.
    pub(crate) travel_time: SignedDuration,
    /// Monday is the lowest bit.
    pub(crate) days: u8,
    pub(crate) price: Decimal,
    pub(crate) currency: String,
    pub(crate) bicycles: bool,
    pub(crate) dogs: bool,
    pub(crate) seats: i64,
}

/// A service on a day.
#[derive(Clone, Copy)]
pub(crate) struct Run<'t> {
    pub(crate) id: Uuid,
    pub(crate) service: &'t Service,
    pub(crate) date: Date,
    pub(crate) departure: Timestamp,
    pub(crate) arrival: Timestamp,
}

/// The trains, their days and their stations.
pub struct Timetable {
    pub(crate) stations: Vec<Station>,
    services: Vec<Service>,
    by_id: HashMap<Uuid, usize>,
    /// The services from one station to another, in order of departure.
    by_pair: HashMap<(usize, usize), Vec<usize>>,
    by_key: HashMap<trip_id::Key, usize>,
}

impl Timetable {
    /// The built-in timetable, which all instances of a process share.
    pub fn built_in() -> Result<Arc<Self>, OpenError> {
        static BUILT_IN: OnceLock<Arc<Timetable>> = OnceLock::new();
        if let Some(timetable) = BUILT_IN.get() {
            return Ok(timetable.clone());
        }
        let timetable = Timetable::of_services(include_str!("../../data/services.tsv"))?.into();
        Ok(BUILT_IN.get_or_init(|| timetable).clone())
    }

    /// A timetable of other services between the same stations, in the format of the built-in table.
    pub fn of_services(services: &str) -> Result<Self, OpenError> {
        let read = read::timetable(include_str!("../../data/stations.tsv"), services);
        read.map_err(|error| OpenError::Timetable(error.to_string()))
    }

    fn new(stations: Vec<Station>, services: Vec<Service>) -> Self {
        let by_id = stations.iter().enumerate().map(|(at, station)| (station.id, at)).collect();
        let mut by_pair: HashMap<_, Vec<usize>> = HashMap::new();
        for (at, service) in services.iter().enumerate() {
            by_pair.entry((service.origin, service.destination)).or_default().push(at);
        }
        for found in by_pair.values_mut() {
            found.sort_by(|a, b| {
                let (a, b) = (&services[*a], &services[*b]);
                (a.departs, &a.number).cmp(&(b.departs, &b.number))
            });
        }
        let by_key = services.iter().enumerate().map(|(at, service)| (service.key, at)).collect();
        Timetable { stations, services, by_id, by_pair, by_key }
    }

    /// The index of a station.
    pub(crate) fn station_at(&self, id: Uuid) -> Option<usize> {
        self.by_id.get(&id).copied()
    }

    pub(crate) fn station(&self, id: Uuid) -> Option<&Station> {
        self.station_at(id).map(|at| &self.stations[at])
    }

    /// The trains from one station to another on a day, in order of departure.
    pub(crate) fn on(&self, origin: usize, destination: usize, date: Date) -> impl Iterator<Item = Run<'_>> {
        let services = self.by_pair.get(&(origin, destination)).map(Vec::as_slice).unwrap_or_default();
        services.iter().filter_map(move |at| self.run(&self.services[*at], date))
    }

    /// The trains from one station to another on a day whose trips can still be found and booked, in order of departure.
    pub(crate) fn offered(
        &self,
        origin: usize,
        destination: usize,
        date: Date,
        now: Timestamp,
    ) -> impl Iterator<Item = Run<'_>> {
        let (_, last) = Timetable::days(&self.stations[origin].zone, now);
        let runs = (date <= last).then(|| self.on(origin, destination, date));
        runs.into_iter().flatten().filter(move |run| run.departure > now)
    }

    /// Whether a train goes from one station to another, on some day.
    pub(crate) fn is_direct(&self, origin: usize, destination: Uuid) -> bool {
        let destination = self.station_at(destination);
        destination.is_some_and(|destination| self.by_pair.contains_key(&(origin, destination)))
    }

    /// The trip of an id, if a train of the timetable runs then.
    pub(crate) fn trip(&self, id: Uuid) -> Option<Run<'_>> {
        let (key, date) = trip_id::parts(id)?;
        let service = &self.services[*self.by_key.get(&key)?];
        self.run(service, date).filter(|run| run.id == id)
    }

    /// Whether a trip has departed. A trip that is no longer in the timetable counts as departed when its day is over in all zones of
    /// the stations.
    pub(crate) fn has_departed(&self, trip: Uuid, now: Timestamp) -> bool {
        match self.trip(trip) {
            Some(run) => run.departure <= now,
            None => trip_id::parts(trip).is_some_and(|(_, date)| {
                self.stations.iter().all(|station| station.zone.to_datetime(now).date() > date)
            }),
        }
    }

    fn run<'t>(&'t self, service: &'t Service, date: Date) -> Option<Run<'t>> {
        let weekday = 1 << (date.weekday().to_monday_zero_offset());
        if service.days & weekday == 0 {
            return None;
        }
        let zone = &self.stations[service.origin].zone;
        let departure = date.to_datetime(service.departs).to_zoned(zone.clone()).ok()?.timestamp();
        let arrival = departure.checked_add(service.travel_time).ok()?;
        Some(Run { id: trip_id::of(&service.key, date), service, date, departure, arrival })
    }

    /// The first and the last day on which trips from a station can be booked: the first is today in its zone.
    pub(crate) fn days(zone: &TimeZone, now: Timestamp) -> (Date, Date) {
        let today = zone.to_datetime(now).date();
        (today, today.saturating_add(DAYS_AHEAD.days()))
    }
}
