//! What the clients of a place write.

use crate::installation::Service;

/// What a client writes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Pets,
    Orders,
    Users,
    Events,
    Tickets,
    Bookings,
}

impl Kind {
    /// The clients of a place.
    pub(crate) const CLIENTS: [Kind; 14] = [
        Kind::Pets,
        Kind::Pets,
        Kind::Pets,
        Kind::Orders,
        Kind::Orders,
        Kind::Users,
        Kind::Events,
        Kind::Events,
        Kind::Tickets,
        Kind::Tickets,
        Kind::Bookings,
        Kind::Bookings,
        Kind::Bookings,
        Kind::Bookings,
    ];

    pub(crate) fn service(self) -> Service {
        match self {
            Kind::Pets | Kind::Orders | Kind::Users => Service::Petstore,
            Kind::Events | Kind::Tickets => Service::Museum,
            Kind::Bookings => Service::Train,
        }
    }
}
