//! A pet in XML.

use web::xml::{ToXml, Xml};

use super::{Named, Pet};

impl ToXml for Pet {
    const ROOT: &'static str = "pet";

    fn content(&self, xml: &mut Xml) {
        xml.value("id", self.id);
        if let Some(category) = &self.category {
            xml.element("category", |xml| category.content(xml));
        }
        xml.text("name", &self.name);
        xml.element("photoUrls", |xml| self.photo_urls.iter().for_each(|photo| xml.text("photoUrl", photo)));
        if let Some(tags) = &self.tags {
            xml.element("tags", |xml| {
                for tag in tags {
                    xml.element("tag", |xml| tag.content(xml));
                }
            });
        }
        if let Some(status) = self.status {
            xml.text("status", status.word());
        }
    }
}

impl Named {
    fn content(&self, xml: &mut Xml) {
        if let Some(id) = self.id {
            xml.value("id", id);
        }
        if let Some(name) = &self.name {
            xml.text("name", name);
        }
    }
}
