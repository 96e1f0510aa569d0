// A mask, a temperature, top-k, top-p, min-p and a draw, without ever writing
// masked logits down.
//
// Two kernels, one after the other:
//
// `scan` goes through all logits once, a warp for each tile of 1,024 tokens,
// and writes down of each tile its best token, how many may be drawn, and the
// sum of their weights as seen from that best one. Where the mask allows
// nothing, logits are not read.
//
// `choose` has a block for each text. The best of the tiles' best tokens is the
// choice at temperature 0. Without filters a tile is drawn by the tiles' sums,
// and a token in it: only that tile is read again. Each filter is a cut: the
// tokens that stay are those that rank at least so high (see `rank_of`). The
// cut is found by histograms of ranks, each 1,024 times finer than the one
// before, over the tiles whose best tokens reach into it.
#pragma once
#include "common.cuh"

#define TILE 1024u
#define BIN_BITS 10
#define BINS (1u << BIN_BITS)

// What is asked of a text's draws: PARAMETERS words each.
#define PARAMETERS 8u
#define TEMPERATURE 0u
#define TOP_K 1u
#define TOP_P 2u
#define MIN_P 3u
#define SEED 4u
#define DRAWS 6u

// What `scan` says of a tile.
struct Tile {
    u64 best;
    u64 sum;
    u64 count;
};

template <class T> struct Text {
    const typename T::Bits* logits;
    const u32* mask;
    u32 vocabulary;

    // The word of the mask for tokens 32 * at and following.
    __device__ u32 word(u32 at) const { return mask_word(mask, at, vocabulary); }
    __device__ float logit(u32 token) const { return T::value(logits[token]); }
    __device__ u64 rank(u32 token) const { return rank_of(logit(token), token); }
};

template <class T>
__device__ Text<T> text_of(
    const typename T::Bits* logits, const u32* masks, const u32* rows,
    u32 text, u32 width, u32 vocabulary, u32 words
) {
    Text<T> found;
    const u32 row = rows[text];
    found.logits = logits + (u64)text * width;
    found.mask = row == NONE ? 0 : masks + (u64)row * words;
    found.vocabulary = vocabulary;
    return found;
}

// ---- scan -----------------------------------------------------------------

// A warp looks at one tile.
template <class T> __device__ Tile tile_of(const Text<T>& text, u32 tile, float temperature) {
    const u32 words = TILE / 32u;
    float logits[TILE / 32u];
    u64 best = 0ull;
    u32 count = 0u;
#pragma unroll
    for (u32 i = 0; i < words; ++i) {
        const u32 word = text.word(tile * words + i);
        logits[i] = __uint_as_float(0xFF800000u);
        if (word >> lane_of() & 1u) logits[i] = text.logit(tile * TILE + i * 32u + lane_of());
    }
#pragma unroll
    for (u32 i = 0; i < words; ++i) {
        const u64 rank = rank_of(logits[i], tile * TILE + i * 32u + lane_of());
        if (rank) count += 1u;
        best = rank > best ? rank : best;
    }
    Tile found;
    found.best = warp_max(best);
    found.count = warp_sum(count);
    found.sum = 0ull;
    if (temperature > 0.0f && found.best) {
        const float most = logit_of_rank(found.best);
        u64 sum = 0ull;
#pragma unroll
        for (u32 i = 0; i < words; ++i) {
            if (logits[i] > __uint_as_float(0xFF800000u)) sum += weight_of(logits[i], most, temperature);
        }
        found.sum = warp_sum(sum);
    }
    return found;
}

// A warp for each tile and text: grid (tiles / warps of a block, texts).
template <class T>
__device__ void scan_all(
    const typename T::Bits* logits, const u32* masks, const u32* rows, const u32* parameters, Tile* tiles,
    u32 batch, u32 width, u32 vocabulary, u32 words, u32 tile_count
) {
    const u32 tile = blockIdx.x * (blockDim.x / WARP) + warp_of();
    if (tile >= tile_count) return;
    for (u32 text = blockIdx.y; text < batch; text += gridDim.y) {
        const float temperature = __uint_as_float(parameters[text * PARAMETERS + TEMPERATURE]);
        const Text<T> here = text_of<T>(logits, masks, rows, text, width, vocabulary, words);
        const Tile found = tile_of<T>(here, tile, temperature);
        if (lane_of() == 0) tiles[(u64)text * tile_count + tile] = found;
    }
}

