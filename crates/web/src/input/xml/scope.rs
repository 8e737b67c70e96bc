//! Namespace prefixes.

use super::{tag::Attribute, trim};

/// How many prefixes may be in scope; each name is searched among them.
const MOST_PREFIXES: usize = 64;

const XSI: &str = "http://www.w3.org/2001/XMLSchema-instance";

/// The prefixes in scope of the current element.
#[derive(Default)]
pub(super) struct Scope(Vec<Prefix>);

struct Prefix {
    depth: usize,
    name: Box<str>,
    is_xsi: bool,
}

impl Scope {
    /// Enters an element at this depth: removes the prefixes of its siblings and adds its own.
    pub(super) fn enter(&mut self, depth: usize, attributes: &[Attribute<'_>]) -> Result<(), &'static str> {
        while self.0.pop_if(|prefix| prefix.depth >= depth).is_some() {}
        for attribute in attributes {
            let Some(name) = attribute.name.strip_prefix("xmlns:") else { continue };
            if self.0.len() == MOST_PREFIXES {
                return Err("there are too many namespaces");
            }
            self.0.push(Prefix { depth, name: name.into(), is_xsi: attribute.value == XSI });
        }
        Ok(())
    }

    /// A name without its prefix, which must be declared.
    pub(super) fn local_name<'n>(&self, name: &'n str) -> Result<&'n str, &'static str> {
        self.resolve(name).map(|(_, local)| local)
    }

    /// Whether the attributes make the element null (`xsi:nil`), rather than empty text.
    pub(super) fn is_nil(&self, attributes: &[Attribute<'_>]) -> Result<bool, &'static str> {
        let mut nil = false;
        for Attribute { name, value } in attributes {
            if *name == "xmlns" || name.starts_with("xmlns:") {
                continue;
            }
            if let (Some(Prefix { is_xsi: true, .. }), "nil") = self.resolve(name)? {
                nil = matches!(trim(value), "true" | "1");
            }
        }
        Ok(nil)
    }

    fn resolve<'n>(&self, name: &'n str) -> Result<(Option<&Prefix>, &'n str), &'static str> {
        match name.split_once(':') {
            None => Ok((None, name)),
            // Always declared: `xml:lang`, `xml:space`.
            Some(("xml", local)) => Ok((None, local)),
            Some((prefix, local)) => match self.0.iter().rev().find(|declared| *declared.name == *prefix) {
                Some(declared) => Ok((Some(declared), local)),
                None => Err("a prefix is not declared"),
            },
        }
    }
}
