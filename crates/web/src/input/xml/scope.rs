//! The prefixes of namespaces.

use super::{tag::Attribute, trim};

/// How many prefixes may be declared at one place; each name is looked for among them.
const MOST_PREFIXES: usize = 64;

const XSI: &str = "http://www.w3.org/2001/XMLSchema-instance";

/// The prefixes that are declared where the reader is.
#[derive(Default)]
pub(super) struct Scope(Vec<Prefix>);

struct Prefix {
    depth: usize,
    name: Box<str>,
    is_xsi: bool,
}

impl Scope {
    /// Comes to a tag that stands so deep: what its siblings declared is over, what it declares begins.
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

    /// A name without its prefix, which must have been declared.
    pub(super) fn local_name<'n>(&self, name: &'n str) -> Result<&'n str, &'static str> {
        self.resolve(name).map(|(_, local)| local)
    }

    /// Whether the attributes say that the element stands for nothing, rather than for empty text.
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
            // Declared for ever: `xml:lang`, `xml:space`.
            Some(("xml", local)) => Ok((None, local)),
            Some((prefix, local)) => match self.0.iter().rev().find(|declared| *declared.name == *prefix) {
                Some(declared) => Ok((Some(declared), local)),
                None => Err("a prefix is not declared"),
            },
        }
    }
}
