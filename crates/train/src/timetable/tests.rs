//! The built-in timetable: its tables are plausible, and trains run on their days and times.

use std::collections::{BTreeSet, HashSet};

use jiff::civil::date;

use super::*;

fn timetable() -> Arc<Timetable> {
    Timetable::built_in().unwrap()
}

/// The run of a train on a day.
fn run<'t>(timetable: &'t Timetable, number: &str, date: Date) -> Run<'t> {
    let service = timetable.services.iter().find(|service| service.number == number);
    let service = service.unwrap_or_else(|| panic!("there is no {number}"));
    timetable.run(service, date).unwrap_or_else(|| panic!("{number} does not run on {date}"))
}

/// The departure and the arrival of a train in local times.
fn by_the_clocks(timetable: &Timetable, number: &str, date: Date) -> (String, String) {
    let run = run(timetable, number, date);
    let there = |station: usize, moment| timetable.stations[station].zone.to_datetime(moment).to_string();
    (there(run.service.origin, run.departure), there(run.service.destination, run.arrival))
}

#[test]
fn stations_are_real_and_complete() {
    let timetable = timetable();
    let stations = &timetable.stations;
    assert!(stations.len() >= 60, "{}", stations.len());
    let countries: BTreeSet<_> = stations.iter().map(|station| station.country.as_str()).collect();
    assert!(countries.len() >= 20, "{countries:?}");
    let ids: BTreeSet<_> = stations.iter().map(|station| station.id).collect();
    assert_eq!(ids.len(), stations.len(), "ids are unique");
    let names: BTreeSet<_> = stations.iter().map(|station| &station.name).collect();
    assert_eq!(names.len(), stations.len(), "names are unique");
    for (id, name) in [
        ("efdbb9d1-02c2-4bc3-afb7-6788d8782b1e", "Berlin Hauptbahnhof"),
        ("b2e783e1-c824-4d63-b37a-d8d698862f1d", "Paris Gare du Nord"),
    ] {
        assert_eq!(timetable.station(id.parse().unwrap()).unwrap().name, name);
    }
    for station in stations {
        let name = &station.name;
        assert!(station.country.len() == 2 && station.country.bytes().all(|byte| byte.is_ascii_uppercase()));
        assert!(station.zone.iana_name().is_some_and(|zone| zone.starts_with("Europe/")), "{name}");
        assert!(station.address.split(", ").count() >= 3, "{name}: {}", station.address);
        for text in [name, &station.address] {
            assert_eq!(text.trim(), text, "{name}");
            assert!(!text.is_empty() && !text.contains(char::is_control), "{name}");
        }
    }
}

#[test]
fn built_in_timetable_is_read_once() {
    assert!(Arc::ptr_eq(&timetable(), &timetable()));
}

/// The offset of a zone is roughly its longitude: this finds swapped coordinates and wrong zones.
#[test]
fn stations_are_within_their_zones() {
    let winter: Timestamp = "2026-01-15T12:00:00Z".parse().unwrap();
    for station in &timetable().stations {
        let (latitude, longitude) = (station.place.latitude, station.place.longitude);
        assert!((35.0..=70.0).contains(&latitude) && (-10.0..=30.0).contains(&longitude), "{}", station.name);
        let offset = f64::from(station.zone.to_offset(winter).seconds()) / 3600.0;
        // Galicia is the worst: central European time at the longitude of Ireland.
        let by_the_sun = longitude / 15.0;
        assert!((-0.8..=1.7).contains(&(offset - by_the_sun)), "{}: {offset} {by_the_sun}", station.name);
    }
    let all = timetable();
    let place = |name: &str| all.stations.iter().find(|station| station.name.contains(name)).unwrap().place;
    assert!(place("Edinburgh").latitude > place("London St Pancras").latitude);
    assert!(place("Lisboa Oriente").longitude < place("Madrid Puerta").longitude);
    assert!(place("Rovaniem").latitude > 66.0 && place("Athinon").latitude < 38.5);
}

#[test]
fn services_are_plausible_and_run_in_both_directions() {
    let timetable = timetable();
    assert!(timetable.services.len() >= 500);
    let numbers: BTreeSet<_> = timetable.services.iter().map(|service| &service.number).collect();
    assert_eq!(numbers.len(), timetable.services.len());
    let operators: BTreeSet<_> = timetable.services.iter().map(|service| &service.operator).collect();
    assert!(operators.len() >= 10, "{operators:?}");
    let mut connected = HashSet::new();
    for service in &timetable.services {
        let number = &service.number;
        let (from, to) = (&timetable.stations[service.origin], &timetable.stations[service.destination]);
        assert_ne!(service.origin, service.destination, "{number}");
        assert!((1..=400).contains(&service.seats), "{number}");
        assert!(service.price > Decimal::ZERO && service.price.scale() == 2, "{number}");
        assert!(
            service.currency.len() == 3 && service.currency.bytes().all(|byte| byte.is_ascii_lowercase())
        );
        assert!(service.days != 0 && service.days < 128, "{number}");
        let hours = service.travel_time.as_secs_f64() / 3600.0;
        assert!((0.3..=24.0).contains(&hours), "{number} takes {hours} hours");
        let kilometres = from.place.distance(to.place);
        let speed = kilometres / hours;
        assert!((25.0..=280.0).contains(&speed), "{number} makes {speed} km/h over {kilometres} km");
        assert!(
            timetable.by_pair.contains_key(&(service.destination, service.origin)),
            "no way back: {number}"
        );
        connected.extend([service.origin, service.destination]);
    }
    assert_eq!(connected.len(), timetable.stations.len(), "a train calls at every station");
}

