//! A user in XML.

use web::xml::{ToXml, Xml};

use super::User;

impl ToXml for User {
    const ROOT: &'static str = "user";

    fn content(&self, xml: &mut Xml) {
        xml.value("id", self.id);
        xml.text("username", &self.username);
        for (name, text) in [
            ("firstName", &self.first_name),
            ("lastName", &self.last_name),
            ("email", &self.email),
            ("phone", &self.phone),
        ] {
            if let Some(text) = text {
                xml.text(name, text);
            }
        }
        if let Some(status) = self.user_status {
            xml.value("userStatus", status);
        }
    }
}
