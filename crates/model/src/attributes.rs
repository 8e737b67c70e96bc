//! The attributes of a declaration.

use darling::{
    FromDeriveInput, FromField,
    ast::Data,
    util::{Flag, PathList, PreservedStrExpr},
};
use syn::{Attribute, Expr, Generics, Ident, Lit, Meta, Path, Type, Visibility};

#[derive(FromDeriveInput)]
#[darling(attributes(resource), forward_attrs(doc), supports(struct_named))]
pub(crate) struct Resource {
    pub(crate) ident: Ident,
    pub(crate) vis: Visibility,
    pub(crate) generics: Generics,
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) data: Data<(), Field>,
    pub(crate) name: Option<String>,
    pub(crate) case: Option<String>,
    pub(crate) xml: Option<String>,
    /// The XML element of a list of them.
    pub(crate) list: Option<String>,
    pub(crate) new: Option<Ident>,
    pub(crate) new_name: Option<String>,
    pub(crate) new_doc: Option<String>,
    /// Further traits that the view for creation derives.
    #[darling(default)]
    pub(crate) new_derive: PathList,
    pub(crate) replace: Option<Ident>,
    pub(crate) changes: Option<Ident>,
    pub(crate) changes_doc: Option<String>,
    #[darling(default)]
    pub(crate) form: bool,
    pub(crate) broken: Option<Path>,
    pub(crate) check: Option<Path>,
    pub(crate) described: Option<Path>,
    #[darling(default)]
    pub(crate) table: bool,
    /// Whether it is read in the form of its answer, as a part of another resource.
    #[darling(default)]
    pub(crate) readable: bool,
    /// Whether a member that it does not have is a validation error.
    pub(crate) closed: Flag,
}

#[derive(FromField)]
#[darling(attributes(field), forward_attrs(doc))]
pub(crate) struct Field {
    pub(crate) ident: Option<Ident>,
    pub(crate) vis: Visibility,
    pub(crate) ty: Type,
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) name: Option<String>,
    pub(crate) rule: Option<PreservedStrExpr>,
    pub(crate) items: Option<PreservedStrExpr>,
    pub(crate) each: Option<PreservedStrExpr>,
    pub(crate) element: Option<String>,
    /// The element of a list, if its name differs from the member's.
    pub(crate) xml_name: Option<String>,
    pub(crate) example: Option<PreservedStrExpr>,
    pub(crate) default: Option<PreservedStrExpr>,
    pub(crate) input_doc: Option<String>,
    pub(crate) changes_doc: Option<String>,
    pub(crate) column: Option<String>,
    pub(crate) assigned: Flag,
    /// Whether `changes` has it although it is assigned.
    pub(crate) changeable: Flag,
    /// Whether it is only a column.
    pub(crate) stored: Flag,
    pub(crate) read_only: Flag,
    pub(crate) write_only: Flag,
    pub(crate) json: Flag,
    pub(crate) computed: Flag,
}

/// The text of doc comments, line by line.
pub(crate) fn documentation(attrs: &[Attribute]) -> String {
    let lines = attrs.iter().filter_map(|attr| match &attr.meta {
        Meta::NameValue(doc) => match &doc.value {
            Expr::Lit(text) => match &text.lit {
                Lit::Str(text) => Some(text.value().trim().to_owned()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    let lines: Vec<_> = lines.collect();
    lines.join("\n").trim().to_owned()
}