// ---- choose ---------------------------------------------------------------

// What the threads of a block share.
struct Shared {
    u64 weights[BINS];
    u32 counts[BINS];
    u64 warps[32];
    u64 at, before, within;
    u32 found;
};

// What a cut is measured by.
enum Measure { COUNT, WEIGHT };

// All that the steps of a choice need.
template <class T> struct Choice {
    Text<T> text;
    const Tile* tiles;
    u32 tile_count;
    float most, temperature;
    Shared* shared;

    // Calls `each` with the ranks of this tile that are at least `cut`, a warp
    // together.
    template <class F> __device__ void in_tile(u32 tile, u64 cut, F each) const {
        for (u32 i = 0; i < TILE / 32u; ++i) {
            const u32 word = text.word(tile * (TILE / 32u) + i);
            if (!(word >> lane_of() & 1u)) continue;
            const u64 rank = text.rank(tile * TILE + i * 32u + lane_of());
            if (rank && rank >= cut) each(rank);
        }
    }

    // The same for all tiles.
    template <class F> __device__ void in_all(u64 cut, F each) const {
        for (u32 tile = warp_of(); tile < tile_count; tile += blockDim.x / WARP) {
            if (tiles[tile].best >= cut && tiles[tile].best) in_tile(tile, cut, each);
        }
    }

    // The same for the best of each tile alone.
    template <class F> __device__ void in_bests(u64 cut, F each) const {
        for (u32 tile = threadIdx.x; tile < tile_count; tile += blockDim.x) {
            const u64 best = tiles[tile].best;
            if (best && best >= cut) each(best);
        }
    }

    __device__ u64 weight(u64 rank) const { return weight_of(logit_of_rank(rank), most, temperature); }

    // The highest cut at and above which the measure is at least `target`;
    // `low` where all above it measures less. `bests` looks at the best tokens
    // of the tiles alone.
    __device__ __noinline__ u64 cut_at(Measure measure, u64 target, u64 low, u64 high, bool bests) const {
        u64 above = 0ull;
        const u64 lowest = low;
        for (;;) {
            // Bins of 2^shift ranks.
            int shift = 64 - BIN_BITS - __clzll((long long)(high - low));
            if (shift < 0) shift = 0;
            __syncthreads();
            for (u32 bin = threadIdx.x; bin < BINS; bin += blockDim.x) {
                shared->weights[bin] = 0ull;
                shared->counts[bin] = 0u;
            }
            if (threadIdx.x == 0) shared->found = 0u;
            __syncthreads();
            auto put = [&](u64 rank) {
                if (rank > high) return;
                const u32 bin = (u32)((rank - low) >> shift);
                atomicAdd(&shared->counts[bin], 1u);
                if (measure == WEIGHT) atomicAdd(&shared->weights[bin], weight(rank));
            };
            if (bests) in_bests(low, put);
            else in_all(low, put);
            __syncthreads();
            // From the highest bin down, some bins a thread.
            const u32 own = (BINS + blockDim.x - 1) / blockDim.x;
            u64 sum = 0ull;
            for (u32 i = 0; i < own; ++i) {
                const u32 bin = threadIdx.x * own + i;
                if (bin < BINS) sum += measure_of(measure, BINS - 1 - bin);
            }
            u64 all;
            u64 before = above + block_prefix(sum, shared->warps, &all);
            if (before < target && before + sum >= target) {
                for (u32 i = 0; i < own; ++i) {
                    const u32 bin = BINS - 1 - (threadIdx.x * own + i);
                    const u64 here = measure_of(measure, bin);
                    if (before + here >= target) {
                        shared->at = bin;
                        shared->before = before;
                        shared->within = here;
                        shared->found = 1u;
                        break;
                    }
                    before += here;
                }
            }
            __syncthreads();
            if (!shared->found) return lowest;
            const u32 bin = (u32)shared->at;
            above = shared->before;
            low += (u64)bin << shift;
            const u64 last = low + ((1ull << shift) - 1ull);
            high = last < high ? last : high;
            const bool whole = above + shared->within == target;
            if (whole || shift == 0 || shared->counts[bin] == 1u) return low;
        }
    }

    __device__ u64 measure_of(Measure measure, u32 bin) const {
        return measure == COUNT ? (u64)shared->counts[bin] : shared->weights[bin];
    }

    // Which of `count` weights holds the number `wanted` below their sum; what
    // comes before it is taken off `wanted`.
    template <class F> __device__ u32 locate(u32 count, u64& wanted, F weight_at) const {
        u64 passed = 0ull;
        if (threadIdx.x == 0) shared->found = 0u;
        for (u32 from = 0; from < count; from += blockDim.x) {
            const u32 at = from + threadIdx.x;
            const u64 own = at < count ? weight_at(at) : 0ull;
            u64 all;
            const u64 before = passed + block_prefix(own, shared->warps, &all);
            if (before <= wanted && wanted < before + own) {
                shared->at = at;
                shared->before = before;
                shared->found = 1u;
            }
            __syncthreads();
            if (shared->found) break;
            passed += all;
        }
        const u32 at = shared->found ? (u32)shared->at : NONE;
        wanted -= shared->found ? shared->before : 0ull;
        __syncthreads();
        return at;
    }
};

