#[derive(model::Resource)]
#[resource(closed)]
struct Pet {
    name: String,
}

fn main() {}
