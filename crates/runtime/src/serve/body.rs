//! The bodies of requests, read with the place of what is wrong in them. For example, the body
//! `{"n": "x"}` is wrong at `n`, and `{"questions": [{"type": "guess"}]}` at `questions[0].type`.

use std::collections::HashSet;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::error::ApiError;

/// Reads a request's body, whose members belong to either type. The error says where it is wrong, or
/// which member is not known.
pub(super) fn read<A: DeserializeOwned, B: DeserializeOwned>(
    body: &[u8],
) -> Result<(A, B), ApiError> {
    let (first, passed) = read_part(body, "")?;
    let (second, also_passed): (B, HashSet<String>) = read_part(body, "")?;
    let mut unknown = passed.intersection(&also_passed);
    match unknown.find(|name| !IGNORED.contains(&name.as_str())) {
        None => Ok((first, second)),
        Some(name) => Err(ApiError::invalid(name, "this server has no such member")),
    }
}

/// Reads a request's body, whose type refuses unknown members itself.
pub(super) fn read_alone<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    read_part(body, "").map(|(read, _)| read)
}

/// Reads a part of a body that stands at `place`. Its type refuses unknown members itself.
pub(super) fn read_inside<T: DeserializeOwned>(
    part: &RawValue,
    place: &str,
) -> Result<T, ApiError> {
    read_part(part.get().as_bytes(), place).map(|(read, _)| read)
}

/// Reads the members of a body that one type has, of a part that stands at `place`, and the paths of those that it has not.
fn read_part<T: DeserializeOwned>(
    body: &[u8],
    place: &str,
) -> Result<(T, HashSet<String>), ApiError> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let mut track = serde_path_to_error::Track::new();
    let mut passed = HashSet::new();
    let mut pass = |path: serde_ignored::Path<'_>| {
        passed.insert(path.to_string());
    };
    let tracked = serde_path_to_error::Deserializer::new(&mut reader, &mut track);
    let read = T::deserialize(serde_ignored::Deserializer::new(tracked, &mut pass));
    let read = read.and_then(|read| reader.end().map(|()| read));
    match read {
        Ok(read) => Ok((read, passed)),
        Err(error) => {
            let path = track.path().to_string();
            let param = match (place, path.as_str()) {
                ("", ".") => "body".to_owned(),
                ("", path) => path.to_owned(),
                (place, ".") => place.to_owned(),
                (place, path) => format!("{place}.{path}"),
            };
            Err(ApiError::invalid(param, error.to_string()))
        }
    }
}

/// Members of requests that change nothing here, and are taken because clients send them unasked.
const IGNORED: [&str; 8] = [
    "user",
    "metadata",
    "store",
    "service_tier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "verbosity",
];
