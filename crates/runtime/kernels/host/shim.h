// What the kernels use of CUDA, for the compiler of the host, so that their
// very lines are tested where there is no GPU.
//
// A block's threads are fibers that take turns: each runs until it comes to a
// barrier or a shuffle, which is where threads of a GPU may rely on each other.
// Turns are taken in an order that changes from block to block, so that what
// relies on an order shows. A thread that ends counts as having arrived.
#pragma once
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define __device__
#define __global__
#define __noinline__
#define __launch_bounds__(THREADS)
#define __shared__ static

struct Dim3 {
    unsigned x, y, z;
};
static Dim3 threadIdx, blockIdx, blockDim, gridDim;

struct __attribute__((aligned(16))) uint4 {
    unsigned x, y, z, w;
};

static inline float __uint_as_float(unsigned bits) {
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

static inline unsigned __float_as_uint(float value) {
    unsigned bits;
    memcpy(&bits, &value, 4);
    return bits;
}

static inline int __clzll(long long value) { return value ? __builtin_clzll((unsigned long long)value) : 64; }

static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}

template <class T> static inline T atomicAdd(T* place, T value) {
    T old = *place;
    *place = old + value;
    return old;
}

template <class T> static inline T atomicOr(T* place, T value) {
    T old = *place;
    *place = old | value;
    return old;
}

// ---- Fibers ---------------------------------------------------------------

#define MOST_THREADS 1024
#define FIBER_STACK (64 << 10)

enum Waiting { RUNNING, AT_BARRIER, AT_SHUFFLE, GONE };

struct Fiber {
    ucontext_t context;
    char* stack;
    Waiting waiting;
    unsigned long long given;
};

static Fiber fibers[MOST_THREADS];
static unsigned current_fiber;
static ucontext_t scheduler;
static void (*body)();

static void wait_as(Waiting why) {
    Fiber* own = &fibers[current_fiber];
    own->waiting = why;
    unsigned self = current_fiber;
    swapcontext(&own->context, &scheduler);
    current_fiber = self;
    threadIdx.x = self;
}

static inline void __syncthreads() { wait_as(AT_BARRIER); }

// Gives a value and takes that of the lane that `from` names, of the same warp.
static unsigned long long shuffled(unsigned long long value, unsigned from) {
    unsigned self = current_fiber;
    fibers[self].given = value;
    wait_as(AT_SHUFFLE);
    unsigned long long taken = fibers[self / 32 * 32 + from].given;
    // Nobody gives the next value before all have taken this one.
    wait_as(AT_SHUFFLE);
    return taken;
}

static inline unsigned long long __shfl_xor_sync(unsigned, unsigned long long value, unsigned step) {
    return shuffled(value, (threadIdx.x % 32) ^ step);
}

static inline unsigned long long __shfl_up_sync(unsigned, unsigned long long value, unsigned step) {
    unsigned lane = threadIdx.x % 32;
    return shuffled(value, lane >= step ? lane - step : lane);
}

static void run_fiber() {
    body();
    fibers[current_fiber].waiting = GONE;
    swapcontext(&fibers[current_fiber].context, &scheduler);
}

static void fail(const char* what) {
    fprintf(stderr, "kernels on the host: %s\n", what);
    exit(3);
}

// Runs one block to its end.
static void run_block(unsigned threads, unsigned turn) {
    for (unsigned i = 0; i < threads; ++i) {
        Fiber* fiber = &fibers[i];
        if (!fiber->stack && !(fiber->stack = (char*)malloc(FIBER_STACK))) fail("no memory");
        getcontext(&fiber->context);
        fiber->context.uc_stack.ss_sp = fiber->stack;
        fiber->context.uc_stack.ss_size = FIBER_STACK;
        fiber->context.uc_link = 0;
        makecontext(&fiber->context, run_fiber, 0);
        fiber->waiting = RUNNING;
    }
    for (;;) {
        // Every warp goes as far as it can without the others.
        for (unsigned w = 0; w < threads / 32; ++w) {
            unsigned warp = (w + turn) % (threads / 32);
            for (;;) {
                bool ran = false;
                for (unsigned l = 0; l < 32; ++l) {
                    unsigned lane = turn & 1 ? 31 - l : l;
                    Fiber* fiber = &fibers[warp * 32 + lane];
                    if (fiber->waiting != RUNNING) continue;
                    ran = true;
                    current_fiber = warp * 32 + lane;
                    threadIdx.x = current_fiber;
                    swapcontext(&scheduler, &fiber->context);
                }
                // A shuffle wants all lanes of the warp.
                unsigned at = 0;
                for (unsigned lane = 0; lane < 32; ++lane) at += fibers[warp * 32 + lane].waiting == AT_SHUFFLE;
                if (at == 32) {
                    for (unsigned lane = 0; lane < 32; ++lane) fibers[warp * 32 + lane].waiting = RUNNING;
                } else if (at) {
                    fail("some lanes of a warp are at a shuffle and others are not");
                } else if (!ran) {
                    break;
                }
            }
        }
        unsigned gone = 0;
        for (unsigned i = 0; i < threads; ++i) gone += fibers[i].waiting == GONE;
        if (gone == threads) return;
        if (gone) fail("some threads of a block are at a barrier and others have ended");
        for (unsigned i = 0; i < threads; ++i) fibers[i].waiting = RUNNING;
    }
}

// Runs a whole grid, block after block.
static void run_grid(unsigned across, unsigned down, unsigned threads, void (*kernel)()) {
    if (threads == 0 || threads % 32 || threads > MOST_THREADS) fail("a block has 32 to 1,024 threads, in whole warps");
    body = kernel;
    gridDim.x = across, gridDim.y = down, gridDim.z = 1;
    blockDim.x = threads, blockDim.y = blockDim.z = 1;
    for (unsigned y = 0; y < down; ++y) {
        for (unsigned x = 0; x < across; ++x) {
            blockIdx.x = x, blockIdx.y = y;
            run_block(threads, x + y * across);
        }
    }
}
