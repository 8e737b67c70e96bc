#[derive(model::Record)]
struct Reader {
    #[field(changeable)]
    id: i64,
}

fn main() {}
