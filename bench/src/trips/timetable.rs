//! Timetables of any size between the stations that come with the program, and databases as full as they are.

use db::Db;
use jiff::civil::Date;
use uuid::Uuid;

const STATIONS: &str = include_str!("../../../crates/train/data/stations.tsv");

/// Berlin Hauptbahnhof and Paris Gare du Nord: every search is between these.
pub(super) const ORIGIN: &str = "efdbb9d1-02c2-4bc3-afb7-6788d8782b1e";
pub(super) const DESTINATION: &str = "b2e783e1-c824-4d63-b37a-d8d698862f1d";

/// Keys and ids of the stations.
fn stations() -> Vec<(&'static str, Uuid)> {
    let station = |line: &'static str| {
        let mut columns = line.split('\t');
        (columns.next().unwrap(), columns.next().unwrap().parse().unwrap())
    };
    STATIONS.lines().skip(1).map(station).collect()
}

/// Every pair of stations but the one that is searched, again and again.
fn other_pairs() -> impl Iterator<Item = ((&'static str, Uuid), (&'static str, Uuid))> {
    let all = stations();
    let searched: [Uuid; 2] = [ORIGIN.parse().unwrap(), DESTINATION.parse().unwrap()];
    let pairs: Vec<_> = all
        .iter()
        .flat_map(|from| all.iter().map(|to| (*from, *to)))
        .filter(|(from, to)| from != to && [from.1, to.1] != searched)
        .collect();
    pairs.into_iter().cycle()
}

/// A table of `all` trains that run every day, `searched` of them between the two stations.
pub(super) fn of(searched: usize, all: usize) -> String {
    let mut table = String::from(
        "number\toperator\torigin\tdestination\tdeparts\tminutes\tdays\tprice\tcurrency\tbicycles\tdogs\tseats",
    );
    let two = std::iter::repeat_n(("berlin-hbf", "paris-nord"), searched);
    let others = other_pairs().map(|((from, _), (to, _))| (from, to)).take(all - searched);
    for (number, (from, to)) in two.chain(others).enumerate() {
        let (hour, minute) = (6 + number % 16, number % 60);
        table.push_str(&format!(
            "\nB {number}\tBench\t{from}\t{to}\t{hour:02}:{minute:02}\t90\t1234567\t20.00\tEUR\t1\t1\t500"
        ));
    }
    table
}

/// Books something on every trip: three times on each of those that are searched, once of which has run out, and once on the
/// trips of as many other trains.
pub(super) async fn book(db: &Db, trips: Vec<(Uuid, Date)>, others: usize, today: Date) {
    let origin: Uuid = ORIGIN.parse().unwrap();
    let destination: Uuid = DESTINATION.parse().unwrap();
    let done: Result<(), db::Error> = db
        .write(move |tx| {
            for (trip, date) in &trips {
                tx.execute(
                    "INSERT INTO trip_seats (trip_id, origin, destination, date, taken) VALUES ($1, $2, $3, $4, 3)",
                    &[(*trip).into(), origin.into(), destination.into(), (*date).into()],
                )?;
                tx.execute(
                    "INSERT INTO booking (id, owner, trip_id, passenger_name, has_bicycle, has_dog, status, expires_at)
                     SELECT randomblob(16), 'another', $1, 'Ada', 0, 0, column1, 1
                     FROM (VALUES ('confirmed'), ('confirmed'), ('held'))",
                    &[(*trip).into()],
                )?;
            }
            Ok(())
        })
        .await;
    done.unwrap();
    let pairs: Vec<_> = other_pairs().map(|((_, from), (_, to))| (from, to)).take(others).collect();
    for pairs in pairs.chunks(100) {
        let pairs = pairs.to_vec();
        let done: Result<(), db::Error> = db
            .write(move |tx| {
                for (from, to) in &pairs {
                    // No search reads these trains, so their ids may be any.
                    tx.execute(
                        "WITH RECURSIVE days (day) AS (SELECT 0 UNION ALL SELECT day + 1 FROM days WHERE day < 90)
                         INSERT INTO trip_seats (trip_id, origin, destination, date, taken)
                         SELECT randomblob(16), $1, $2, date($3, '+' || day || ' days'), 1 FROM days",
                        &[(*from).into(), (*to).into(), today.into()],
                    )?;
                }
                Ok(())
            })
            .await;
        done.unwrap();
    }
    let booked: Result<u64, db::Error> = db
        .write(|tx| {
            tx.execute(
                "INSERT INTO booking (id, owner, trip_id, passenger_name, has_bicycle, has_dog, status, expires_at)
                 SELECT randomblob(16), 'another', trip_id, 'Ada', 0, 0, 'confirmed', 1
                 FROM trip_seats WHERE taken = 1",
                &[],
            )
        })
        .await;
    assert_eq!(booked.unwrap(), others as u64 * 91);
}