#[test]
fn ids_of_a_year_of_trips_are_unique_and_find_their_trip() {
    let timetable = timetable();
    let mut ids = HashSet::new();
    let mut day = date(2026, 5, 13);
    for _ in 0..366 {
        for (origin, destination) in timetable.by_pair.keys() {
            let mut before = None;
            for run in timetable.on(*origin, *destination, day) {
                assert!(ids.insert(run.id), "{} on {day}", run.service.number);
                assert!(before <= Some(run.departure), "in order");
                before = Some(run.departure);
                let found = timetable.trip(run.id).unwrap();
                assert_eq!((found.id, found.date, found.departure), (run.id, day, run.departure));
                assert_eq!(found.service.number, run.service.number);
            }
        }
        day = day.tomorrow().unwrap();
    }
    assert!(ids.len() > 200_000, "{}", ids.len());
}

/// Ids are equal in all installations and versions, since clients store them.
#[test]
fn ids_are_stable() {
    let timetable = timetable();
    for (number, day, id) in [
        ("TGV 9710", date(2026, 5, 20), "2f87bac9-12fc-8000-80a8-ac0100005071"),
        ("TGV 9710", date(2026, 5, 21), "2f87bac9-12fc-8000-80a8-ac0100005072"),
        ("PE 2911", date(2026, 5, 20), "a82812fa-ed74-8000-80fd-35c400005071"),
        ("D 493", date(2026, 3, 28), "10c065e3-ae43-8000-80bd-4c590000503c"),
        ("CS 1110", date(2026, 3, 27), "c0543952-cbc3-8000-80d6-a4030000503b"),
    ] {
        assert_eq!(run(&timetable, number, day).id.to_string(), id, "{number} on {day}");
    }
}

#[test]
fn trips_are_offered_for_ninety_days_in_any_year() {
    let timetable = timetable();
    let berlin = timetable.station_at("efdbb9d1-02c2-4bc3-afb7-6788d8782b1e".parse().unwrap()).unwrap();
    let paris = timetable.station_at("b2e783e1-c824-4d63-b37a-d8d698862f1d".parse().unwrap()).unwrap();
    let moments =
        ["2026-11-15T05:00:00Z", "2027-03-28T00:59:59Z", "2028-02-29T22:59:00Z", "2050-12-31T23:00:00Z"];
    for now in moments.map(|moment| moment.parse::<Timestamp>().unwrap()) {
        let (today, last) = Timetable::days(&timetable.stations[berlin].zone, now);
        assert_eq!((last - today).get_days(), 90);
        let offered = |day: Date| timetable.offered(berlin, paris, day, now).count();
        let mut day = today.tomorrow().unwrap();
        while day <= last {
            assert!((6..=7).contains(&offered(day)), "{now}: {day}");
            day = day.tomorrow().unwrap();
        }
        assert_eq!(offered(day), 0, "{now}: {day}");
        assert_eq!(offered(today.yesterday().unwrap()), 0);
    }
}

#[test]
fn departures_keep_local_time_when_clocks_change() {
    let timetable = timetable();
    let changes = [date(2026, 3, 29), date(2026, 10, 25), date(2027, 3, 28), date(2027, 10, 31)];
    for sunday in changes {
        for day in [sunday.yesterday().unwrap(), sunday, sunday.tomorrow().unwrap()] {
            for service in &timetable.services {
                let Some(run) = timetable.run(service, day) else { continue };
                let local = timetable.stations[service.origin].zone.to_datetime(run.departure);
                assert_eq!(local, day.to_datetime(service.departs), "{}", service.number);
                assert_eq!(run.arrival.duration_since(run.departure), service.travel_time);
            }
        }
    }
    for (number, winter, summer) in [
        ("EST 9002", "06:01", "05:01"),
        ("TGV 9710", "04:52", "03:52"),
        ("IC 161", "04:19", "03:19"),
        ("IC 75", "03:50", "02:50"),
        ("D 462", "17:40", "17:40"),
    ] {
        for (at, sunday) in changes.into_iter().enumerate() {
            let saturday = sunday.yesterday().unwrap();
            let (before, after) = if at % 2 == 0 { (winter, summer) } else { (summer, winter) };
            for (day, time) in [(saturday, before), (sunday, after)] {
                let departure = run(&timetable, number, day).departure.to_string();
                assert_eq!(departure, format!("{day}T{time}:00Z"), "{number}");
            }
        }
    }
}

