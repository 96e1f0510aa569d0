// Constraints that live on the device: states are advanced by the bytes of
// tokens, and the masks of states are laid out, without the host.
//
// What is read here is written by src/gpu/resident.rs, which names each
// section and has a twin of each function.
#pragma once
#include "common.cuh"

// The header of an index: numbers, and where sections begin, in words from the
// header's first.
enum IndexHeader {
    INDEX_SHIFT, INDEX_CLASSES, INDEX_WIDE_CELLS, INDEX_SET_WORDS, INDEX_MASK_WORDS,
    INDEX_CURSOR_COUNT, INDEX_DENSE_COUNT,
    INDEX_FIRST, INDEX_NODES, INDEX_RANGES, INDEX_CELLS, INDEX_LIVE, INDEX_REACH, INDEX_ALIKE,
    INDEX_CURSORS, INDEX_PLACES, INDEX_DENSE, INDEX_RUN_STARTS, INDEX_RUNS, INDEX_OTHER_STARTS, INDEX_OTHERS
};

// The header of a vocabulary.
enum VocabularyHeader { VOCABULARY_WIDTH, VOCABULARY_OFFSETS, VOCABULARY_BYTES, VOCABULARY_KINDS, VOCABULARY_ORDER };

enum Kind { KIND_TEXT, KIND_END, KIND_OTHER };

// States of texts: cursors, and these.
#define DEAD 0u
#define ENDED NONE

__device__ inline u32 half_word(const u32* words, u32 at) { return words[at / 2u] >> at % 2u * 16u & 0xFFFFu; }
__device__ inline u32 byte_of(const u32* words, u32 at) { return words[at / 4u] >> at % 4u * 8u & 0xFFu; }

// The cursor after a byte.
__device__ inline u32 step(const u32* index, u32 cursor, u32 byte) {
    const u32 shift = index[INDEX_SHIFT], classes = index[INDEX_CLASSES];
    const u32 node = cursor & ((1u << shift) - 1u), state = cursor >> shift;
    u32 code = 0u;
    if (node == 0u) {
        code = half_word(index + index[INDEX_FIRST], byte);
    } else if ((byte & 0xC0u) == 0x80u) {
        // Each node's ranges end with the last continuation byte.
        const u32* ranges = index + index[INDEX_RANGES];
        u32 at = index[index[INDEX_NODES] + node - 1u];
        while ((ranges[at] & 0xFFu) < (byte & 0x3Fu)) ++at;
        code = ranges[at] >> 8;
    }
    if (code == 0u) return DEAD;
    if (code <= classes) {
        const u32* cells = index + index[INDEX_CELLS];
        const u32 at = state * classes + code - 1u;
        return (index[INDEX_WIDE_CELLS] ? cells[at] : half_word(cells, at)) << shift;
    }
    const u32 inner = code - classes, words = index[INDEX_SET_WORDS];
    const u32* live = index + index[INDEX_LIVE] + state * words;
    const u32* reach = index + index[INDEX_REACH] + (inner - 1u) * words;
    for (u32 i = 0; i < words; ++i) {
        if (live[i] & reach[i]) return state << shift | inner;
    }
    return DEAD;
}

// The state after a token that the mask allowed.
__device__ inline u32 advanced(const u32* index, const u32* vocabulary, u32 state, u32 token) {
    if (state == ENDED || token >= vocabulary[VOCABULARY_WIDTH]) return state;
    const u32 kind = byte_of(vocabulary + vocabulary[VOCABULARY_KINDS], token);
    if (kind == KIND_END) return ENDED;
    if (!index) return state;
    if (kind != KIND_TEXT) return DEAD;
    const u32* offsets = vocabulary + vocabulary[VOCABULARY_OFFSETS];
    const u32* bytes = vocabulary + vocabulary[VOCABULARY_BYTES];
    for (u32 at = offsets[token]; at < offsets[token + 1u] && state != DEAD; ++at) {
        state = step(index, state, byte_of(bytes, at));
    }
    return state;
}

// The index of a text, none if it is free.
__device__ inline const u32* index_of(const u32* indexes, const u32* bases, u32 text) {
    return bases[text] == NONE ? 0 : indexes + bases[text];
}

