#[derive(model::Resource)]
enum Pet {
    Dog,
}

#[derive(model::Words)]
struct Status;

fn main() {}
