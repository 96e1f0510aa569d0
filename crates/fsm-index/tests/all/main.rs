//! The tests of this crate from outside, in one program.

mod behaviour;
mod damaged_files;
mod descriptions;
mod endings;
mod ends;
mod json_like;
mod lazy;
mod lexemes;
mod nested;
mod no_json;
mod oracle;
mod real_vocabularies;
mod regex_limits;
mod spelling;
mod tables;
mod unsure;
