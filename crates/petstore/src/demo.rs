//! Demo data: pets, an order, users, an API key.

use std::iter;

use ::service::{Description, Instance};
use db::{Error, WriteTx};
use identity::{
    Accounts, ApiKeys, ChangeError, PasswordHash,
    account::{self, Name},
};
use jiff::Timestamp;
use web::Random;

use crate::{
    OpenError, Petstore, ids,
    order::{self, Order, OrderStatus},
    pet::{self, Category, Pet, Status, Tag},
    user::{self, User},
};

/// The demo's users: name and password.
pub const USERS: &[(&str, &str)] = &[("demo", "demo"), ("theUser", "12345"), ("user1", "password")];

/// The demo's API key.
pub const API_KEY: &str = "special-key";

const KEY_NAME: &str = "demo";

struct DemoPet {
    id: i64,
    name: &'static str,
    category: (i64, &'static str),
    tags: &'static [(i64, &'static str)],
    status: Status,
}

const DOGS: (i64, &str) = (1, "Dogs");
const CATS: (i64, &str) = (2, "Cats");
const RABBITS: (i64, &str) = (3, "Rabbits");
const LIONS: (i64, &str) = (4, "Lions");

const TAG1: (i64, &str) = (1, "tag1");
const TAG2: (i64, &str) = (2, "tag2");
const TAG3: (i64, &str) = (3, "tag3");

const PETS: &[DemoPet] = &[
    DemoPet { id: 1, name: "Minka", category: CATS, tags: &[TAG1, TAG2], status: Status::Available },
    DemoPet { id: 2, name: "Tiger", category: CATS, tags: &[TAG2, TAG3], status: Status::Available },
    DemoPet { id: 3, name: "Pixel", category: CATS, tags: &[TAG3], status: Status::Pending },
    DemoPet { id: 4, name: "Bello", category: DOGS, tags: &[TAG1, TAG2], status: Status::Available },
    DemoPet { id: 5, name: "Waldi", category: DOGS, tags: &[TAG2, TAG3], status: Status::Sold },
    DemoPet { id: 6, name: "Rex", category: DOGS, tags: &[TAG3], status: Status::Pending },
    DemoPet { id: 7, name: "Leo", category: LIONS, tags: &[TAG1], status: Status::Available },
    DemoPet { id: 8, name: "Nala", category: LIONS, tags: &[TAG2, TAG3], status: Status::Available },
    DemoPet { id: 9, name: "Sphinx", category: LIONS, tags: &[TAG1, TAG2, TAG3], status: Status::Available },
    DemoPet { id: 10, name: "Hopper", category: RABBITS, tags: &[TAG3], status: Status::Sold },
    DemoPet { id: 198_772, name: "doggie", category: DOGS, tags: &[TAG1], status: Status::Available },
];

impl Petstore {
    /// Adds the demo data once. Call it at every start.
    pub(crate) async fn add_demo_data(&self) -> Result<(), OpenError> {
        let brought =
            self.db.read(|tx| tx.row("SELECT 1 FROM demo_brought", &[], |row| row.get::<i64>(0))).await?;
        if brought.is_some() {
            return Ok(());
        }
        self.keys.add_demo(KEY_NAME, API_KEY).await?;
        let mut users = Vec::new();
        for (sign_in, user) in USERS.iter().zip(profiles()) {
            users.push(DemoUser::new(*sign_in, user, &self.accounts).await?);
        }
        let (now, random) = (self.clock.now(), self.random.clone());
        let ship_date = now.round(jiff::Unit::Second).ok();
        self.db
            .write(move |tx| {
                let first_time =
                    tx.execute("INSERT INTO demo_brought (id) VALUES (1) ON CONFLICT (id) DO NOTHING", &[])?;
                if first_time == 0 {
                    return Ok(());
                }
                for pet in PETS {
                    pet::store::insert(tx, &pet.as_pet())?;
                }
                let order = Order {
                    id: 10,
                    pet_id: 198_772,
                    quantity: 7,
                    ship_date,
                    status: OrderStatus::Approved,
                    complete: true,
                };
                order::store::insert(tx, order, order::store::Pets::MustExist)?;
                for user in &users {
                    user.insert(tx, now, &random)?;
                }
                start_ids_after_demo(tx)
            })
            .await?;
        Ok(())
    }
}

