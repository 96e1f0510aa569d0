//! The `tokenmold` program: a thin door to the library. For example, `tokenmold regex --schema
//! person.json` is all in `cli`.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
