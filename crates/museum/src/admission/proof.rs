//! What allows a caller to check and admit a ticket.

use axum::extract::FromRequestParts;
use http::request::Parts;
use model::Parameters;
use uuid::Uuid;
use web::{Problem, negotiate};

use crate::{Museum, caller::Caller};

#[derive(Parameters)]
#[resource(case = "camelCase")]
pub(crate) struct Code {
    /// The confirmation code of the ticket, as in its QR code. The account that bought the ticket needs none.
    #[field(rule = text(1..=100), example = "ticket-event-a98c8f-7eb12")]
    pub(crate) code: Option<String>,
}

/// A caller who signed in: the buyer's account is a proof, unless a page of another origin sends the request. A browser adds the
/// credentials of its user to such a request, but the page does not know the code.
pub(crate) struct Visitor {
    account: Option<Uuid>,
}

impl FromRequestParts<Museum> for Visitor {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, museum: &Museum) -> Result<Self, Problem> {
        let Caller { account } = Caller::from_request_parts(parts, museum).await?;
        let is_other = web::is_from_another_origin(parts, [museum.address.as_str()]);
        Ok(Visitor { account: (!is_other).then_some(account) })
    }
}

/// What opens the link of a ticket: the browser of a person, or a program with credentials.
pub(crate) enum Opener {
    /// The page asks for the credentials itself.
    Person,
    Program(Visitor),
}

impl FromRequestParts<Museum> for Opener {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, museum: &Museum) -> Result<Self, Problem> {
        if negotiate::prefers_html(&parts.headers) {
            return Ok(Opener::Person);
        }
        Visitor::from_request_parts(parts, museum).await.map(Opener::Program)
    }
}

/// A ticket is shown by its buyer, or by its code.
pub(super) struct Proof {
    pub(super) buyer: Option<Uuid>,
    pub(super) code: Option<String>,
}

impl Proof {
    pub(super) fn new(visitor: &Visitor, code: Code) -> Self {
        Proof { buyer: visitor.account, code: code.code }
    }
}
