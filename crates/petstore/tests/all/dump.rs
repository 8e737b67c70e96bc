//! All rows of the store.

use crate::fixture::Open;

impl Open {
    /// All rows of the store as text, to check that a request changed nothing.
    pub(crate) async fn dump(&self) -> String {
        let read = self.db.snapshot(|tx| {
            let mut all = Vec::new();
            for table in [
                "SELECT CAST(p.id AS TEXT) || '|' || p.name || '|' || COALESCE(CAST(p.category AS TEXT), '-') || '|' ||
                 CAST(p.photo_urls AS TEXT) || '|' || COALESCE(CAST(p.tags AS TEXT), '-') || '|' ||
                 COALESCE(p.status, '-') FROM pet AS p ORDER BY p.id",
                "SELECT name || '|' || CAST(pet_id AS TEXT) FROM pet_tag ORDER BY pet_id, name",
                "SELECT status || '|' || CAST(sum(pets) AS TEXT) FROM pet_count GROUP BY status ORDER BY status",
                "SELECT media_type || '|' || CAST(size AS TEXT) FROM pet_image ORDER BY id",
                "SELECT CAST(image_id AS TEXT) || '|' || CAST(number AS TEXT) FROM pet_image_part ORDER BY image_id, number",
                "SELECT CAST(id AS TEXT) || '|' || CAST(pet_id AS TEXT) || '|' || CAST(quantity AS TEXT) || '|' ||
                 COALESCE(CAST(ship_date AS TEXT), '-') || '|' || status || '|' || CAST(complete AS TEXT)
                 FROM store_order ORDER BY id",
                "SELECT account.name || '|' || COALESCE(password_hash, '-') || '|' || CAST(store_user.id AS TEXT) || '|' ||
                 COALESCE(first_name, '-') || '|' || COALESCE(last_name, '-') || '|' || COALESCE(email, '-') || '|' ||
                 COALESCE(phone, '-') || '|' || COALESCE(CAST(user_status AS TEXT), '-')
                 FROM account LEFT JOIN store_user ON store_user.account_id = account.id ORDER BY account.name",
            ] {
                all.extend(tx.rows(table, &[], |row| row.get::<Option<String>>(0))?);
                all.push(Some("----".into()));
            }
            Ok::<_, db::Error>(all)
        });
        let rows = read.await.unwrap_or_else(|error| panic!("{error}"));
        rows.into_iter().map(|row| row.unwrap_or_else(|| "null".into()) + "\n").collect()
    }
}
