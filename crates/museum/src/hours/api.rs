//! `GET /museum-hours`.

use axum::extract::State;
use jiff::civil::{Date, Time};
use serde::{Serialize, Serializer};
use utoipa::{IntoParams, ToSchema};
use web::{
    Paging, Query, Reply, Result,
    input::{Fields, Input, rules},
};

use crate::Museum;

/// One day on which the museum is open.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MuseumDailyHours {
    #[schema(examples("2026-09-11"))]
    date: Date,
    /// When the museum opens, in its own zone.
    #[serde(serialize_with = "hours_and_minutes")]
    #[schema(value_type = String, pattern = r"^([01]\d|2[0-3]):[0-5]\d$", examples("09:00"))]
    time_open: Time,
    /// When it closes.
    #[serde(serialize_with = "hours_and_minutes")]
    #[schema(value_type = String, pattern = r"^([01]\d|2[0-3]):[0-5]\d$", examples("18:00"))]
    time_close: Time,
}

fn hours_and_minutes<S: Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&time.strftime("%H:%M"))
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "the OpenAPI document reads it")]
pub(crate) struct HoursParameters {
    /// The first day to list. Today, where the museum is, if absent.
    #[param(rename = "startDate", required = false, example = "2026-09-11")]
    start_date: Date,
    /// Which page, from 1.
    #[param(minimum = 1, required = false, default = 1)]
    page: i64,
    /// How many days are on a page.
    #[param(minimum = 1, maximum = 30, required = false, default = 10)]
    limit: i64,
}

pub(crate) struct HoursQuery {
    start: Option<Date>,
    paging: Paging,
}

impl Input for HoursQuery {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let start = fields.optional("startDate", rules::date);
        let paging = Paging::read(fields, 10, 30);
        Some(HoursQuery { start: start?, paging: paging? })
    }
}

/// List opening hours
///
/// The days on which the museum is open, from `startDate` on, `limit` of them on a page. Days on which it is
/// closed are left out. Nobody needs to sign in for this.
#[utoipa::path(
    get, path = "/museum-hours", operation_id = "getMuseumHours", tag = "Operations",
    security(()),
    params(HoursParameters),
    responses((status = 200, description = "The open days of this page, in order.", body = [MuseumDailyHours])),
)]
pub(crate) async fn list(
    State(museum): State<Museum>,
    Query(query): Query<HoursQuery>,
) -> Reply<Vec<MuseumDailyHours>> {
    let hours = &museum.hours;
    let start = query.start.unwrap_or_else(|| hours.today(museum.clock.now()));
    let Some(skipped) = query.paging.skipped() else { return Reply(Vec::new()) };
    let limit = usize::try_from(query.paging.limit()).unwrap_or_default();
    let days = hours.open_days(start, skipped).take(limit);
    Reply(
        days.map(|(date, hours)| MuseumDailyHours { date, time_open: hours.open, time_close: hours.close })
            .collect(),
    )
}
