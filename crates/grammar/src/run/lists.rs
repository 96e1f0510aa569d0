//! Lists that are only ever added. They lie in chunks, so that none is moved when there are more:
//! one long list of all would be copied in the middle of a mask.
//!
//! For example, the parents of a node are a [`List`] of two numbers that stays where it was put.

/// Entries of a chunk; a longer list has one of its own.
const CHUNK: usize = 1 << 14;

#[derive(Debug)]
pub(crate) struct Lists<T> {
    chunks: Vec<Vec<T>>,
}

/// The place of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    /// The number of its chunk, times [`CHUNK`], and its place there.
    from: u32,
    count: u32,
}

impl<T> Default for Lists<T> {
    fn default() -> Lists<T> {
        Lists { chunks: Vec::new() }
    }
}

impl<T: Copy> Lists<T> {
    pub(crate) fn add(&mut self, list: &[T]) -> List {
        if list.is_empty() {
            return List { from: 0, count: 0 };
        }
        let fits = |chunk: &Vec<T>| chunk.len() + list.len() <= CHUNK;
        if !self.chunks.last().is_some_and(fits) {
            // Most grammars fill a part of the first.
            let room = if self.chunks.is_empty() { 0 } else { CHUNK };
            self.chunks.push(Vec::with_capacity(room.max(list.len())));
        }
        let at = self.chunks.len() - 1;
        let chunk = &mut self.chunks[at];
        let from = at * CHUNK + chunk.len();
        chunk.extend_from_slice(list);
        List {
            from: from as u32,
            count: list.len() as u32,
        }
    }

    #[inline]
    pub(crate) fn get(&self, list: List) -> &[T] {
        let (from, count) = (list.from as usize, list.count as usize);
        match count {
            0 => &[],
            _ => &self.chunks[from / CHUNK][from % CHUNK..][..count],
        }
    }

    /// Forgets all of them, and keeps the memory of the first.
    pub(crate) fn clear(&mut self) {
        self.chunks.truncate(1);
        self.chunks.iter_mut().for_each(Vec::clear);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_any_length_are_found_again() {
        let mut lists = Lists::default();
        let lengths = [0, 1, CHUNK - 1, 0, 3, CHUNK, 5, 2 * CHUNK + 1, 2];
        let contents = lengths.map(|length| (0..length as u32).collect::<Vec<_>>());
        let added = contents.each_ref().map(|content| lists.add(content));
        for (list, content) in added.into_iter().zip(&contents) {
            assert_eq!(lists.get(list), content);
        }
        lists.clear();
        let again = lists.add(&[7]);
        assert_eq!(lists.get(again), [7]);
    }
}
