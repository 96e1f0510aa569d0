//! Byte automata over a tokenizer's vocabulary: token masks, guides, eager parallel indexes.
