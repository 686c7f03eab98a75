/* What runs oneDNN inside XLA's programs. `handler_code.py` holds the machine code that `python -m torchlike.engine.onednn.build` makes of it.

   It is no Python, because XLA calls it from any thread, the main one among them: a signal that Python handles between two of its lines
   would skip the computation and leave its result unwritten; and each call would wait for the interpreter's lock, five milliseconds
   where another thread runs Python.

   XLA's threads hand all work to one thread, `serve`, and wait for it. OpenMP keeps a pool of threads for each thread that ever calls it,
   so there is one pool however many threads XLA has. The program's main thread has one, too: handing over takes 0.1 ms and more, since a
   sleeping thread is woken twice, so it computes by itself what NumPy's arrays need. One of the two computes at a time, and records need no
   lock. Either oneDNN divides a computation among the pool, or a record has parts that need nothing of each other, and each thread of the pool
   takes one after another.

   The code is put at any address and refers to nothing outside it: functions are called through `State`, whose address replaces
   PLACEHOLDER when the code is loaded. */

typedef long long i64;

/* ---- XLA's foreign function interface, version 0 (xla/ffi/api/c_api.h) */

typedef struct { i64 struct_size; void *extension; int major, minor; } Version;
typedef struct { i64 struct_size; Version version; } Metadata;
typedef struct { i64 struct_size; int type; void *next; Metadata *metadata; } Extension;
typedef struct { i64 struct_size; void *extension; const char *message; int code; } ErrorArguments;
typedef struct { i64 struct_size; void *extension; Version version; void *internal; void *(*create_error)(ErrorArguments *); } Api;
typedef struct { i64 struct_size; void *extension; int dtype; void *data; i64 rank; i64 *dims; } Buffer;
typedef struct { i64 struct_size; void *extension; i64 size; int *types; Buffer **buffers; } Buffers;
typedef struct { int dtype; i64 size; i64 *data; } Array;
typedef struct { i64 struct_size; void *extension; i64 size; int *types; void **names; Array **values; } Attributes;
typedef struct {
    i64 struct_size; Extension *extension; Api *api; void *context; int stage; Buffers arguments, results; Attributes attributes;
} Frame;

/* ---- what Python prepares; `library.py` has the same structures */

typedef struct { int argument; void *memory; } Argument;
typedef struct { void *description, *stream; i64 count; Argument *arguments; } Step;
typedef struct { void *memory; i64 buffer, offset; } Outer;
typedef struct { void *memory; i64 offset; } Inner;
typedef struct { i64 chains, length, threads; } Stage;
typedef struct {
    i64 *key; i64 key_size;    /* kind, dtype and sizes of the computation */
    i64 threads;               /* for so many oneDNN prepared it */
    i64 bytes;                 /* of the arena */
    i64 buffers;               /* of the caller: operands, then results */
    i64 outers; Outer *outer;  /* memory objects over parts of the caller's buffers */
    i64 inners; Inner *inner;  /* memory objects over parts of the arena */
    i64 stages; Stage *stage;  /* one after the other. Each has chains, which may run at the same time, of so many steps */
    Step *step;                /* chain after chain, stage after stage */
} Record;

typedef struct Job { Record *record; void **data; i64 status; volatile i64 done; struct Job *next; } Job;

enum { PROCESSORS = 1024 };

typedef struct {
    int (*lock)(void *), (*unlock)(void *), (*wait)(void *, void *), (*broadcast)(void *);
    int (*allocate)(void **, i64, i64);
    void (*release)(void *);
    void (*set_threads)(int);
    int (*most_threads)(void); /* that the calling thread has set */
    int (*set_data)(void *, void *), (*create)(void **, void *), (*execute)(void *, void *, int, Argument *), (*destroy)(void *);
    int (*finish)(void *);
    void (*share)(void (*)(void *), void *, unsigned, unsigned); /* OpenMP calls a function on so many threads */
    int (*number)(void);                                         /* of the thread in its team; the one that calls has 0 */
    int (*processor)(void), (*allowed)(int, i64, void *), (*bind)(int, i64, void *); /* Linux's; null where threads stay as they are */
    const char *message;       /* of errors */
    i64 kept_bytes;            /* a larger arena is given back after each call */
    void *arena; i64 arena_bytes;
    i64 threads;               /* that OpenMP was told to use */
    i64 table_size;            /* a power of two */
    Record *volatile *table;
    Job *volatile first; Job *last;
    i64 stopped;
    i64 here;                  /* the main thread computes */
    i64 place;                 /* the processor of the thread that began the last job */
    i64 others[PROCESSORS / 64]; /* those, besides it, that it may run on: a bit each */
    i64 mutex[8], wake[8], done[8];
    char *blocks; i64 block_bytes;   /* memory that is lent, in BLOCKS pieces of so many bytes */
    volatile unsigned long long lent; /* a bit for each piece that is out */
} State;

