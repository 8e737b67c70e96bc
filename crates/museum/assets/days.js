// Days as the API writes them, 2026-11-16, without times and zones.

const DAY = 86_400_000;
const language = navigator.language;
const utc = (day) => new Date(`${day.slice(0, 10)}T00:00:00Z`);
const text = (date) => date.toISOString().slice(0, 10);
const formatter = (options) => {
  const format = new Intl.DateTimeFormat(language, { ...options, timeZone: "UTC" });
  return (day) => format.format(utc(day));
};

/** The day that is `count` days later. */
export const plus = (day, count) => text(new Date(utc(day).getTime() + count * DAY));

/** The day of the week, from 0 for Monday. */
export const weekday = (day) => (utc(day).getUTCDay() + 6) % 7;

export const monday = (day) => plus(day, -weekday(day));

/** The first day of the month that is `by` months later. */
export function firstOfMonth(day, by = 0) {
  const date = utc(day);
  return text(new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + by, 1)));
}

/** The days from the first on. */
export const days = (first, count) => Array.from({ length: count }, (_, at) => plus(first, at));

/** Whether a text is a day that pages can show. */
export function isDay(found) {
  if (!/^(19|2\d)\d\d-\d\d-\d\d$/.test(found ?? "")) return false;
  const date = utc(found);
  return !Number.isNaN(date.getTime()) && text(date) === found;
}

export const weekdayName = formatter({ weekday: "long" });
export const shortWeekday = formatter({ weekday: "short" });
export const dayAndMonth = formatter({ day: "numeric", month: "short" });
export const shortMonth = formatter({ month: "short" });
export const monthAndYear = formatter({ month: "long", year: "numeric" });
export const longDay = formatter({ weekday: "long", day: "numeric", month: "long", year: "numeric" });
export const mediumDay = formatter({ weekday: "short", day: "numeric", month: "short", year: "numeric" });

/** The number of a day in its month. */
export const numberOf = (day) => String(Number(day.slice(8, 10)));

/** A time such as 09:30 in minutes. */
export const minutes = (time) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5));