/// Adds the users of the demo and its API key where they are missing.
pub(crate) async fn add_sign_in(service: &Description, instance: &Instance) -> Result<(), OpenError> {
    let Instance { db, clock, random, demo, .. } = instance;
    let keys = ApiKeys::new(*demo, db.clone(), clock.clone(), random.clone());
    if !keys.is_valid(API_KEY).await? {
        keys.add_demo(KEY_NAME, API_KEY).await?;
    }
    for (sign_in, user) in USERS.iter().zip(profiles()) {
        if !account::exists(db, sign_in.0).await? {
            let user = DemoUser::new(*sign_in, user, &service.accounts(instance)?).await?;
            let (now, random) = (clock.now(), random.clone());
            db.write(move |tx| user.insert(tx, now, &random)).await?;
        }
    }
    Ok(())
}

/// A user of the demo, before it is added.
struct DemoUser {
    name: Name,
    hash: PasswordHash,
    user: User,
}

impl DemoUser {
    async fn new(
        (name, password): (&str, &str),
        user: User,
        accounts: &Accounts,
    ) -> Result<Self, ChangeError> {
        let hash = accounts.hash_demo(password).await?;
        Ok(DemoUser { name: Name::new(name)?, hash, user })
    }

    /// Adds the user, unless the name is taken.
    fn insert(&self, tx: &mut WriteTx<'_>, now: Timestamp, random: &Random) -> Result<(), Error> {
        let account = random.uuid(now);
        if !account::insert_demo(tx, account, &self.name, Some(&self.hash), now)? {
            return Ok(());
        }
        // A store that was used before it became a demo may have a user with this id.
        let mut ids = iter::once(self.user.id).chain(iter::repeat_with(|| ids::random(random)));
        while let Some(id) = ids.next()
            && !user::store::insert_profile(tx, &User { account_id: account, id, ..self.user.clone() })?
        {
        }
        Ok(())
    }
}

/// Assigned ids start after those of the demo.
fn start_ids_after_demo(tx: &mut WriteTx<'_>) -> Result<(), Error> {
    for (kind, next) in [("pet", 11_i64), ("order", 11), ("user", 11)] {
        tx.execute("UPDATE next_id SET id = $2 WHERE kind = $1 AND id < $2", &[kind.into(), next.into()])?;
    }
    Ok(())
}

/// The users' ids and profiles.
fn profiles() -> [User; 3] {
    let profile = |id: i64, first: &str, last: &str, email: &str, phone: &str| User {
        id,
        first_name: Some(first.into()),
        last_name: Some(last.into()),
        email: Some(email.into()),
        phone: Some(phone.into()),
        user_status: Some(1),
        ..User::default()
    };
    [
        profile(2, "Dana", "Demo", "demo@example.com", "555-0100"),
        profile(10, "John", "James", "john@example.com", "12345"),
        profile(1, "Una", "One", "user1@example.com", "555-0101"),
    ]
}

impl DemoPet {
    #[allow(clippy::needless_update, reason = "a member that pets get later is absent here")]
    fn as_pet(&self) -> Pet {
        let (category, name) = self.category;
        let tag = |(id, name): (i64, &str)| Tag { id: Some(id), name: Some(name.into()) };
        Pet {
            id: self.id,
            category: Some(Category { id: Some(category), name: Some(name.into()) }),
            name: self.name.into(),
            photo_urls: vec![format!("https://example.com/pets/{}.jpg", self.id)],
            tags: Some(self.tags.iter().copied().map(tag).collect()),
            status: Some(self.status),
            ..Pet::default()
        }
    }
}
