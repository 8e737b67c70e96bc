//! `GET /museum-hours`.

use axum::extract::State;
use jiff::civil::{Date, Time};
use model::{Parameters, Resource};
use serde::{Serialize, Serializer};
use web::{
    Paging, Query, Reply, Result,
    input::rules::{Text, text},
};

use crate::Museum;

/// One day on which the museum is open.
#[derive(Resource)]
#[resource(case = "camelCase")]
pub(crate) struct MuseumDailyHours {
    #[field(example = "2026-09-11")]
    date: Date,
    /// When the museum opens, in its own zone.
    #[field(rule = hours_and_minutes(), example = "09:00")]
    time_open: HoursAndMinutes,
    /// When it closes.
    #[field(rule = hours_and_minutes(), example = "18:00")]
    time_close: HoursAndMinutes,
}

/// A time of day, `09:00`.
pub(super) struct HoursAndMinutes(pub(super) Time);

pub(super) fn hours_and_minutes() -> Text {
    text(..).pattern(r"^([01]\d|2[0-3]):[0-5]\d$")
}

impl Serialize for HoursAndMinutes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0.strftime("%H:%M"))
    }
}

#[derive(Parameters)]
#[resource(case = "camelCase")]
pub(crate) struct HoursQuery {
    /// The first day to list. The default is today in the zone of the museum.
    #[field(example = "2026-09-11")]
    start_date: Option<Date>,
    /// Which page, from 1.
    #[field(rule = page(), default = 1)]
    page: i64,
    /// How many days are on a page.
    #[field(rule = limit(30), default = 10)]
    limit: i64,
}

/// List opening hours
///
/// Lists the days on which the museum is open, from `startDate` on, `limit` of them on a page. Closed days are skipped. No
/// credentials are needed.
#[utoipa::path(
    get, path = "/museum-hours", operation_id = "getMuseumHours", tag = "Operations",
    security(()),
    params(HoursQuery),
    responses((status = 200, description = "The open days of this page, in order.", body = [MuseumDailyHours])),
)]
pub(crate) async fn list(
    State(museum): State<Museum>,
    Query(query): Query<HoursQuery>,
) -> Reply<Vec<MuseumDailyHours>> {
    let hours = &museum.hours;
    let start = query.start_date.unwrap_or_else(|| museum.today());
    let Some(skipped) = Paging::new(query.page, query.limit).skipped() else { return Reply(Vec::new()) };
    let limit = usize::try_from(query.limit).unwrap_or_default();
    let days = hours.open_days(start, skipped).take(limit);
    Reply(
        days.map(|(date, hours)| MuseumDailyHours {
            date,
            time_open: HoursAndMinutes(hours.open),
            time_close: HoursAndMinutes(hours.close),
        })
        .collect(),
    )
}
