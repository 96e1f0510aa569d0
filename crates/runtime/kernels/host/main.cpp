// The kernels on the host, asked for on the standard input: a device of its
// own for tests. Numbers are words of 32 bits in the machine's order.
//
//   1 words            makes memory, zeroed, numbered from 0
//   2 memory words ..  writes a memory from its beginning
//   3 memory           answers with the memory's words
//   4 kernel across down threads count (0 word | 1 memory) ..
//                      runs a kernel; it is known by its place in kernels.h
#include "kernels.h"

#include <vector>

static std::vector<unsigned*> memories;
static std::vector<unsigned> sizes;
static std::vector<unsigned> kinds, values;

static unsigned next_word() {
    unsigned word;
    if (fread(&word, 4, 1, stdin) != 1) exit(feof(stdin) ? 0 : 4);
    return word;
}

template <class T> struct As {
    static T get(unsigned at) {
        if (kinds[at] != 0) fail("a number is given as a pointer");
        return (T)values[at];
    }
};
template <class T> struct As<T*> {
    static T* get(unsigned at) {
        if (kinds[at] != 1 || values[at] >= memories.size()) fail("a pointer is given as a number");
        return (T*)memories[values[at]];
    }
};

// Arguments that were read from the standard input.
struct Asked {
    static void expect(unsigned count) {
        if (values.size() != count) fail("a kernel is given another number of arguments");
    }
    template <class P> static P get(unsigned at) { return As<P>::get(at); }
};

int main() {
    unsigned known;
    const Named* all = kernels<Asked>(&known);
    for (;;) {
        switch (next_word()) {
        case 1: {
            unsigned words = next_word();
            // As aligned as a device's memory is.
            void* memory = aligned_alloc(256, ((size_t)words * 4 / 256 + 1) * 256);
            if (!memory) fail("no memory");
            memset(memory, 0, (size_t)words * 4);
            memories.push_back((unsigned*)memory);
            sizes.push_back(words);
            break;
        }
        case 2: {
            unsigned memory = next_word(), words = next_word();
            if (memory >= sizes.size() || words > sizes[memory]) fail("more is written than there is room for");
            if (fread(memories[memory], 4, words, stdin) != words) return 4;
            break;
        }
        case 3: {
            unsigned memory = next_word();
            if (memory >= sizes.size()) fail("there is no such memory");
            fwrite(memories[memory], 4, sizes[memory], stdout);
            fflush(stdout);
            break;
        }
        case 4: {
            unsigned kernel = next_word(), across = next_word(), down = next_word(), threads = next_word();
            unsigned count = next_word();
            kinds.clear(), values.clear();
            for (unsigned i = 0; i < count; ++i) {
                kinds.push_back(next_word());
                values.push_back(next_word());
            }
            if (kernel >= known) fail("there is no such kernel");
            run_grid(across, down, threads, all[kernel].run);
            break;
        }
        default: fail("a request that is none");
        }
    }
}
