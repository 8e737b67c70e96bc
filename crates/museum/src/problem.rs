//! The kinds of problem that only this service has.

web::problem_kinds! {
    pub(crate) KINDS:
    ALREADY_USED, CONFLICT, "already-used", "Already used",
        "The ticket was admitted before. A ticket is admitted once; the detail has the time of its admission.";
    NOT_TODAY, CONFLICT, "not-today", "Not valid today",
        "The ticket is for another day. A ticket is admitted only on its day, in the time zone of the museum.";
}
