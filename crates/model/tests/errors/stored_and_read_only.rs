#[derive(model::Record)]
struct Reader {
    #[field(stored, read_only)]
    account_id: i64,
}

fn main() {}