#define PLACEHOLDER "0x6c6f6f6b68657265"
enum { BLOCKS = 64, PAGE = 4096 };
enum { OUT_OF_MEMORY = 1, STOPPED = -1 }; /* oneDNN's own statuses are positive, and this is the first */
enum { MOST_BUFFERS = 32 };

typedef struct { State *state; Stage *stage; Step *step; volatile i64 next, status; } Team;

/* oneDNN calls these two in the place of posix_memalign and free.

   Its products take memory of whole pages for a copy of an operand, and give it back at once. All threads share one heap of glibc's
   (`memory/heap.py`), so in layers of small products, a thousand to a step, they would wait for each other there; and the longer, the more
   pieces of memory that heap consists of. Nothing is waited for here. The lowest piece is lent first, so few are ever touched. */
int lend(void **memory, i64 alignment, i64 size) {
    State *state;
    __asm__("movabsq $" PLACEHOLDER ", %0" : "=r"(state));
    if (alignment == PAGE && size <= state->block_bytes) {
        unsigned long long lent = state->lent, seen;
        while (~lent) {
            i64 place = __builtin_ctzll(~lent);
            seen = __sync_val_compare_and_swap(&state->lent, lent, lent | 1ull << place);
            if (seen == lent) {
                *memory = state->blocks + place * state->block_bytes;
                return 0;
            }
            lent = seen;
        }
    }
    return state->allocate(memory, alignment, size);
}

void give_back(void *memory) {
    State *state;
    __asm__("movabsq $" PLACEHOLDER ", %0" : "=r"(state));
    i64 offset = (char *)memory - state->blocks;
    if (offset < 0 || offset >= BLOCKS * state->block_bytes) state->release(memory);
    else __sync_fetch_and_and(&state->lent, ~(1ull << offset / state->block_bytes));
}

/* Each thread of a team takes the next chain that nobody has taken, until none is left. */
static void help(Team *team) {
    State *state = team->state;
    i64 length = team->stage->length;
    for (;;) {
        i64 chain = __sync_fetch_and_add(&team->next, 1), status = 0;
        if (chain >= team->stage->chains) return;
        Step *step = team->step + chain * length;
        for (i64 i = 0; i < length && !status; i++) {
            void *primitive = 0;
            status = state->create(&primitive, step[i].description); /* oneDNN keeps the primitives that were used last */
            if (!status) status = state->execute(primitive, step[i].stream, (int)step[i].count, step[i].arguments);
            if (primitive) state->destroy(primitive);
        }
        state->finish(step->stream);
        if (status) team->status = status;
    }
}

/* A thread of the pool leaves the processor of the one that calls. */
static void leave(State *state) {
    if (state->number() && state->processor() == state->place) state->bind(0, sizeof state->others, state->others);
}

/* Keeps the pool off the processor of the thread that calls.

   Linux often wakes a thread on the processor of the one that wakes it, although another one is idle: in a virtual machine it takes an
   idle processor for one that the host has taken away. Both then share a processor until the system notices, milliseconds later. */
static void spread(State *state, i64 threads) {
    if (!state->processor || threads < 2) return;
    state->place = state->processor();
    if (state->place < 0 || state->place >= PROCESSORS || state->allowed(0, sizeof state->others, state->others) < 0) return;
    state->others[state->place / 64] &= ~(1ull << state->place % 64);
    i64 count = 1;
    for (i64 i = 0; i < PROCESSORS / 64; i++)
        for (unsigned long long bits = state->others[i]; bits; bits &= bits - 1) count++;
    if (count >= threads) state->share((void (*)(void *))leave, state, (unsigned)threads, 0);
}

static i64 compute(State *state, Job *job) {
    Record *record = job->record;
    i64 status = 0;
    if (record->threads != state->threads) {
        state->set_threads((int)record->threads);
        state->threads = record->threads;
    }
    spread(state, record->threads);
    if (record->bytes > state->arena_bytes) {
        if (state->arena) state->release(state->arena);
        state->arena = 0;
        state->arena_bytes = 0;
        if (state->allocate(&state->arena, 64, record->bytes)) return OUT_OF_MEMORY;
        state->arena_bytes = record->bytes;
    }
    for (i64 i = 0; i < record->outers; i++)
        state->set_data(record->outer[i].memory, (char *)job->data[record->outer[i].buffer] + record->outer[i].offset);
    for (i64 i = 0; i < record->inners; i++)
        state->set_data(record->inner[i].memory, (char *)state->arena + record->inner[i].offset);
    Step *step = record->step;
    for (i64 i = 0; i < record->stages && !status; i++) {
        Stage *stage = &record->stage[i];
        Team team;
        team.state = state;
        team.stage = stage;
        team.step = step;
        team.next = team.status = 0;
        if (stage->threads > 1) state->share((void (*)(void *))help, &team, (unsigned)stage->threads, 0);
        else help(&team);
        status = team.status;
        step += stage->chains * stage->length;
    }
    if (state->arena_bytes > state->kept_bytes) {
        state->release(state->arena);
        state->arena = 0;
        state->arena_bytes = 0;
    }
    return status;
}

