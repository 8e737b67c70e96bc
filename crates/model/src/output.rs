//! Answers: JSON, XML, and the schema of both.

use darling::Result;
use proc_macro2::TokenStream;
use quote::quote;

use crate::{
    attributes::{Resource, documentation},
    member::{Member, Side, members},
};

pub(crate) fn derive(resource: &Resource) -> Result<TokenStream> {
    let all = members(resource)?;
    let answered: Vec<_> = all.iter().filter(|member| member.is_answered()).collect();
    let name = resource.name.clone().unwrap_or_else(|| resource.ident.to_string());
    let description = documentation(&resource.attrs);
    let mut tokens = serialize(resource, &answered);
    let required = |member: &Member<'_>| !member.is_optional();
    tokens.extend(schema(
        resource,
        &resource.ident,
        &name,
        &description,
        &answered,
        Side::Answered,
        required,
    ));
    let (ident, generics) = (&resource.ident, &resource.generics);
    let (for_all, of, conditions) = generics.split_for_impl();
    tokens.extend(quote! {
        impl #for_all ::web::input::rules::HasSchema for #ident #of #conditions {
            fn description() -> impl ::web::input::rules::Describe {
                ::web::input::rules::component::<Self>()
            }
        }
    });
    if let Some(root) = &resource.xml {
        tokens.extend(xml(resource, root, &answered));
    }
    if let Some(list) = &resource.list {
        tokens.extend(quote! {
            impl #for_all ::web::xml::Listed for #ident #of #conditions {
                const LIST: &'static str = #list;
            }
        });
    }
    Ok(tokens)
}

fn serialize(resource: &Resource, members: &[&Member<'_>]) -> TokenStream {
    let (ident, count) = (&resource.ident, members.len());
    let (for_all, of, conditions) = resource.generics.split_for_impl();
    let written = members.iter().map(|member| {
        let (field, name) = (member.ident, &member.name);
        if member.is_optional() {
            quote! {
                if let Some(value) = &self.#field {
                    ::serde::ser::SerializeStruct::serialize_field(&mut members, #name, value)?;
                }
            }
        } else {
            quote!(::serde::ser::SerializeStruct::serialize_field(&mut members, #name, &self.#field)?;)
        }
    });
    let text = ident.to_string();
    quote! {
        impl #for_all ::serde::Serialize for #ident #of #conditions {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> ::core::result::Result<S::Ok, S::Error> {
                let mut members = serializer.serialize_struct(#text, #count)?;
                #(#written)*
                ::serde::ser::SerializeStruct::end(members)
            }
        }
    }
}

fn xml(resource: &Resource, root: &str, members: &[&Member<'_>]) -> TokenStream {
    let ident = &resource.ident;
    let (for_all, of, conditions) = resource.generics.split_for_impl();
    let written = members.iter().map(|member| {
        let (field, name) = (member.ident, &member.name);
        match member.element() {
            Some(element) => {
                let name = member.field.xml_name.as_ref().unwrap_or(name);
                let list = if member.is_optional() {
                    quote!(self.#field.as_ref())
                } else {
                    quote!(Some(&self.#field))
                };
                quote!(xml.list(#name, #element, #list);)
            }
            None => quote!(::web::xml::Element::write(&self.#field, #name, xml);),
        }
    });
    quote! {
        impl #for_all ::web::xml::ToXml for #ident #of #conditions {
            const ROOT: &'static str = #root;

            fn content(&self, xml: &mut ::web::xml::Xml) {
                #(#written)*
            }
        }

        impl #for_all ::web::xml::Element for #ident #of #conditions {
            fn write(&self, name: &'static str, xml: &mut ::web::xml::Xml) {
                xml.element(name, |xml| ::web::xml::ToXml::content(self, xml));
            }
        }
    }
}

/// The schema of a struct that has these members.
pub(crate) fn schema(
    resource: &Resource,
    ident: &syn::Ident,
    name: &str,
    description: &str,
    members: &[&Member<'_>],
    side: Side,
    required: impl Fn(&Member<'_>) -> bool,
) -> TokenStream {
    let (for_all, of, conditions) = resource.generics.split_for_impl();
    let root = match &resource.xml {
        Some(root) => quote!(Some(#root)),
        None => quote!(None),
    };
    let rules: Vec<_> = members.iter().map(|member| member.rule(side)).collect();
    let described = members.iter().map(|member| member.described(side, required(member)));
    let finished = match &resource.described {
        Some(described) => quote!(#described(object)),
        None => quote!(object.into()),
    };
    let finished = quote!(::utoipa::openapi::RefOr::T(#finished));
    let closed = (resource.closed.is_present() && (side != Side::Answered || resource.readable))
        .then(|| quote!(::web::schema::close(&mut object);));
    // Notes the formats of a body, or the element of a list, for the operations that name the type.
    let noted = match (side, &resource.list) {
        (Side::Read | Side::Changed, _) => quote!(::web::openapi::accepted_formats::<Self>(#finished)),
        (Side::Answered, Some(list)) => quote!(::web::openapi::listed(#finished, #list)),
        (Side::Answered, None) => finished,
    };
    quote! {
        impl #for_all ::utoipa::PartialSchema for #ident #of #conditions {
            fn schema() -> ::utoipa::openapi::RefOr<::utoipa::openapi::schema::Schema> {
                #[allow(unused_imports)]
                use ::web::input::rules::*;
                let mut object = ::web::schema::object(#description, #root);
                #(::web::schema::add(&mut object, &#rules, #described);)*
                #closed
                #noted
            }
        }

        impl #for_all ::utoipa::ToSchema for #ident #of #conditions {
            fn name() -> ::std::borrow::Cow<'static, str> {
                #name.into()
            }

            fn schemas(components: &mut ::web::input::rules::Components) {
                #[allow(unused_imports)]
                use ::web::input::rules::*;
                #(::web::input::rules::Describe::components(&#rules, components);)*
            }
        }
    }
}