#[test]
fn travel_time_is_unchanged_when_clocks_change() {
    let timetable = timetable();
    for (number, day, departs, arrives) in [
        // Vienna by night: 12 hours 25 minutes.
        ("NJ 456", date(2026, 3, 27), "2026-03-27T18:48:00", "2026-03-28T07:13:00"),
        ("NJ 456", date(2026, 3, 28), "2026-03-28T18:48:00", "2026-03-29T08:13:00"),
        ("NJ 456", date(2026, 10, 24), "2026-10-24T18:48:00", "2026-10-25T06:13:00"),
        ("NJ 456", date(2027, 3, 27), "2027-03-27T18:48:00", "2027-03-28T08:13:00"),
        ("NJ 456", date(2027, 10, 30), "2027-10-30T18:48:00", "2027-10-31T06:13:00"),
        // Lapland: 12 hours 15 minutes.
        ("PYO 263", date(2026, 3, 28), "2026-03-28T19:29:00", "2026-03-29T08:44:00"),
        ("PYO 263", date(2026, 10, 24), "2026-10-24T19:29:00", "2026-10-25T06:44:00"),
        // From a zone that changes to one that does not, and back: Sofia is one hour behind in winter.
        ("D 493", date(2026, 3, 28), "2026-03-28T18:40:00", "2026-03-29T06:15:00"),
        ("D 493", date(2026, 3, 29), "2026-03-29T18:40:00", "2026-03-30T05:15:00"),
        ("D 494", date(2026, 3, 27), "2026-03-27T20:00:00", "2026-03-28T05:41:00"),
        ("D 494", date(2026, 3, 28), "2026-03-28T20:00:00", "2026-03-29T06:41:00"),
        ("D 494", date(2026, 10, 24), "2026-10-24T20:00:00", "2026-10-25T05:41:00"),
    ] {
        let found = by_the_clocks(&timetable, number, day);
        assert_eq!(found, (departs.to_owned(), arrives.to_owned()), "{number} on {day}");
    }
}

#[test]
fn train_can_cross_midnight_and_zones() {
    let timetable = timetable();
    for (number, departs, arrives) in [
        ("EST 9012", "2026-05-20T21:04:00", "2026-05-21T00:22:00"),
        ("EST 9013", "2026-05-20T22:16:00", "2026-05-20T23:39:00"),
        ("CS 1110", "2026-05-20T23:20:00", "2026-05-21T06:50:00"),
        ("THL 332", "2026-05-20T21:25:00", "2026-05-21T08:45:00"),
        ("PYO 265", "2026-05-20T23:15:00", "2026-05-21T11:35:00"),
    ] {
        let found = by_the_clocks(&timetable, number, date(2026, 5, 20));
        assert_eq!(found, (departs.to_owned(), arrives.to_owned()), "{number}");
    }
}

#[test]
fn trains_run_only_on_their_weekdays() {
    let timetable = timetable();
    let monday = date(2026, 5, 18);
    let week: Vec<_> = (0..7).map(|days| monday + days.days()).collect();
    for (number, days) in
        [("TGV 9710", "1234567"), ("ESL 474", "1357"), ("CS 1110", "123457"), ("ESL 452", "135")]
    {
        let service = timetable.services.iter().find(|service| service.number == number).unwrap();
        let runs: String = (1..=7)
            .filter(|day| timetable.run(service, week[day - 1]).is_some())
            .map(|day| day.to_string())
            .collect();
        assert_eq!(runs, days, "{number}");
    }
}

#[test]
fn error_in_a_table_names_its_line() {
    let stations =
        "head\nk\tefdbb9d1-02c2-4bc3-afb7-6788d8782b1e\tName\tAddress\tDE\tEurope/Berlin\t1\t2\t\n";
    let error_of = |stations: &str, services: &str| match read::timetable(stations, services) {
        Ok(_) => panic!("it was taken"),
        Err(error) => error.to_string(),
    };
    let service = "head\nT 1\tOp\tk\tk\t05:52\t505\t1\t89.00\tEUR\t1\t1\t340\n";
    for (from, to, expected) in [
        ("efdbb9d1-", "", "stations, line 2: the id is no UUID"),
        ("Europe/Berlin", "Europe/Bielefeld", "stations, line 2: there is no such timezone"),
        ("\t1\t", "\tx\t", "stations, line 2: the latitude is no number"),
        ("\tDE", "", "stations, line 2: a column is missing"),
    ] {
        assert_eq!(error_of(&stations.replace(from, to), service), expected);
    }
    for (from, to, expected) in [
        ("\tk\t", "\tnowhere\t", "services, line 2: there is no such station"),
        ("05:52", "25:52", "services, line 2: the departure is no time"),
        ("\t1\t89", "\t8\t89", "services, line 2: the days are not numbers from 1 to 7"),
        ("89.00", "free", "services, line 2: the price is no number"),
        ("340", "many", "services, line 2: the seats are no number"),
    ] {
        assert_eq!(error_of(stations, &service.replacen(from, to, 1)), expected);
    }
    let twice = format!("{service}{}", service.trim_start_matches("head\n"));
    assert_eq!(
        error_of(stations, &twice),
        "services, line 3: another service has the same number, or one that looks the same in ids"
    );
}