// A thread for each text. Takes the tokens, notes them in `log`, and writes
// what the model reads next: the token, or 0 where there is none.
extern "C" __global__ void advance(
    u32* states, const u32* bases, const u32* indexes, const u32* vocabulary,
    const u32* tokens, u32* fed, u32* log, u32 batch, u32 step
) {
    const u32 text = blockIdx.x * blockDim.x + threadIdx.x;
    if (text >= batch) return;
    const u32 token = tokens[text];
    log[(u64)step * batch + text] = token;
    fed[text] = token == NONE ? 0u : token;
    if (token == NONE) return;
    states[text] = advanced(index_of(indexes, bases, text), vocabulary, states[text], token);
}

// The place of a state's row; NONE if it has none.
__device__ inline u32 place_of(const u32* index, u32 cursor) {
    if (cursor == DEAD || cursor == ENDED) return NONE;
    const u32 shift = index[INDEX_SHIFT];
    if (index[INDEX_ALIKE]) {
        const u32 node = cursor & ((1u << shift) - 1u);
        cursor = index[index[INDEX_ALIKE] + (cursor >> shift)] << shift | node;
    }
    const u32* cursors = index + index[INDEX_CURSORS];
    u32 low = 0u, high = index[INDEX_CURSOR_COUNT];
    while (low < high) {
        const u32 middle = (low + high) / 2u;
        if (cursors[middle] < cursor) low = middle + 1u;
        else high = middle;
    }
    if (low == index[INDEX_CURSOR_COUNT] || cursors[low] != cursor) return NONE;
    return index[index[INDEX_PLACES] + low];
}

__device__ inline void allow(u32* mask, u32 token) { atomicOr(&mask[token / 32u], 1u << token % 32u); }

// A block for each text. Writes the mask of its state, and its number into
// `rows`; a free text that has not ended gets none.
extern "C" __global__ void lay_out(
    const u32* states, const u32* bases, const u32* indexes, const u32* vocabulary,
    u32* masks, u32* rows, u32 batch, u32 words
) {
    for (u32 text = blockIdx.x; text < batch; text += gridDim.x) {
        const u32* index = index_of(indexes, bases, text);
        const u32 state = states[text];
        u32* mask = masks + (u64)text * words;
        if (threadIdx.x == 0) rows[text] = index || state == ENDED ? text : NONE;
        if (!index && state != ENDED) continue;
        const u32 place = index ? place_of(index, state) : NONE;
        const u32 dense = index ? index[INDEX_DENSE_COUNT] : 0u;
        if (place < dense) {
            const u32* row = index + index[INDEX_DENSE] + place * words;
            for (u32 at = threadIdx.x; at < words; at += blockDim.x) mask[at] = row[at];
            continue;
        }
        for (u32 at = threadIdx.x; at < words; at += blockDim.x) mask[at] = 0u;
        if (place == NONE) continue;
        // All have zeroed before any sets a bit.
        __syncthreads();
        // Pairs: a place in the vocabulary's order, and how many tokens come
        // before it in the row; one behind the last.
        const u32* starts = index + index[INDEX_RUN_STARTS] + (place - dense);
        const u32* runs = index + index[INDEX_RUNS] + 2u * starts[0];
        const u32 count = starts[1] - starts[0] - 1u;
        const u32* order = vocabulary + vocabulary[VOCABULARY_ORDER];
        for (u32 at = threadIdx.x; at < runs[2u * count + 1u]; at += blockDim.x) {
            u32 low = 0u, high = count;
            while (high - low > 1u) {
                const u32 middle = (low + high) / 2u;
                if (runs[2u * middle + 1u] <= at) low = middle;
                else high = middle;
            }
            allow(mask, order[runs[2u * low] + at - runs[2u * low + 1u]]);
        }
        const u32* others = index + index[INDEX_OTHER_STARTS] + (place - dense);
        for (u32 at = others[0] + threadIdx.x; at < others[1]; at += blockDim.x) {
            allow(mask, index[index[INDEX_OTHERS] + at]);
        }
    }
}
