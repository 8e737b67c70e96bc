//! The source of a payment: a card or a bank account. The member `object` has the kind.

use std::borrow::Cow;

use db::Word;
use model::Words;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Object, Ref, RefOr,
        schema::{Discriminator, OneOfBuilder, Schema},
    },
};
use web::{
    input::{
        Fields, Input,
        rules::{Components, Describe, HasSchema, component, text_object, word},
    },
    xml::{Element, ToXml, Xml},
};

use super::{
    account::{BankAccount, MaskedBankAccount},
    card::{Card, MaskedCard},
};

/// A card or a bank account.
pub(crate) enum Source {
    Card(Card),
    BankAccount(BankAccount),
}

/// The source of a payment, without the data that could be used for another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "object", rename_all = "snake_case")]
pub(crate) enum MaskedSource {
    Card(MaskedCard),
    BankAccount(MaskedBankAccount),
}

#[derive(Clone, Copy, Words)]
enum Kind {
    Card,
    BankAccount,
}

/// The member with the kind of source.
const OBJECT: &str = "object";

impl Input for Source {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        match fields.required(OBJECT, word::<Kind>())? {
            Kind::Card => Card::read(fields).map(Source::Card),
            Kind::BankAccount => BankAccount::read(fields).map(Source::BankAccount),
        }
    }
}

impl Source {
    pub(crate) fn masked(&self) -> MaskedSource {
        match self {
            Source::Card(card) => MaskedSource::Card(card.masked()),
            Source::BankAccount(account) => MaskedSource::BankAccount(account.masked()),
        }
    }

    /// The whole source as text, to compare bodies. It must not be stored or printed.
    pub(crate) fn fingerprint_text(&self) -> SecretString {
        let parts: Vec<String> = match self {
            Source::Card(card) => vec![
                Kind::Card.word().into(),
                card.name.clone(),
                card.number.expose_secret().into(),
                card.cvc.expose_secret().into(),
                card.exp_month.to_string(),
                card.exp_year.to_string(),
                format!("{:?}", (&card.address_line1, &card.address_line2, &card.address_city)),
                format!("{:?}", (&card.address_country, &card.address_post_code)),
            ],
            Source::BankAccount(account) => vec![
                Kind::BankAccount.word().into(),
                account.name.clone(),
                account.number.expose_secret().into(),
                format!("{:?}", (&account.sort_code, account.account_type.word())),
                format!("{:?}", (&account.bank_name, &account.country)),
            ],
        };
        format!("{parts:?}").into()
    }
}

impl MaskedSource {
    /// The source in a payment whose user was removed.
    pub(crate) fn removed() -> Self {
        MaskedSource::Card(MaskedCard {
            name: String::new(),
            number: String::new(),
            exp_month: 1,
            exp_year: 2000,
            address_city: None,
            address_country: String::new(),
            address_post_code: None,
        })
    }
}

impl Element for MaskedSource {
    fn write(&self, name: &'static str, xml: &mut Xml) {
        xml.element(name, |xml| match self {
            MaskedSource::Card(card) => {
                Kind::Card.write(OBJECT, xml);
                card.content(xml);
            }
            MaskedSource::BankAccount(account) => {
                Kind::BankAccount.write(OBJECT, xml);
                account.content(xml);
            }
        });
    }
}

/// The schema of a kind of source: its members, and the member with the kind.
fn of_kind<T: PartialSchema>(kind: Kind) -> Object {
    let RefOr::T(Schema::Object(mut object)) = T::schema() else { return Object::new() };
    let word = text_object().enum_values(Some([kind.word()]));
    object.properties.insert(OBJECT.into(), word.into());
    object.required.insert(0, OBJECT.into());
    object
}

impl PartialSchema for Source {
    fn schema() -> RefOr<Schema> {
        let mut kinds = Discriminator::new(OBJECT);
        let mut either = OneOfBuilder::new().description(Some("A card or a bank account."));
        for (kind, name) in [(Kind::Card, Card::name()), (Kind::BankAccount, BankAccount::name())] {
            let reference = Ref::from_schema_name(name);
            kinds.mapping.insert(kind.word().into(), reference.ref_location.clone());
            either = either.item(reference);
        }
        either.discriminator(Some(kinds)).into()
    }
}

impl ToSchema for Source {
    fn name() -> Cow<'static, str> {
        "PaymentSourceInput".into()
    }

    fn schemas(components: &mut Components) {
        components.push((Card::name().into(), of_kind::<Card>(Kind::Card).into()));
        components.push((BankAccount::name().into(), of_kind::<BankAccount>(Kind::BankAccount).into()));
    }
}

impl PartialSchema for MaskedSource {
    fn schema() -> RefOr<Schema> {
        let titled = |title: &str, mut object: Object| {
            object.title = Some(title.into());
            object
        };
        OneOfBuilder::new()
            .description(Some("What was paid with, without what could pay again."))
            .item(titled("Card", of_kind::<MaskedCard>(Kind::Card)))
            .item(titled("Bank account", of_kind::<MaskedBankAccount>(Kind::BankAccount)))
            .into()
    }
}

impl ToSchema for MaskedSource {
    fn name() -> Cow<'static, str> {
        "PaymentSource".into()
    }
}

impl HasSchema for MaskedSource {
    fn description() -> impl Describe {
        component::<Self>()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::account::AccountType, *};

    #[test]
    fn numbers_are_not_printed() {
        let (number, cvc): (SecretString, SecretString) = ("4242424242424242".into(), "987".into());
        let printed = format!("{number:?} {cvc:?}");
        assert!(!printed.contains("4242") && !printed.contains("987"), "{printed}");
        let card = Card {
            name: "A".into(),
            number,
            cvc,
            exp_month: 12,
            exp_year: 2031,
            address_line1: None,
            address_line2: None,
            address_city: None,
            address_country: "gb".into(),
            address_post_code: None,
        };
        let source = Source::Card(card);
        let printed = format!("{:?} {:?}", source.masked(), source.fingerprint_text());
        assert!(printed.contains("************4242") && !printed.contains("42424242"), "{printed}");
        assert!(!printed.contains("987"), "{printed}");
    }

    /// The fingerprints of stored requests were computed from this text.
    #[test]
    fn source_has_the_same_text_in_every_version() {
        let card = Source::Card(Card {
            name: "J. \"D\"".into(),
            number: "4242424242424242".into(),
            cvc: "123".into(),
            exp_month: 12,
            exp_year: 2031,
            address_line1: Some("1 Street".into()),
            address_line2: None,
            address_city: Some("London".into()),
            address_country: "gb".into(),
            address_post_code: None,
        });
        let text = r#"["card", "J. \"D\"", "4242424242424242", "123", "12", "2031", "(Some(\"1 Street\"), None, Some(\"London\"))", "(\"gb\", None)"]"#;
        assert_eq!(card.fingerprint_text().expose_secret(), text);
        let account = Source::BankAccount(BankAccount {
            name: "J".into(),
            number: "00012345".into(),
            sort_code: Some("000123".into()),
            account_type: AccountType::Individual,
            bank_name: "Bank".into(),
            country: "gb".into(),
        });
        let text = r#"["bank_account", "J", "00012345", "(Some(\"000123\"), \"individual\")", "(\"Bank\", \"gb\")"]"#;
        assert_eq!(account.fingerprint_text().expose_secret(), text);
    }
}
