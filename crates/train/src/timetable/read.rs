//! Reads the built-in tables.

use std::collections::HashMap;

use jiff::{SignedDuration, tz::TimeZone};

use super::{Service, Timetable, trip_id};
use crate::station::{Names, Station};

/// An error in a table.
#[derive(Debug, thiserror::Error)]
#[error("{table}, line {line}: {why}")]
pub(crate) struct TableError {
    table: &'static str,
    line: usize,
    why: &'static str,
}

pub(super) fn timetable(stations: &str, services: &str) -> Result<Timetable, TableError> {
    let mut by_name = HashMap::new();
    let mut all_stations = Vec::new();
    for (line, [key, id, name, address, country, zone, latitude, longitude, also]) in
        rows("stations", stations)?
    {
        let wrong = |why| TableError { table: "stations", line, why };
        let station = Station::new(
            id.parse().map_err(|_| wrong("the id is no UUID"))?,
            Names { name, also, address },
            country,
            TimeZone::get(zone).map_err(|_| wrong("there is no such timezone"))?,
            (
                latitude.parse().map_err(|_| wrong("the latitude is no number"))?,
                longitude.parse().map_err(|_| wrong("the longitude is no number"))?,
            ),
        );
        if by_name.insert(key, all_stations.len()).is_some() {
            return Err(wrong("the key stands for two stations"));
        }
        all_stations.push(station);
    }
    let mut keys = HashMap::new();
    let mut all_services = Vec::new();
    for (line, row) in rows("services", services)? {
        let [
            number,
            operator,
            origin,
            destination,
            departs,
            minutes,
            days,
            price,
            currency,
            bicycles,
            dogs,
            seats,
        ] = row;
        let wrong = |why| TableError { table: "services", line, why };
        let station = |key| by_name.get(key).copied().ok_or_else(|| wrong("there is no such station"));
        let minutes = minutes.parse().map_err(|_| wrong("the minutes are no number"))?;
        let key = trip_id::key(number);
        if keys.insert(key, line).is_some() {
            return Err(wrong("another service has the same number, or one that looks the same in ids"));
        }
        all_services.push(Service {
            number: number.into(),
            key,
            operator: operator.into(),
            origin: station(origin)?,
            destination: station(destination)?,
            departs: departs.parse().map_err(|_| wrong("the departure is no time"))?,
            travel_time: SignedDuration::from_mins(minutes),
            days: weekdays(days).ok_or_else(|| wrong("the days are not numbers from 1 to 7"))?,
            price: price.parse().map_err(|_| wrong("the price is no number"))?,
            currency: currency.to_ascii_lowercase(),
            bicycles: bicycles == "1",
            dogs: dogs == "1",
            seats: seats.parse().map_err(|_| wrong("the seats are no number"))?,
        });
    }
    Ok(Timetable::new(all_stations, all_services))
}

/// The rows of a table after its head, with the numbers of their lines.
fn rows<'t, const N: usize>(
    table: &'static str,
    text: &'t str,
) -> Result<Vec<(usize, [&'t str; N])>, TableError> {
    let lines = text.lines().enumerate().skip(1);
    let row = |(at, line): (usize, &'t str)| {
        let columns: Vec<_> = line.split('\t').collect();
        let row =
            columns.try_into().map_err(|_| TableError { table, line: at + 1, why: "a column is missing" })?;
        Ok((at + 1, row))
    };
    lines.map(row).collect()
}

fn weekdays(digits: &str) -> Option<u8> {
    digits.chars().try_fold(0, |days, digit| {
        let day = digit.to_digit(10).filter(|day| (1..=7).contains(day))?;
        Some(days | 1 << (day - 1))
    })
}
