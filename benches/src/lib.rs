//! Shared parts of Tokenmold's measuring programs.
