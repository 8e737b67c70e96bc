//! Properties of the reader and the writer for random documents. Malformed documents with their errors are in
//! `tests/all/xml_bodies.rs`.

use proptest::prelude::*;

use super::{Element, parse};
use crate::xml::{ToXml, Xml, is_allowed};

/// A tree to write; the names are from a fixed list, since element names come from the code.
#[derive(Debug, Clone)]
enum Tree {
    Text(String),
    Children(Vec<(&'static str, Tree)>),
}

impl Tree {
    fn write(&self, xml: &mut Xml) {
        match self {
            Tree::Text(text) => xml.characters(text),
            Tree::Children(children) => {
                for (name, child) in children {
                    xml.element(name, |xml| child.write(xml));
                }
            }
        }
    }

    fn is(&self, element: &Element) -> bool {
        match self {
            Tree::Text(text) => element.children.is_empty() && element.text == *text,
            Tree::Children(children) => {
                let same = |((name, child), element): (&(&str, Tree), &Element)| {
                    *element.name == **name && child.is(element)
                };
                element.text.is_empty()
                    && element.children.len() == children.len()
                    && children.iter().zip(&element.children).all(same)
            }
        }
    }
}

impl ToXml for Tree {
    const ROOT: &'static str = "root";

    fn content(&self, xml: &mut Xml) {
        self.write(xml);
    }
}

/// Text of characters that occur in markup, and of any others.
fn text() -> impl Strategy<Value = String> {
    let markup =
        prop::sample::select("<>&;'\"]/!-?=: \t\r\n#x0aé\u{85}\u{2028}\u{feff}".chars().collect::<Vec<_>>());
    let any =
        prop_oneof![4 => markup, 1 => any::<char>()].prop_filter("XML can carry it", |c| is_allowed(*c));
    prop::collection::vec(any, 0..30).prop_map(String::from_iter)
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = text().prop_map(Tree::Text);
    leaf.prop_recursive(5, 40, 5, |inner| {
        let name = prop::sample::select(vec!["a", "b-c", "photoUrl", "größe"]);
        prop::collection::vec((name, inner), 1..5).prop_map(Tree::Children)
    })
}

/// Pieces of documents, joined in any order: most are nearly well formed.
fn nearly_xml() -> impl Strategy<Value = String> {
    let pieces = [
        "<root>",
        "</root>",
        "<root",
        "<a>",
        "</a>",
        "<a/>",
        "<a ",
        "/>",
        ">",
        "<",
        "a='b'",
        " ",
        "'",
        "\"",
        "=",
        "<!--",
        "-->",
        "--",
        "->",
        "<![CDATA[",
        "]]>",
        "]]",
        "<?",
        "?>",
        "<?xml ",
        "version='1.0'",
        "&",
        ";",
        "&amp;",
        "&#",
        "&#x",
        "41",
        "<!DOCTYPE",
        "[",
        "<!",
        "xmlns:p='u'",
        "p:",
        "é",
        "\0",
        "\r",
        "\u{feff}",
        "x",
        "xsi:nil='true'",
        "</",
        ":",
        "😀",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..25).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn written_document_is_read_back_unchanged(tree in tree()) {
        let document = String::from_utf8(Xml::document(&tree).unwrap()).unwrap();
        let read = parse(&document, "root").unwrap();
        prop_assert!(tree.is(&read), "{document}\n{read:?}");
    }

    #[test]
    fn text_with_forbidden_characters_is_not_written(text in any::<String>()) {
        let document = Xml::document(&Tree::Text(text.clone()));
        prop_assert_eq!(document.is_some(), text.chars().all(is_allowed));
    }

    #[test]
    fn malformed_document_is_rejected_with_a_short_reason(document in nearly_xml()) {
        if let Err(why) = parse(&document, "root") {
            prop_assert!(!why.is_empty() && why.len() < 500, "{}", why);
        }
    }
}