/* The thread that computes. */
void serve(State *state) {
    state->lock(state->mutex);
    for (;;) {
        while (!state->first || state->here) state->wait(state->wake, state->mutex);
        Job *job = state->first;
        state->unlock(state->mutex);
        i64 status = compute(state, job);
        state->lock(state->mutex);
        state->first = job->next;
        job->status = status;
        job->done = 1;
        state->broadcast(state->done);
    }
}

static i64 hand_over(State *state, Job *job) {
    state->lock(state->mutex);
    if (state->stopped) {
        state->unlock(state->mutex);
        return STOPPED;
    }
    job->next = 0;
    job->done = 0;
    if (state->first) state->last->next = job;
    else state->first = job;
    state->last = job;
    state->broadcast(state->wake);
    while (!job->done) state->wait(state->done, state->mutex);
    state->unlock(state->mutex);
    return job->status;
}

/* For NumPy's arrays: computes a record and waits for it. Returns 0, or oneDNN's status. `here`: this is the main thread. */
i64 run(State *state, Record *record, void **data, i64 here) {
    Job job;
    job.record = record;
    job.data = data;
    if (here) {
        state->lock(state->mutex);
        state->here = here = !state->first && !state->stopped;
        state->unlock(state->mutex);
    }
    if (!here) return hand_over(state, &job);
    int threads = state->most_threads();
    state->threads = 0; /* each thread has a number of its own */
    i64 status = compute(state, &job);
    state->threads = 0;
    state->set_threads(threads);
    state->lock(state->mutex);
    state->here = 0;
    state->broadcast(state->wake);
    state->broadcast(state->done);
    state->unlock(state->mutex);
    return status;
}

/* Waits until nothing is being computed, and lets nothing begin: the process ends, and its libraries take themselves apart. */
void stop(State *state) {
    state->lock(state->mutex);
    state->stopped = 1;
    while (state->first || state->here) state->wait(state->done, state->mutex);
    state->unlock(state->mutex);
}

/* The place in the table of the record with this key, or the empty place where it belongs. */
static i64 find(State *state, i64 *key, i64 size) {
    unsigned long long mixed = 14695981039346656037ull;
    for (i64 i = 0; i < size; i++) mixed = (mixed ^ (unsigned long long)key[i]) * 1099511628211ull;
    for (i64 place = (i64)(mixed >> 20) & (state->table_size - 1);; place = (place + 1) & (state->table_size - 1)) {
        Record *record = state->table[place];
        if (!record) return place;
        if (record->key_size != size) continue;
        i64 i = 0;
        while (i < size && record->key[i] == key[i]) i++;
        if (i == size) return place;
    }
}

/* The same for Python, which enters records. */
i64 place(State *state, i64 *key, i64 size) { return find(state, key, size); }

static void *error(State *state, Frame *frame, int code) {
    ErrorArguments arguments;
    arguments.struct_size = sizeof(ErrorArguments);
    arguments.extension = 0;
    arguments.message = state->message;
    arguments.code = code;
    return frame->api->create_error(&arguments);
}

/* What XLA calls. The record numbers the operands of the call, and then its results. */
void *handler(Frame *frame) {
    State *state;
    __asm__("movabsq $" PLACEHOLDER ", %0" : "=r"(state));
    if (frame->extension) { /* XLA asks which version this was written for */
        Version *version = &frame->extension->metadata->version;
        version->major = 0;
        version->minor = frame->api->version.major == 0 ? frame->api->version.minor : 3; /* what is used here is in every 0.x */
        return 0;
    }
    if (frame->stage != 3) return 0; /* prepared and initialized without us */
    Array *key = frame->attributes.values[0];
    Record *record = state->table[find(state, key->data, key->size)];
    i64 arguments = frame->arguments.size, results = frame->results.size;
    if (!record || record->buffers != arguments + results || record->buffers > MOST_BUFFERS) return error(state, frame, 9);
    void *data[MOST_BUFFERS];
    for (i64 i = 0; i < arguments; i++) data[i] = frame->arguments.buffers[i]->data;
    for (i64 i = 0; i < results; i++) data[arguments + i] = frame->results.buffers[i]->data;
    Job job;
    job.record = record;
    job.data = data;
    i64 status = hand_over(state, &job);
    return status ? error(state, frame, status == OUT_OF_MEMORY ? 8 : 13) : 0;
}
