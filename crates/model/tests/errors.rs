//! Declarations that must not compile: the message says why, and points at the member.

#[test]
fn wrong_declarations_are_explained_at_the_member() {
    trybuild::TestCases::new().compile_fail("tests/errors/*.rs");
}
