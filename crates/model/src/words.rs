//! Enumerations whose variants are words.

use darling::{Error, FromDeriveInput, FromVariant, Result, ast::Data};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, DeriveInput, Ident};

use crate::attributes::documentation;

#[derive(FromDeriveInput)]
#[darling(attributes(words), forward_attrs(doc), supports(enum_unit))]
struct Words {
    ident: Ident,
    attrs: Vec<Attribute>,
    data: Data<Word, ()>,
    /// The name of its schema, if that is not the enumeration's.
    name: Option<String>,
    /// Whether its schema is inline, instead of a component.
    #[darling(default)]
    inline: bool,
}

#[derive(FromVariant)]
#[darling(attributes(words))]
struct Word {
    ident: Ident,
    /// Its word, if that is not its name in snake case.
    word: Option<String>,
}

pub(crate) fn derive(item: &DeriveInput) -> Result<TokenStream> {
    let Words { ident, attrs, data, name, inline } = Words::from_derive_input(item)?;
    let Some(variants) = data.take_enum() else {
        return Err(Error::custom("only an enumeration has words").with_span(&ident));
    };
    let words: Vec<_> = variants
        .iter()
        .map(|variant| variant.word.clone().unwrap_or_else(|| snake_case(&variant.ident.to_string())))
        .collect();
    let variants: Vec<_> = variants.iter().map(|variant| &variant.ident).collect();
    let name = name.unwrap_or_else(|| ident.to_string());
    let description = documentation(&attrs);
    let inline = inline.then(|| quote!(.inline()));
    let rule = quote!(::web::input::rules::word::<Self>()#inline);
    Ok(quote! {
        impl ::db::Word for #ident {
            const WORDS: &'static [(&'static str, Self)] = &[#((#words, #ident::#variants)),*];

            fn word(self) -> &'static str {
                match self {
                    #(#ident::#variants => #words,)*
                }
            }
        }

        impl ::serde::Serialize for #ident {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> ::core::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(::db::Word::word(*self))
            }
        }

        impl<'de> ::serde::Deserialize<'de> for #ident {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> ::core::result::Result<Self, D::Error> {
                let word = <::std::borrow::Cow<'de, str> as ::serde::Deserialize>::deserialize(deserializer)?;
                <Self as ::db::Word>::from_word(&word)
                    .ok_or_else(|| ::serde::de::Error::unknown_variant(&word, &[#(#words),*]))
            }
        }

        impl ::web::xml::Element for #ident {
            fn write(&self, name: &'static str, xml: &mut ::web::xml::Xml) {
                xml.text(name, ::db::Word::word(*self));
            }
        }

        impl ::utoipa::PartialSchema for #ident {
            fn schema() -> ::utoipa::openapi::RefOr<::utoipa::openapi::schema::Schema> {
                ::web::schema::words(#description, &[#(#words),*])
            }
        }

        impl ::utoipa::ToSchema for #ident {
            fn name() -> ::std::borrow::Cow<'static, str> {
                #name.into()
            }
        }

        impl ::web::input::rules::HasRule for #ident {
            fn rule() -> impl ::web::input::rules::Rule<Value = Self> {
                #rule
            }
        }

        impl ::web::input::rules::HasSchema for #ident {
            fn description() -> impl ::web::input::rules::Describe {
                #rule
            }
        }
    })
}

fn snake_case(name: &str) -> String {
    let mut word = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !word.is_empty() {
            word.push('_');
        }
        word.extend(letter.to_lowercase());
    }
    word
}
