//! A member, as used by all macros.

use darling::{Error, Result, util::PreservedStrExpr};
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{GenericArgument, Ident, PathArguments, Type, Visibility, spanned::Spanned};

use crate::attributes::{Field, Resource, documentation};

pub(crate) struct Member<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) vis: &'a Visibility,
    pub(crate) ty: &'a Type,
    /// The type without the `Option` around it.
    pub(crate) inner: &'a Type,
    pub(crate) name: String,
    pub(crate) field: &'a Field,
    /// Whether the resource can be written as XML.
    in_xml: bool,
}

/// Which side a description is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Read,
    /// Read by a change: an absent member is not changed.
    Changed,
    Answered,
}

pub(crate) fn members(resource: &Resource) -> Result<Vec<Member<'_>>> {
    let Some(fields) = resource.data.as_ref().take_struct() else {
        return Err(Error::custom("only a struct with named members can be declared so"));
    };
    let mut errors = Error::accumulator();
    let members: Vec<_> = fields
        .fields
        .into_iter()
        .filter_map(|field| errors.handle_in(|| Member::new(resource, field)))
        .collect();
    errors.finish_with(members)
}

impl<'a> Member<'a> {
    fn new(resource: &'a Resource, field: &'a Field) -> Result<Self> {
        let Some(ident) = &field.ident else { return Err(Error::custom("a member needs a name")) };
        let wrong = |text: &str| Err(Error::custom(text).with_span(ident));
        if field.rule.is_some() && field.items.is_some() {
            return wrong("`rule` and `items` are two ways to say what a list is: state one of them");
        }
        if field.items.is_none() && (field.each.is_some() || field.element.is_some()) {
            return wrong("`each` and `element` are for a list: state how many `items` it has");
        }
        if field.read_only.is_present() && (field.write_only.is_present() || field.assigned.is_present()) {
            return wrong("a member that is only answered can be neither `write_only` nor `assigned`");
        }
        if field.stored.is_present()
            && (field.read_only.is_present()
                || field.write_only.is_present()
                || field.assigned.is_present()
                || field.computed.is_present())
        {
            return wrong("a `stored` member is a column, and neither read nor answered");
        }
        if field.changeable.is_present() && !field.assigned.is_present() {
            return wrong("`changeable` is for an `assigned` member: all others can be changed anyway");
        }
        if field.computed.is_present() && (field.json.is_present() || field.column.is_some()) {
            return wrong("a `computed` member has no column");
        }
        let declared = ident.to_string();
        let name = match (&field.name, resource.case.as_deref()) {
            (Some(name), _) => name.clone(),
            (None, None) => declared,
            (None, Some("camelCase")) => camel_case(&declared),
            (None, Some(other)) => {
                return wrong(&format!(
                    "`case = \"{other}\"` is unknown: leave it out, or use \"camelCase\""
                ));
            }
        };
        let (ty, inner) = (&field.ty, argument(&field.ty, "Option").unwrap_or(&field.ty));
        let in_xml = resource.xml.is_some();
        Ok(Member { ident, vis: &field.vis, ty, inner, name, field, in_xml })
    }

    pub(crate) fn is_optional(&self) -> bool {
        argument(self.ty, "Option").is_some()
    }

    pub(crate) fn is_answered(&self) -> bool {
        !self.field.write_only.is_present() && !self.field.stored.is_present()
    }

    pub(crate) fn is_read(&self) -> bool {
        !self.field.read_only.is_present() && !self.field.stored.is_present()
    }

    /// Whether a client can change it.
    pub(crate) fn is_changeable(&self) -> bool {
        self.is_read() && (!self.is_assigned() || self.field.changeable.is_present())
    }

    pub(crate) fn is_assigned(&self) -> bool {
        self.field.assigned.is_present()
    }

    pub(crate) fn is_column(&self) -> bool {
        !self.field.computed.is_present() && !self.field.write_only.is_present()
    }

    /// The type of a list's items.
    pub(crate) fn item(&self) -> Option<&Type> {
        argument(self.inner, "Vec")
    }

    /// The element of a list's item in XML.
    pub(crate) fn element(&self) -> Option<TokenStream> {
        self.field.items.as_ref()?;
        let item = self.item()?;
        Some(match &self.field.element {
            Some(element) => quote!(#element),
            None => quote_spanned!(item.span()=> <#item as ::web::xml::ToXml>::ROOT),
        })
    }

    /// The rule, or what describes a member that is only answered.
    pub(crate) fn rule(&self, side: Side) -> TokenStream {
        let own = |ty: &Type| match side {
            Side::Read | Side::Changed => {
                quote_spanned!(ty.span()=> <#ty as ::web::input::rules::HasRule>::rule())
            }
            Side::Answered => {
                quote_spanned!(ty.span()=> <#ty as ::web::input::rules::HasSchema>::description())
            }
        };
        if let Some(rule) = &self.field.rule {
            return quote!(#rule);
        }
        let Some(items) = &self.field.items else { return own(self.inner) };
        let each = match (&self.field.each, self.item()) {
            (Some(each), _) => quote!(#each),
            (None, Some(item)) => own(item),
            (None, None) => own(self.inner),
        };
        let of = self.element().filter(|_| self.in_xml).map(|element| quote!(.of(#element)));
        quote!(list(#items, #each)#of)
    }

    /// The description for the document: an expression of type `web::schema::Member`.
    pub(crate) fn described(&self, side: Side, required: bool) -> TokenStream {
        let name = &self.name;
        let documented = documentation(&self.field.attrs);
        let description = match (side, &self.field.input_doc) {
            (Side::Changed, _) if self.field.changes_doc.is_some() => {
                self.field.changes_doc.clone().unwrap_or_default()
            }
            (Side::Read | Side::Changed, Some(doc)) => doc.clone(),
            (Side::Read, None) if self.is_assigned() && !required => "Assigned if it is absent.".to_owned(),
            _ => documented,
        };
        let value = |value: &Option<PreservedStrExpr>| match value {
            Some(value) => quote!(::web::schema::value(#value)),
            None => quote!(None),
        };
        let example = value(&self.field.example);
        let default = if side == Side::Read { value(&self.field.default) } else { quote!(None) };
        let write_only = self.field.write_only.is_present();
        let xml_name = match &self.field.xml_name {
            Some(name) => quote!(Some(#name)),
            None => quote!(None),
        };
        quote! {
            ::web::schema::Member {
                name: #name,
                description: #description,
                required: #required,
                example: #example,
                default: #default,
                write_only: #write_only,
                xml_name: #xml_name,
            }
        }
    }
}

/// `T` of `Wrapper<T>`.
pub(crate) fn argument<'t>(ty: &'t Type, wrapper: &str) -> Option<&'t Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == wrapper)?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first() {
        Some(GenericArgument::Type(ty)) => Some(ty),
        _ => None,
    }
}

pub(crate) fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut whole = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        whole.extend(letters.next().into_iter().flat_map(char::to_uppercase));
        whole.push_str(letters.as_str());
    }
    whole
}