// The choice for one text; a block together. `masses` has room for a number a
// tile.
template <class T>
__device__ u32 chosen(const Choice<T>& start, const u32* parameters, u64* masses) {
    Choice<T> choice = start;
    Shared* shared = choice.shared;
    u64 best = 0ull, count = 0ull;
    for (u32 tile = threadIdx.x; tile < choice.tile_count; tile += blockDim.x) {
        best = choice.tiles[tile].best > best ? choice.tiles[tile].best : best;
        count += choice.tiles[tile].count;
    }
    best = block_max(best, shared->warps);
    count = block_sum(count, shared->warps);
    if (!best) return NONE;
    const float temperature = __uint_as_float(parameters[TEMPERATURE]);
    if (!(temperature > 0.0f)) return token_of(best);
    choice.temperature = temperature;
    choice.most = logit_of_rank(best);

    u64 cut = 0ull;
    const u64 top_k = parameters[TOP_K];
    if (top_k && top_k < count) {
        // So many tiles have a token as good as the k-th best of their best.
        u64 least = 0ull;
        if (top_k <= choice.tile_count) least = choice.cut_at(COUNT, top_k, 1ull, best, true);
        cut = choice.cut_at(COUNT, top_k, least ? least : 1ull, best, false);
        count = top_k;
    }
    const float top_p = __uint_as_float(parameters[TOP_P]);
    if (top_p < 1.0f) {
        u64 sum = 0ull;
        choice.in_all(cut, [&](u64 rank) { sum += choice.weight(rank); });
        sum = block_sum(sum, shared->warps);
        u64 wanted = (u64)((double)sum * (double)top_p);
        if (wanted == 0ull) wanted = 1ull;
        // Tokens lighter than this are together lighter than what is left out;
        // half of it leaves room for roundings of the weights.
        const u64 light = (sum - wanted) / count / 2ull;
        u64 least = cut ? cut : 1ull;
        if (light) {
            const u64 bound = (u64)first_key(light, (u32)(best >> 32), choice.most, temperature) << 32;
            least = bound > least ? bound : least;
        }
        cut = choice.cut_at(WEIGHT, wanted, least, best, false);
    }
    const float min_p = __uint_as_float(parameters[MIN_P]);
    if (min_p > 0.0f) {
        const u64 light = (u64)((double)min_p * (double)(1ull << WEIGHT_BITS));
        const u64 bound = (u64)first_key(light, (u32)(best >> 32), choice.most, temperature) << 32;
        cut = bound > cut ? bound : cut;
    }

    // How much of all is in each tile.
    const u32 warps = blockDim.x / WARP;
    for (u32 tile = warp_of(); tile < choice.tile_count; tile += warps) {
        const Tile known = choice.tiles[tile];
        u64 mass = 0ull;
        if (known.best && known.best >= cut) {
            const float most = logit_of_rank(known.best);
            u64 sum = known.sum;
            if (cut) {
                u64 own = 0ull;
                choice.in_tile(tile, cut, [&](u64 rank) {
                    own += weight_of(logit_of_rank(rank), most, temperature);
                });
                sum = warp_sum(own);
            }
            mass = scaled_sum(sum, weight_of(most, choice.most, temperature));
        }
        if (lane_of() == 0) masses[tile] = mass;
    }
    __syncthreads();
    u64 total = 0ull;
    for (u32 tile = threadIdx.x; tile < choice.tile_count; tile += blockDim.x) total += masses[tile];
    total = block_sum(total, shared->warps);
    const u64 seed = (u64)parameters[SEED + 1] << 32 | parameters[SEED];
    const u64 draw = (u64)parameters[DRAWS + 1] << 32 | parameters[DRAWS];
    const Random random = random_of(seed, draw);
    u64 wanted = __umul64hi(random.first, total);
    const u32 tile = choice.locate(choice.tile_count, wanted, [&](u32 at) { return masses[at]; });
    if (tile == NONE) return token_of(best);

    // The token in it, seen from the tile's best one; a thread has some tokens.
    const float most = logit_of_rank(choice.tiles[tile].best);
    auto weight_at = [&](u32 at) -> u64 {
        const u32 token = tile * TILE + at;
        if (!(choice.text.word(token / 32u) >> token % 32u & 1u)) return 0ull;
        const u64 rank = choice.text.rank(token);
        return rank && rank >= cut ? weight_of(logit_of_rank(rank), most, temperature) : 0ull;
    };
    u64 sum = 0ull;
    for (u32 at = threadIdx.x; at < TILE; at += blockDim.x) sum += weight_at(at);
    sum = block_sum(sum, shared->warps);
    wanted = __umul64hi(random.second, sum);
    const u32 at = choice.locate(TILE, wanted, weight_at);
    return at == NONE ? token_of(choice.tiles[tile].best) : tile * TILE + at;
}

