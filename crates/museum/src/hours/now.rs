//! `GET /museum-hours/now`.

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, header};
use jiff::civil::Date;
use model::Resource;
use web::Reply;

use super::api::{HoursAndMinutes, hours_and_minutes};
use crate::Museum;

/// The current day and time of the museum. Clients in other zones need its zone to say whether it is open.
#[derive(Resource)]
#[resource(case = "camelCase")]
pub(crate) struct MuseumTime {
    #[field(example = "2026-09-11")]
    date: Date,
    #[field(rule = hours_and_minutes(), example = "14:05")]
    time: HoursAndMinutes,
    /// The IANA name of the zone of the museum.
    #[field(rule = text(1..), example = "Europe/Amsterdam")]
    timezone: String,
    /// Whether the museum is open now.
    #[field(example = true)]
    open: bool,
}

/// Get the current time of the museum
///
/// An extension of the public description. The current day and time in the zone of the museum, and whether it is open. No credentials
/// are needed.
#[utoipa::path(
    get, path = "/museum-hours/now", operation_id = "getMuseumTime", tag = "Operations",
    security(()),
    responses((status = 200, description = "The day, the time, and whether the museum is open.", body = MuseumTime)),
)]
pub(crate) async fn get(State(museum): State<Museum>) -> Response {
    let now = museum.hours.local(museum.clock.now());
    let (date, time) = (now.date(), now.time());
    let open = museum.hours.on(date).is_some_and(|hours| (hours.open..hours.close).contains(&time));
    let timezone = museum.hours.zone_name();
    let mut response =
        Reply(MuseumTime { date, time: HoursAndMinutes(time), timezone, open }).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
