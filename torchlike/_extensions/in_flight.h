/* Tapes that run on a thread of their own, in the order in which they were begun, while Python goes on: `Segment` in `engine/segment.py`.

   What is begun holds its arrays until `wait`. That one computes what the thread has not come to, so that nobody waits for a thread to wake
   up. No result depends on who computes it. */

#if THREADS
typedef struct Job {
    struct Job *next;
    const npy_intp *words, *end;
    char **bases, *between;
    PyObject *tape, *arrays, *results;
    double expected; /* microseconds */
    int done;
} Job;

enum { MOST_JOBS = 32, POLLS_FOR_JOBS = 2000, WORTH_FLYING = 20, WORTH_A_THREAD = 120 /* microseconds; waking one takes twenty */ };

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t wake, ended;
    Job *first, *last, *next; /* `next`: the first that nobody has begun */
    int jobs, started, asleep, running;
    double expected;          /* microseconds, of those that nobody has begun */
} line = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER };

/* With the mutex held. One after the other: each may read what those before it have made. */
static Job *take_job(void) {
    Job *job = line.running ? 0 : line.next;
    if (job) {
        __atomic_store_n(&line.next, job->next, __ATOMIC_RELAXED);
        __atomic_store_n(&line.running, 1, __ATOMIC_RELAXED);
        line.expected -= job->expected;
    }
    return job;
}

/* With the mutex held, which it gives up meanwhile. */
static void run_job(Job *job) {
    pthread_mutex_unlock(&line.mutex);
    run_entries(job->words, job->end, job->bases);
    pthread_mutex_lock(&line.mutex);
    job->done = 1;
    __atomic_store_n(&line.running, 0, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&line.ended);
}

static void *fly(void *nothing) {
    pthread_mutex_lock(&line.mutex);
    for (;;) {
        Job *job = take_job();
        if (!job) {
            pthread_mutex_unlock(&line.mutex);
            for (int polls = 0; polls < POLLS_FOR_JOBS && !__atomic_load_n(&line.next, __ATOMIC_RELAXED); polls++) pause_briefly();
            pthread_mutex_lock(&line.mutex);
            line.asleep = 1;
            while (!(job = take_job())) pthread_cond_wait(line.running ? &line.ended : &line.wake, &line.mutex);
            line.asleep = 0;
        }
        run_job(job);
    }
    return nothing;
}

/* A child has no thread, and begins again what its parent's thread may have been at. */
static void line_after_fork(void) {
    pthread_mutex_init(&line.mutex, 0);
    pthread_cond_init(&line.wake, 0);
    pthread_cond_init(&line.ended, 0);
    line.started = line.asleep = line.running = 0;
    line.expected = 0;
    for (line.next = line.first; line.next && line.next->done; line.next = line.next->next) {}
}

static void end_jobs(Job *job) {
    while (job) {
        Job *next = job->next;
        Py_XDECREF(job->tape);
        Py_XDECREF(job->arrays);
        Py_XDECREF(job->results);
        PyMem_RawFree(job->bases);
        PyMem_RawFree(job->between);
        PyMem_RawFree(job);
        job = next;
    }
}

/* Whether the results can be kept as they are: all in memory of their own, or in all of that of an input which has memory of its own. */
static int are_owned(const Tape *t, PyObject *arrays) {
    for (int i = 0; i < t->picked_used; i++) {
        const Picked *picked = &t->picked[i];
        const Memory *memory = &t->memories[picked->memory];
        if (picked->whole || picked->input >= 0 || memory->kind == MADE) continue;
        if (memory->kind != INPUT) return 0;
        PyArrayObject *array = (PyArrayObject *)PyList_GET_ITEM(arrays, memory->number);
        npy_intp bytes = PyDataType_ELSIZE(picked->dtype);
        for (int d = picked->dims - 1; d >= 0; d--) {
            if (picked->shape[d] > 1 && picked->strides[d] != bytes) return 0;
            bytes *= picked->shape[d];
        }
        if (PyArray_BASE(array) || bytes != PyArray_NBYTES(array)) return 0;
    }
    return 1;
}

/* begin(arrays): the results, which are there after `wait`. None, and nothing has begun: it is better run at once. */
static PyObject *begin(Tape *t, PyObject *arrays) {
    if (!PyList_Check(arrays)) return PyErr_Format(PyExc_TypeError, "begin(arrays) takes a list");
    if (t->state <= 0 || !t->takes || !products || *products->threads < 2 || line.jobs >= MOST_JOBS || !fits(t, arrays) || !are_owned(t, arrays)) Py_RETURN_NONE;
    if (!line.jobs && t->takes < WORTH_FLYING) Py_RETURN_NONE;
    Job *job = PyMem_RawCalloc(1, sizeof *job);
    if (!job) Py_RETURN_NONE;
    job->bases = PyMem_RawMalloc((size_t)t->memories_used * sizeof *job->bases);
    job->between = PyMem_RawMalloc((size_t)t->scratch + LINE);
    job->arrays = PySequence_List(arrays);
    job->results = job->bases && job->between && job->arrays ? prepare(t, job->arrays, job->between, job->bases) : 0;
    if (!job->results) {
        end_jobs(job);
        PyErr_Clear(); /* without memory it fails where it is run at once, which tells so */
        Py_RETURN_NONE;
    }
    job->tape = Py_NewRef(t);
    job->words = t->words, job->end = t->words + t->used, job->expected = t->takes;
    pthread_mutex_lock(&line.mutex);
    if (line.last) line.last->next = job;
    else line.first = job;
    line.last = job;
    if (!line.next) __atomic_store_n(&line.next, job, __ATOMIC_RELEASE);
    line.jobs++;
    line.expected += job->expected;
    if (line.expected > WORTH_A_THREAD) {
        pthread_t thread;
        if (!line.started && !pthread_create(&thread, 0, fly, 0)) line.started = !pthread_detach(thread);
        else if (line.asleep && !line.running) pthread_cond_signal(&line.wake);
    }
    pthread_mutex_unlock(&line.mutex);
    return Py_NewRef(job->results);
}

/* wait(): all that was begun has been computed. */
static PyObject *wait_for_all(PyObject *self, PyObject *nothing) {
    (void)self, (void)nothing;
    if (!line.jobs) Py_RETURN_NONE;
    pthread_mutex_lock(&line.mutex);
    while (line.running || line.next) {
        Job *job = take_job();
        if (job) {
            run_job(job);
            continue;
        }
        pthread_mutex_unlock(&line.mutex);
        for (int polls = 0; polls < POLLS_FOR_JOBS && __atomic_load_n(&line.running, __ATOMIC_ACQUIRE); polls++) pause_briefly();
        if (__atomic_load_n(&line.running, __ATOMIC_ACQUIRE)) {
            Py_BEGIN_ALLOW_THREADS
            pthread_mutex_lock(&line.mutex);
            while (line.running) pthread_cond_wait(&line.ended, &line.mutex);
            pthread_mutex_unlock(&line.mutex);
            Py_END_ALLOW_THREADS
        }
        pthread_mutex_lock(&line.mutex);
    }
    Job *jobs = line.first;
    line.first = line.last = 0;
    line.jobs = 0;
    line.expected = 0;
    pthread_mutex_unlock(&line.mutex);
    end_jobs(jobs);
    Py_RETURN_NONE;
}
#else
static PyObject *begin(Tape *t, PyObject *arrays) { (void)t, (void)arrays; Py_RETURN_NONE; }
static PyObject *wait_for_all(PyObject *self, PyObject *nothing) { (void)self, (void)nothing; Py_RETURN_NONE; }
#endif
