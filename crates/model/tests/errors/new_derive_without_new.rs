#[derive(model::Resource)]
#[resource(new_derive(Debug))]
struct Pet {
    id: i64,
}

fn main() {}
