/* What runs oneDNN inside XLA's programs. `native.py` holds the machine code that `python -m torchlike.engine.onednn.build` makes of it.

   It is no Python, because XLA calls it from any thread, the main one among them: a signal that Python handles between two of its lines
   would skip the computation and leave its result unwritten; and each call would wait for the interpreter's lock, five milliseconds
   where another thread runs Python.

   All work is done by one thread, `serve`, which others hand it to and wait for. OpenMP keeps a pool of threads for each thread that
   ever calls it, so there is one pool however many threads XLA has, and records need no lock.

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

/* ---- what Python prepares; `records.py` has the same structures */

typedef struct { int argument; void *memory; } Argument;
typedef struct { void *description; i64 count; Argument arguments[6]; } Step;
typedef struct { void *memory; i64 offset; } Inner;
typedef struct {
    i64 *key; i64 key_size;    /* kind, dtype and sizes of the convolution */
    i64 threads;               /* for so many it was prepared */
    i64 bytes;                 /* of the arena */
    i64 operands; void *outer[4];  /* memory objects over the caller's buffers */
    i64 inners; Inner inner[8];    /* memory objects over parts of the arena */
    i64 steps; Step step[6];
} Record;

typedef struct Job { Record *record; void *data[4]; i64 status; volatile i64 done; struct Job *next; } Job;

typedef struct {
    int (*lock)(void *), (*unlock)(void *), (*wait)(void *, void *), (*broadcast)(void *);
    int (*allocate)(void **, i64, i64);
    void (*release)(void *);
    void (*set_threads)(int);
    int (*set_data)(void *, void *), (*create)(void **, void *), (*execute)(void *, void *, int, Argument *), (*destroy)(void *);
    int (*finish)(void *);
    const char *message;       /* of errors */
    void *stream;
    i64 kept_bytes;            /* a larger arena is given back after each call */
    void *arena; i64 arena_bytes;
    i64 threads;               /* that OpenMP was told to use */
    i64 table_size;            /* a power of two */
    Record *volatile *table;
    Job *volatile first; Job *last;
    i64 stopped;
    i64 mutex[8], wake[8], done[8];
} State;

#define PLACEHOLDER "0x6c6f6f6b68657265"
enum { OUT_OF_MEMORY = 1, STOPPED = -1 }; /* oneDNN's own statuses are positive, and this is the first */

static i64 compute(State *state, Job *job) {
    Record *record = job->record;
    i64 status = 0;
    if (record->threads != state->threads) {
        state->set_threads((int)record->threads);
        state->threads = record->threads;
    }
    if (record->bytes > state->arena_bytes) {
        if (state->arena) state->release(state->arena);
        state->arena = 0;
        state->arena_bytes = 0;
        if (state->allocate(&state->arena, 64, record->bytes)) return OUT_OF_MEMORY;
        state->arena_bytes = record->bytes;
    }
    for (i64 i = 0; i < record->operands; i++) state->set_data(record->outer[i], job->data[i]);
    for (i64 i = 0; i < record->inners; i++)
        state->set_data(record->inner[i].memory, (char *)state->arena + record->inner[i].offset);
    for (i64 i = 0; i < record->steps && !status; i++) {
        void *primitive = 0;
        Step *step = &record->step[i];
        status = state->create(&primitive, step->description); /* oneDNN keeps the primitives that were used last */
        if (!status) status = state->execute(primitive, state->stream, (int)step->count, step->arguments);
        if (primitive) state->destroy(primitive);
    }
    state->finish(state->stream);
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
        while (!state->first) state->wait(state->wake, state->mutex);
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

/* For NumPy's arrays: computes a record and waits for it. Returns 0, or oneDNN's status. */
i64 run(State *state, Record *record, void **data) {
    Job job;
    job.record = record;
    for (i64 i = 0; i < record->operands; i++) job.data[i] = data[i];
    return hand_over(state, &job);
}

/* Waits until nothing is being computed, and lets nothing begin: the process ends, and its libraries take themselves apart. */
void stop(State *state) {
    state->lock(state->mutex);
    state->stopped = 1;
    while (state->first) state->wait(state->done, state->mutex);
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

/* What XLA calls: operands and results in the order of the record's outer memory objects. */
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
    Job job;
    Array *key = frame->attributes.values[0];
    job.record = state->table[find(state, key->data, key->size)];
    if (!job.record) return error(state, frame, 9);
    i64 arguments = frame->arguments.size;
    for (i64 i = 0; i < arguments && i < 3; i++) job.data[i] = frame->arguments.buffers[i]->data;
    job.data[arguments] = frame->results.buffers[0]->data;
    i64 status = hand_over(state, &job);
    return status ? error(state, frame, status == OUT_OF_MEMORY ? 8 : 13) : 0;
}
