//! The `tokenmold` program: a thin door to the library. For example, `tokenmold regex --schema
//! person.json` is all in `cli`.
//!
//! It has an allocator of its own. A server compiles constraints on several threads and frees them on others, and the one of
//! glibc keeps what was freed for the thread that asked for it: `docs/SERVER.md` has the figures of a flood with either.

mod cli;

/// It is mimalloc because glibc's allocator keeps what was freed for each thread.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    cli::main()
}
