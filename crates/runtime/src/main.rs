//! The `tokenmold` program: a thin door to the library.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