// A block for each text. Writes the token, or NONE where nothing can be drawn,
// and counts the draw.
template <class T>
__device__ void choose_all(
    const typename T::Bits* logits, const u32* masks, const u32* rows, u32* parameters,
    const Tile* tiles, u64* masses, u32* tokens,
    u32 batch, u32 width, u32 vocabulary, u32 words, u32 tile_count
) {
    __shared__ Shared shared;
    for (u32 text = blockIdx.x; text < batch; text += gridDim.x) {
        Choice<T> choice;
        choice.text = text_of<T>(logits, masks, rows, text, width, vocabulary, words);
        choice.tiles = tiles + (u64)text * tile_count;
        choice.tile_count = tile_count;
        choice.most = choice.temperature = 0.0f;
        choice.shared = &shared;
        u32* own = parameters + text * PARAMETERS;
        const u32 token = chosen<T>(choice, own, masses + (u64)text * tile_count);
        // All have read how many draws there were.
        __syncthreads();
        if (threadIdx.x == 0) {
            tokens[text] = token;
            if (token != NONE && ++own[DRAWS] == 0u) ++own[DRAWS + 1];
        }
        __syncthreads();
    }
}

#define SAMPLE_KERNELS(SCAN, CHOOSE, TYPE) \
    extern "C" __global__ void SCAN( \
        const TYPE::Bits* logits, const u32* masks, const u32* rows, const u32* parameters, Tile* tiles, \
        u32 batch, u32 width, u32 vocabulary, u32 words, u32 tile_count \
    ) { \
        scan_all<TYPE>(logits, masks, rows, parameters, tiles, batch, width, vocabulary, words, tile_count); \
    } \
    extern "C" __global__ void __launch_bounds__(512) CHOOSE( \
        const TYPE::Bits* logits, const u32* masks, const u32* rows, u32* parameters, \
        const Tile* tiles, u64* masses, u32* tokens, \
        u32 batch, u32 width, u32 vocabulary, u32 words, u32 tile_count \
    ) { \
        choose_all<TYPE>( \
            logits, masks, rows, parameters, tiles, masses, tokens, batch, width, vocabulary, words, tile_count \
        ); \
    }

SAMPLE_KERNELS(scan_f32, choose_f32, Float32)
SAMPLE_KERNELS(scan_f16, choose_f16, Float16)
SAMPLE_KERNELS(scan_bf16, choose_bf16, BFloat16)
