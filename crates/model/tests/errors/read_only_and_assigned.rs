#[derive(model::Resource)]
struct Pet {
    #[field(read_only, assigned)]
    id: i64,
}

fn main() {}
