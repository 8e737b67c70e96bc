//! The kinds of problem that only sandboxes have.

web::problem_kinds! {
    pub(crate) KINDS:
    NAME_TAKEN, CONFLICT, "name-taken", "Name taken",
        "There is a sandbox with this name already. Choose another name, or leave it out, so that the server chooses one.";
}
