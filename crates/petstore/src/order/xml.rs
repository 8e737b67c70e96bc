//! An order in XML.

use web::xml::{ToXml, Xml};

use super::Order;

impl ToXml for Order {
    const ROOT: &'static str = "order";

    fn content(&self, xml: &mut Xml) {
        xml.value("id", self.id);
        xml.value("petId", self.pet_id);
        xml.value("quantity", self.quantity);
        if let Some(ship_date) = self.ship_date {
            xml.value("shipDate", ship_date);
        }
        xml.text("status", self.status.word());
        xml.value("complete", self.complete);
    }
}
