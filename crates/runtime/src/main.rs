//! The `tokenmold` program.

fn main() {
    println!("tokenmold {}", env!("CARGO_PKG_VERSION"));
}
