/* Tapes: what a plan computes, without Python (`engine/interpreter/joined.py`).

   A plan is a list of calls of NumPy. On small arrays a call takes a microsecond to look at its arguments, and computes for some tens of
   nanoseconds. Shapes, dtypes and layouts are the same each time, so a tape looks at them once: it lists the inner loops of NumPy's functions
   with the sizes and strides that they are called with. What only shows the elements in another way is no entry of a tape.

   A tape computes what the calls compute, bit by bit: the loops are NumPy's, products those of `elements.c`, and sums are added up in NumPy's
   order. Functions of the calls that are not NumPy's say in an attribute `taped` what they do. A plan with any other function has no tape. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#ifndef _WIN32
#include <pthread.h>
#define THREADS 1
#else
#define THREADS 0
#endif
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

#include "../../_extensions/clones.h"
#include "../../_extensions/product.h"

/* Larger arrays are computed in passes, on several threads: `fused.py`. Copies go on as fast as memory. */
enum { MOST_ELEMENTS = 16384, MOST_COPIED = 1 << 18, MOST_OPERANDS = 4, MOST_DIMS = 16, MOST_INPUTS = 64, LINE = 64 };
enum { LOOP, MATMUL, PRODUCT };
enum { INPUT, CONSTANT, MADE };

static const Products *products;
static PyObject *methodcaller, *itemgetter, *taped;

/* ---- inner loops that NumPy has no function for. As its own: operands, how many elements, steps in bytes. */

#define COPY(name, type) \
    static void name(char **p, const npy_intp *count, const npy_intp *steps, void *data) { \
        (void)data; \
        if (steps[0] == sizeof(type) && steps[1] == sizeof(type)) { memcpy(p[1], p[0], (size_t)*count * sizeof(type)); return; } \
        for (npy_intp i = 0; i < *count; i++) memcpy(p[1] + i * steps[1], p[0] + i * steps[0], sizeof(type)); \
    }
typedef struct { char bytes[16]; } Sixteen;
COPY(copy_1, uint8_t)
COPY(copy_2, uint16_t)
COPY(copy_4, uint32_t)
COPY(copy_8, uint64_t)
COPY(copy_16, Sixteen)

#define WHERE(name, type) /* which, yes, no, result */ \
    static void name(char **p, const npy_intp *count, const npy_intp *steps, void *data) { \
        (void)data; \
        for (npy_intp i = 0; i < *count; i++) memcpy(p[3] + i * steps[3], p[0][i * steps[0]] ? p[1] + i * steps[1] : p[2] + i * steps[2], sizeof(type)); \
    }
WHERE(where_1, uint8_t)
WHERE(where_2, uint16_t)
WHERE(where_4, uint32_t)
WHERE(where_8, uint64_t)
WHERE(where_16, Sixteen)

static void fill_with_zeros(char **p, const npy_intp *count, const npy_intp *steps, void *data) {
    for (npy_intp i = 0; i < *count; i++) memset(p[0] + i * steps[0], 0, (size_t)(intptr_t)data);
}

#define CAST(from, to) \
    static void from##_to_##to(char **p, const npy_intp *count, const npy_intp *steps, void *data) { \
        (void)data; \
        for (npy_intp i = 0; i < *count; i++) *(to *)(p[1] + i * steps[1]) = (to)*(from *)(p[0] + i * steps[0]); \
    }
#define TO_BOOL(from) \
    static void from##_to_bool(char **p, const npy_intp *count, const npy_intp *steps, void *data) { \
        (void)data; \
        for (npy_intp i = 0; i < *count; i++) p[1][i * steps[1]] = *(from *)(p[0] + i * steps[0]) != 0; \
    }
typedef npy_bool Bool;
typedef npy_int32 Int;
typedef npy_int64 Long;
CAST(Bool, Int) CAST(Bool, Long) CAST(Bool, float) CAST(Bool, double)
CAST(Int, Long) CAST(Int, float) CAST(Int, double) TO_BOOL(Int)
CAST(Long, Int) CAST(Long, float) CAST(Long, double) TO_BOOL(Long)
CAST(float, double) TO_BOOL(float) CAST(double, float) TO_BOOL(double)

static PyUFuncGenericFunction cast_between(int from, int to) {
    static const struct { int from, to; PyUFuncGenericFunction loop; } casts[] = {
        { NPY_BOOL, NPY_INT32, Bool_to_Int }, { NPY_BOOL, NPY_INT64, Bool_to_Long }, { NPY_BOOL, NPY_FLOAT, Bool_to_float }, { NPY_BOOL, NPY_DOUBLE, Bool_to_double },
        { NPY_INT32, NPY_INT64, Int_to_Long }, { NPY_INT32, NPY_FLOAT, Int_to_float }, { NPY_INT32, NPY_DOUBLE, Int_to_double }, { NPY_INT32, NPY_BOOL, Int_to_bool },
        { NPY_INT64, NPY_INT32, Long_to_Int }, { NPY_INT64, NPY_FLOAT, Long_to_float }, { NPY_INT64, NPY_DOUBLE, Long_to_double }, { NPY_INT64, NPY_BOOL, Long_to_bool },
        { NPY_FLOAT, NPY_DOUBLE, float_to_double }, { NPY_FLOAT, NPY_BOOL, float_to_bool }, { NPY_DOUBLE, NPY_FLOAT, double_to_float }, { NPY_DOUBLE, NPY_BOOL, double_to_bool },
    };
    for (size_t i = 0; i < sizeof casts / sizeof *casts; i++)
        if (casts[i].from == from && casts[i].to == to) return casts[i].loop;
    return 0;
}

/* The place of the largest or smallest element of a row. */
#define PLACE(name, type) \
    static void name(char **p, const npy_intp *count, const npy_intp *steps, void *data) { \
        npy_intp place = 0; \
        (void)steps; \
        ((PyArray_ArgFunc *)data)(p[0], *count, &place, 0); \
        *(type *)p[1] = (type)place; \
    }
PLACE(place_as_int, Int)
PLACE(place_as_long, Long)

/* Rows of a table by their numbers: table, number, result. Wrong numbers were refused before; here they only must not read elsewhere. */
typedef struct { npy_intp row, last; } Rows;
static void take_rows(char **p, const npy_intp *count, const npy_intp *steps, void *data) {
    const Rows *rows = data;
    for (npy_intp i = 0; i < *count; i++) {
        npy_int64 number = *(npy_int64 *)(p[1] + i * steps[1]);
        number = number < 0 ? 0 : number > rows->last ? rows->last : number;
        memcpy(p[2] + i * steps[2], p[0] + number * rows->row, (size_t)rows->row);
    }
}

/* ---- running: entries are words one after the other */

typedef PyUFuncGenericFunction Function;

/* LOOP, operands, dimensions around the inner loop, the loop, its data, elements; for each operand where it lies and its step; for each of
   the dimensions its size, and a stride for each operand. */
static const npy_intp *run_loop(const npy_intp *word, char *const *bases) {
    int n = (int)word[1], around = (int)word[2];
    Function loop = (Function)word[3];
    void *data = (void *)word[4];
    npy_intp count = word[5], steps[MOST_OPERANDS], at[MOST_DIMS] = { 0 };
    char *place[MOST_OPERANDS], *given[MOST_OPERANDS];
    word += 6;
    for (int i = 0; i < n; i++, word += 3) place[i] = bases[word[0]] + word[1], steps[i] = word[2];
    for (;;) {
        memcpy(given, place, sizeof given);
        loop(given, &count, steps, data);
        int d = around - 1;
        for (; d >= 0; d--) {
            const npy_intp *dim = word + d * (n + 1);
            for (int i = 0; i < n; i++) place[i] += dim[1 + i];
            if (++at[d] < dim[0]) break;
            for (int i = 0; i < n; i++) place[i] -= dim[1 + i] * dim[0];
            at[d] = 0;
        }
        if (d < 0) return word + around * (n + 1);
    }
}

/* MATMUL, the loop, its data, where the three arrays lie, the sizes, the strides. */
static const npy_intp *run_matmul(const npy_intp *word, char *const *bases) {
    char *place[3];
    for (int i = 0; i < 3; i++) place[i] = bases[word[3 + 2 * i]] + word[4 + 2 * i];
    ((Function)word[1])(place, word + 9, word + 13, (void *)word[2]);
    return word + 22;
}

enum { WORDS_OF_PRODUCT = (sizeof(Product) + sizeof(npy_intp) - 1) / sizeof(npy_intp) };

/* PRODUCT, parts, the least of a part, where the three arrays lie, what is multiplied. */
static const npy_intp *run_product(const npy_intp *word, char *const *bases) {
    Product work;
    memcpy(&work, word + 9, sizeof work);
    work.to = bases[word[3]] + word[4];
    work.x.data = bases[word[5]] + word[6];
    work.y.data = bases[word[7]] + word[8];
    products->multiply(&work, word[1], word[2]);
    return word + 9 + WORDS_OF_PRODUCT;
}

static void run_entries(const npy_intp *word, const npy_intp *end, char *const *bases) {
    while (word < end) word = *word == LOOP ? run_loop(word, bases) : *word == MATMUL ? run_matmul(word, bases) : run_product(word, bases);
}

/* ---- a tape */

/* The memory of an input, of a constant, or of a result. `number`: of the input, or of the array that is returned, -1 if there is none.
   `first`, `last`: the entries that use it, -1 if none does. */
typedef struct { char *start; npy_intp bytes, offset; int kind, number, first, last; } Memory;

/* A result that is returned: the input of that number, all of a memory, or a part of it or of an input. */
typedef struct { PyArray_Descr *dtype; npy_intp offset, shape[MOST_DIMS], strides[MOST_DIMS]; int memory, dims, input, whole; } Picked;

typedef struct { npy_intp shape[MOST_DIMS], strides[MOST_DIMS]; int dims, dtype; } Layout;

typedef struct {
    PyObject_HEAD
    PyObject *slots, *calls, *picks; /* what it is made of; nothing once it is made */
    Py_ssize_t first;
    int state;                       /* 0: not looked at; 1: it can run; -1: it cannot */
    PyObject *kept;                  /* arrays that hold constants */
    npy_intp *words;
    npy_intp used, room, scratch;    /* words; bytes for what lies between the entries */
    Memory *memories;
    int memories_used, memories_room;
    Layout *inputs;
    int inputs_used;
    Picked *picked;
    int picked_used;
    void *rows[4];
    int rows_used;
    double takes;                    /* microseconds of a run; 0: not known */
} Tape;

/* While it is made: an array that lies like the one that each run will have, and in which memory. */
typedef struct { PyArrayObject *array; int memory; } Shown;

static int add_words(Tape *t, const npy_intp *words, npy_intp count) {
    if (t->used + count > t->room) {
        npy_intp room = 2 * (t->used + count);
        npy_intp *more = PyMem_Realloc(t->words, (size_t)room * sizeof *more);
        if (!more) return 0;
        t->words = more, t->room = room;
    }
    memcpy(t->words + t->used, words, (size_t)count * sizeof *words);
    t->used += count;
    return 1;
}

static int add_memory(Tape *t, PyArrayObject *array, int kind, int number) {
    if (t->memories_used == t->memories_room) {
        int room = 2 * t->memories_room + 32;
        Memory *more = PyMem_Realloc(t->memories, (size_t)room * sizeof *more);
        if (!more) return -1;
        t->memories = more, t->memories_room = room;
    }
    char *start = PyArray_BYTES(array), *end = start + PyArray_ITEMSIZE(array);
    for (int d = 0; d < PyArray_NDIM(array); d++) {
        npy_intp reach = PyArray_STRIDE(array, d) * (PyArray_DIM(array, d) - 1);
        if (reach < 0) start += reach;
        else end += reach;
    }
    t->memories[t->memories_used] = (Memory){ start, end - start, 0, kind, number, -1, -1 };
    return t->memories_used++;
}

/* Whether a tape can hold such an array. */
static int is_plain(PyObject *object) {
    if (!PyArray_CheckExact(object)) return 0;
    PyArrayObject *array = (PyArrayObject *)object;
    int dtype = PyArray_TYPE(array);
    return (dtype <= NPY_DOUBLE || dtype == NPY_HALF) && PyArray_ISALIGNED(array) && !PyArray_ISBYTESWAPPED(array) && PyArray_SIZE(array) && PyArray_NDIM(array) < MOST_DIMS;
}

/* Takes over the reference. */
static int keep(PyObject *kept, PyObject *object) {
    int done = object && !PyList_Append(kept, object);
    Py_XDECREF(object);
    return done;
}

static int make(Tape *t, PyObject *kept, int dtype, int dims, const npy_intp *shape, npy_intp most, Shown *made) {
    made->array = (PyArrayObject *)PyArray_SimpleNew(dims, shape, dtype);
    if (!keep(kept, (PyObject *)made->array) || PyArray_SIZE(made->array) > most) return 0;
    made->memory = add_memory(t, made->array, MADE, -1);
    return made->memory >= 0;
}

typedef struct { int memory; npy_intp offset, strides[MOST_DIMS]; } Operand;

static npy_intp offset_of(const Tape *t, const Shown *x) { return PyArray_BYTES(x->array) - t->memories[x->memory].start; }

/* How the elements of an array lie for a result of this shape. 0: it cannot have that shape. */
static int operand(const Tape *t, const Shown *x, int dims, const npy_intp *shape, Operand *made) {
    int missing = dims - PyArray_NDIM(x->array);
    made->memory = x->memory;
    made->offset = offset_of(t, x);
    for (int d = 0; d < dims; d++) {
        npy_intp size = d < missing ? 1 : PyArray_DIM(x->array, d - missing);
        if (size != 1 && size != shape[d]) return 0;
        made->strides[d] = size == 1 ? 0 : PyArray_STRIDE(x->array, d - missing);
    }
    return missing >= 0;
}

/* Adds a loop over all elements in the order of C. `inner`: so many of the last dimensions have to be one for the loop. */
static int add_loop(Tape *t, Function loop, void *data, int n, const Operand *operands, int dims, const npy_intp *shape, int inner) {
    npy_intp sizes[MOST_DIMS], strides[MOST_DIMS][MOST_OPERANDS], words[6 + 3 * MOST_OPERANDS + MOST_DIMS * (MOST_OPERANDS + 1)], *word = words;
    int used = 0;
    for (int d = 0; d < dims; d++) {
        if (shape[d] == 1) continue;
        int joins = used > 0 && d != dims - inner;
        for (int i = 0; i < n && joins; i++) joins = strides[used - 1][i] == operands[i].strides[d] * shape[d];
        if (joins) sizes[used - 1] *= shape[d];
        else sizes[used++] = shape[d];
        for (int i = 0; i < n; i++) strides[used - 1][i] = operands[i].strides[d];
    }
    if (!used) {
        sizes[used++] = 1;
        memset(strides, 0, sizeof strides[0]);
    }
    *word++ = LOOP, *word++ = n, *word++ = used - 1, *word++ = (npy_intp)loop, *word++ = (npy_intp)data, *word++ = sizes[used - 1];
    for (int i = 0; i < n; i++) *word++ = operands[i].memory, *word++ = operands[i].offset, *word++ = strides[used - 1][i];
    for (int d = 0; d < used - 1; d++) {
        *word++ = sizes[d];
        for (int i = 0; i < n; i++) *word++ = strides[d][i];
    }
    return add_words(t, words, word - words);
}

static Function copy_of(npy_intp bytes) { return bytes == 1 ? copy_1 : bytes == 2 ? copy_2 : bytes == 4 ? copy_4 : bytes == 8 ? copy_8 : bytes == 16 ? copy_16 : 0; }

/* Copies, or casts, an array into a part of another one, whose strides are given. */
static int add_copy(Tape *t, Function loop, const Shown *from, int memory, npy_intp offset, const npy_intp *strides) {
    Operand operands[2];
    int dims = PyArray_NDIM(from->array);
    if (!loop || !operand(t, from, dims, PyArray_DIMS(from->array), &operands[0])) return 0;
    operands[1].memory = memory, operands[1].offset = offset;
    memcpy(operands[1].strides, strides, (size_t)dims * sizeof *strides);
    return add_loop(t, loop, 0, 2, operands, dims, PyArray_DIMS(from->array), 0);
}

static int add_whole_copy(Tape *t, PyObject *kept, Function loop, const Shown *from, int dtype, npy_intp most, Shown *made) {
    return make(t, kept, dtype, PyArray_NDIM(from->array), PyArray_DIMS(from->array), most, made) && add_copy(t, loop, from, made->memory, 0, PyArray_STRIDES(made->array));
}

/* What a function returned that shows the elements in another way. It has been called with arrays that lie as they will in each run. With
   `copies` the elements may have been copied in the order of C. */
static int add_view(Tape *t, PyObject *kept, const Shown *from, int count, PyObject *result, int copies, Shown *made) {
    if (!keep(kept, result) || !is_plain(result)) return 0;
    made->array = (PyArrayObject *)result;
    for (int i = 0; i < count; i++) {
        const Memory *memory = &t->memories[from[i].memory];
        made->memory = from[i].memory;
        if (PyArray_BYTES(made->array) >= memory->start && PyArray_BYTES(made->array) < memory->start + memory->bytes) return 1;
    }
    Shown copy;
    if (!copies || count != 1 || !add_whole_copy(t, kept, copy_of(PyArray_ITEMSIZE(from->array)), from, PyArray_TYPE(from->array), MOST_COPIED, &copy)) return 0;
    made->array = (PyArrayObject *)PyArray_Newshape(copy.array, &(PyArray_Dims){ PyArray_DIMS((PyArrayObject *)result), PyArray_NDIM((PyArrayObject *)result) }, NPY_CORDER);
    made->memory = copy.memory;
    return keep(kept, (PyObject *)made->array) && PyArray_BYTES(made->array) == PyArray_BYTES(copy.array);
}

/* The number of the loop of a function for inputs of exactly these dtypes, -1 without one. */
static int loop_for(const PyUFuncObject *function, const Shown *ins, int count) {
    if (function->nin != count || function->nout != 1 || count >= MOST_OPERANDS) return -1;
    for (int k = 0; k < function->ntypes; k++) {
        const char *types = function->types + k * function->nargs;
        int fits = function->functions && function->functions[k] && types[count] < NPY_OBJECT;
        for (int i = 0; i < count && fits; i++) fits = types[i] == PyArray_TYPE(ins[i].array);
        if (fits) return k;
    }
    return -1;
}

static void *data_of(const PyUFuncObject *function, int k) { return function->data ? (void *)function->data[k] : 0; }

static int add_elementwise(Tape *t, PyObject *kept, Function loop, void *data, const Shown *ins, int count, int dtype, Shown *made) {
    npy_intp shape[MOST_DIMS];
    Operand operands[MOST_OPERANDS];
    int dims = 0;
    for (int i = 0; i < count; i++) dims = PyArray_NDIM(ins[i].array) > dims ? PyArray_NDIM(ins[i].array) : dims;
    for (int d = 0; d < dims; d++) {
        shape[d] = 1;
        for (int i = 0; i < count; i++) {
            int own = d - (dims - PyArray_NDIM(ins[i].array));
            if (own >= 0 && PyArray_DIM(ins[i].array, own) != 1) shape[d] = PyArray_DIM(ins[i].array, own);
        }
    }
    if (!make(t, kept, dtype, dims, shape, MOST_ELEMENTS, made)) return 0;
    for (int i = 0; i < count; i++)
        if (!operand(t, &ins[i], dims, shape, &operands[i])) return 0;
    return operand(t, made, dims, shape, &operands[count]) && add_loop(t, loop, data, count + 1, operands, dims, shape, 0);
}

/* A matrix product, or a stack of them, by NumPy's own function. */
static int add_matmul(Tape *t, PyObject *kept, const PyUFuncObject *function, const Shown *ins, Shown *made) {
    PyArrayObject *x = ins[0].array, *y = ins[1].array;
    int k = loop_for(function, ins, 2), n = PyArray_NDIM(x);
    if (k < 0 || n != PyArray_NDIM(y) || (n != 2 && n != 3) || (n == 3 && PyArray_DIM(x, 0) != PyArray_DIM(y, 0)) || PyArray_DIM(x, n - 1) != PyArray_DIM(y, n - 2)) return 0;
    npy_intp shape[3] = { PyArray_DIM(x, 0), PyArray_DIM(x, n - 2), PyArray_DIM(y, n - 1) };
    if (!make(t, kept, function->types[k * function->nargs + 2], n, n == 3 ? shape : shape + 1, MOST_COPIED, made)) return 0;
    npy_intp words[22] = { MATMUL, (npy_intp)function->functions[k], (npy_intp)data_of(function, k) };
    const Shown *arrays[3] = { &ins[0], &ins[1], made };
    words[9] = n == 3 ? shape[0] : 1, words[10] = shape[1], words[11] = PyArray_DIM(x, n - 1), words[12] = shape[2];
    for (int i = 0; i < 3; i++) {
        PyArrayObject *array = arrays[i]->array;
        words[3 + 2 * i] = arrays[i]->memory, words[4 + 2 * i] = offset_of(t, arrays[i]);
        words[13 + i] = n == 3 ? PyArray_STRIDE(array, 0) : 0;
        words[16 + 2 * i] = PyArray_STRIDE(array, n - 2), words[17 + 2 * i] = PyArray_STRIDE(array, n - 1);
    }
    return add_words(t, words, 22);
}

/* ("product", address of the library's function, wide, parts, least) */
static int add_product(Tape *t, PyObject *kept, PyObject *form, const Shown *ins, Shown *made) {
    Py_buffer views[3];
    Product work = { 0 };
    int held = 0, done = 0, n = PyArray_NDIM(ins[0].array);
    Py_ssize_t parts, least;
    PyObject *name, *address;
    if (!PyArg_ParseTuple(form, "OOpnn", &name, &address, &work.wide, &parts, &least) || !products || (n != 2 && n != 3) || PyArray_NDIM(ins[1].array) != n || parts < 1) return 0;
    work.function = PyLong_AsVoidPtr(address);
    npy_intp shape[3] = { PyArray_DIM(ins[0].array, 0), PyArray_DIM(ins[0].array, n - 2), PyArray_DIM(ins[1].array, n - 1) };
    if (!make(t, kept, PyArray_TYPE(ins[0].array), n, n == 3 ? shape : shape + 1, MOST_COPIED, made)) return 0;
    const Shown *arrays[3] = { made, &ins[0], &ins[1] };
    for (; held < 3; held++)
        if (PyObject_GetBuffer((PyObject *)arrays[held]->array, &views[held], PyBUF_STRIDES | PyBUF_FORMAT)) goto end;
    done = products->prepare(&work, &views[0], &views[1], &views[2]);
end:
    while (held) PyBuffer_Release(&views[--held]);
    if (!done) return 0;
    npy_intp words[9 + WORDS_OF_PRODUCT] = { PRODUCT, parts, least };
    for (int i = 0; i < 3; i++) words[3 + 2 * i] = arrays[i]->memory, words[4 + 2 * i] = offset_of(t, arrays[i]);
    memcpy(words + 9, &work, sizeof work);
    return add_words(t, words, 9 + WORDS_OF_PRODUCT);
}

static int apply(Tape *t, PyObject *kept, PyObject *function, const Shown *ins, int count, Shown *made);

/* The array with its dimensions in this order, and then of this shape; either may be None. */
static int rearranged(Tape *t, PyObject *kept, const Shown *from, PyObject *order, PyObject *shape, Shown *made) {
    *made = *from;
    if (order != Py_None) {
        const Shown before = *made;
        if (!add_view(t, kept, &before, 1, PyObject_CallMethod((PyObject *)before.array, "transpose", "O", order), 0, made)) return 0;
    }
    if (shape == Py_None) return 1;
    const Shown before = *made;
    return add_view(t, kept, &before, 1, PyObject_CallMethod((PyObject *)before.array, "reshape", "O", shape), 1, made);
}

/* ("dot", function, order of a, shape of a, order of b, shape of b, shape): a product of arrays that are rearranged for it. */
static int add_dot(Tape *t, PyObject *kept, PyObject *form, const Shown *ins, Shown *made) {
    Shown given[2], product;
    return PyTuple_GET_SIZE(form) == 7 && rearranged(t, kept, &ins[0], PyTuple_GET_ITEM(form, 2), PyTuple_GET_ITEM(form, 3), &given[0])
        && rearranged(t, kept, &ins[1], PyTuple_GET_ITEM(form, 4), PyTuple_GET_ITEM(form, 5), &given[1])
        && apply(t, kept, PyTuple_GET_ITEM(form, 1), given, 2, &product) && rearranged(t, kept, &product, Py_None, PyTuple_GET_ITEM(form, 6), made);
}

static int is_named(PyObject *function, const char *name) { return !strcmp(((PyUFuncObject *)function)->name, name); }

/* ("reduce", function of NumPy's, axes). Sums are added up in the order of its `reduce`: along the last dimensions by its inner loop, else
   one after the other. */
static int add_reduction(Tape *t, PyObject *kept, PyObject *form, const Shown *x, Shown *made) {
    PyObject *object, *name, *axes;
    npy_intp shape[MOST_DIMS], kept_shape[MOST_DIMS], strides[MOST_DIMS], *all = PyArray_DIMS(x->array);
    int dims = PyArray_NDIM(x->array), gone[MOST_DIMS] = { 0 }, left = 0, behind = 0, split = 0;
    if (!PyArg_ParseTuple(form, "OOO!", &name, &object, &PyTuple_Type, &axes) || !PyObject_TypeCheck(object, &PyUFunc_Type)) return 0;
    PyUFuncObject *function = (PyUFuncObject *)object;
    int dtype = PyArray_TYPE(x->array), adds = is_named(object, "add");
    int repeats = is_named(object, "maximum") || is_named(object, "minimum") || is_named(object, "bitwise_or") || is_named(object, "bitwise_and");
    const Shown pair[2] = { *x, *x };
    int k = loop_for(function, pair, 2);
    if (k < 0 || function->types[k * function->nargs + 2] != dtype || (!adds && !repeats) || (adds && (dtype == NPY_BOOL || PyArray_ITEMSIZE(x->array) < 4))) return 0;
    if (PyArray_SIZE(x->array) > MOST_ELEMENTS || (adds && !PyArray_IS_C_CONTIGUOUS(x->array))) return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(axes); i++) {
        Py_ssize_t axis = PyLong_AsSsize_t(PyTuple_GET_ITEM(axes, i));
        if (axis < 0 || axis >= dims) return 0;
        gone[axis] = 1;
    }
    for (int d = 0; d < dims; d++)
        if (!gone[d]) shape[left] = all[d], kept_shape[left] = all[d], strides[left++] = PyArray_STRIDE(x->array, d);
    if (!make(t, kept, dtype, left, shape, MOST_ELEMENTS, made)) return 0;
    Operand to = { made->memory, 0, { 0 } }, from, operands[3];
    for (int d = 0, at = 0; d < dims; d++) to.strides[d] = gone[d] ? 0 : PyArray_STRIDE(made->array, at++);
    if (!operand(t, x, dims, all, &from)) return 0;
    /* The first of the elements, or zero. */
    Operand first[2] = { { x->memory, from.offset, { 0 } }, { made->memory, 0, { 0 } } };
    memcpy(first[0].strides, strides, sizeof strides);
    memcpy(first[1].strides, PyArray_STRIDES(made->array), (size_t)left * sizeof *strides);
    if (adds ? !add_loop(t, fill_with_zeros, (void *)(intptr_t)PyArray_ITEMSIZE(x->array), 1, &first[1], left, kept_shape, 0) : !add_loop(t, copy_of(PyArray_ITEMSIZE(x->array)), 0, 2, first, left, kept_shape, 0)) return 0;
    /* What is added up must be one run of dimensions, the last ones or followed by those that stay. */
    for (int d = dims - 1; d >= 0; d--) {
        if (all[d] == 1) continue;
        if (gone[d]) split |= behind == 2, behind = behind ? behind : 1;
        if (!gone[d] && behind == 1) behind = 2;
    }
    int trailing = 0, inner = 0;
    for (int d = dims - 1; d >= 0 && (gone[d] || all[d] == 1); d--) trailing += gone[d] && all[d] != 1, inner = dims - d;
    if (adds && split) return 0;
    operands[0] = operands[2] = to, operands[1] = from;
    return add_loop(t, function->functions[k], data_of(function, k), 3, operands, dims, all, trailing ? inner : 0);
}

/* ("concatenate", axis) */
static int add_concatenation(Tape *t, PyObject *kept, PyObject *form, const Shown *ins, int count, Shown *made) {
    npy_intp shape[MOST_DIMS], offset = 0;
    int axis, dims = PyArray_NDIM(ins->array);
    PyObject *name;
    if (!PyArg_ParseTuple(form, "Oi", &name, &axis) || axis < 0 || axis >= dims) return 0;
    memcpy(shape, PyArray_DIMS(ins->array), (size_t)dims * sizeof *shape);
    for (int i = 1; i < count; i++) {
        if (PyArray_TYPE(ins[i].array) != PyArray_TYPE(ins->array) || PyArray_NDIM(ins[i].array) != dims) return 0;
        shape[axis] += PyArray_DIM(ins[i].array, axis);
    }
    if (!make(t, kept, PyArray_TYPE(ins->array), dims, shape, MOST_COPIED, made)) return 0;
    for (int i = 0; i < count; i++) {
        if (!add_copy(t, copy_of(PyArray_ITEMSIZE(ins->array)), &ins[i], made->memory, offset, PyArray_STRIDES(made->array))) return 0;
        offset += PyArray_DIM(ins[i].array, axis) * PyArray_STRIDE(made->array, axis);
    }
    return 1;
}

/* ("position", smallest, axis, dtype): of the largest or smallest element along the last dimension. */
static int add_position(Tape *t, PyObject *kept, PyObject *form, const Shown *x, Shown *made) {
    int smallest, axis, last = PyArray_NDIM(x->array) - 1;
    PyObject *name, *dtype;
    if (!PyArg_ParseTuple(form, "OpiO!", &name, &smallest, &axis, &PyArrayDescr_Type, &dtype) || axis != last || PyArray_DIM(x->array, last) < 2 || PyArray_STRIDE(x->array, last) != PyArray_ITEMSIZE(x->array)) return 0;
    PyArray_ArrFuncs *functions = PyDataType_GetArrFuncs(PyArray_DESCR(x->array));
    PyArray_ArgFunc *function = smallest ? functions->argmin : functions->argmax;
    int kind = ((PyArray_Descr *)dtype)->type_num;
    if (!function || (kind != NPY_INT64 && kind != NPY_INT32) || !make(t, kept, kind, last, PyArray_DIMS(x->array), MOST_ELEMENTS, made)) return 0;
    Operand operands[2] = { { made->memory, 0, { 0 } }, { made->memory, 0, { 0 } } };
    if (!operand(t, x, last + 1, PyArray_DIMS(x->array), &operands[0])) return 0;
    memcpy(operands[1].strides, PyArray_STRIDES(made->array), (size_t)last * sizeof(npy_intp));
    operands[1].strides[last] = 0;
    return add_loop(t, kind == NPY_INT32 ? place_as_int : place_as_long, (void *)function, 2, operands, last + 1, PyArray_DIMS(x->array), 1);
}

/* ("rows",): rows of the first array, by the numbers in the last dimension of the second, which is one. */
static int add_rows(Tape *t, PyObject *kept, const Shown *ins, Shown *made) {
    PyArrayObject *table = ins[0].array, *numbers = ins[1].array;
    npy_intp shape[MOST_DIMS];
    int dims = PyArray_NDIM(numbers) - 1, more = PyArray_NDIM(table) - 1;
    if (dims < 0 || more < 0 || dims + more >= MOST_DIMS || PyArray_TYPE(numbers) != NPY_INT64 || PyArray_DIM(numbers, dims) != 1 || !PyArray_IS_C_CONTIGUOUS(table) || t->rows_used == 4) return 0;
    memcpy(shape, PyArray_DIMS(numbers), (size_t)dims * sizeof *shape);
    memcpy(shape + dims, PyArray_DIMS(table) + 1, (size_t)more * sizeof *shape);
    Rows *rows = PyMem_Malloc(sizeof *rows);
    if (!rows) return 0;
    t->rows[t->rows_used++] = rows;
    rows->row = PyArray_STRIDE(table, 0), rows->last = PyArray_DIM(table, 0) - 1;
    if (!make(t, kept, PyArray_TYPE(table), dims + more, shape, MOST_COPIED, made)) return 0;
    Operand operands[3] = { { ins[0].memory, offset_of(t, &ins[0]), { 0 } }, { ins[1].memory, offset_of(t, &ins[1]), { 0 } }, { made->memory, 0, { 0 } } };
    memcpy(operands[1].strides, PyArray_STRIDES(numbers), (size_t)dims * sizeof *shape);
    memcpy(operands[2].strides, PyArray_STRIDES(made->array), (size_t)dims * sizeof *shape);
    return add_loop(t, take_rows, rows, 3, operands, dims, shape, 0);
}

/* ("steps", (function, operand...), ...): functions of NumPy's, one after the other. Operands are counted from the inputs on; a number with a
   point is a constant. */
static int add_steps(Tape *t, PyObject *kept, PyObject *form, const Shown *ins, int count, Shown *made) {
    Shown values[32];
    int known = count;
    if (count + PyTuple_GET_SIZE(form) > 32) return 0;
    memcpy(values, ins, (size_t)count * sizeof *ins);
    for (Py_ssize_t step = 1; step < PyTuple_GET_SIZE(form); step++) {
        PyObject *entry = PyTuple_GET_ITEM(form, step);
        Shown given[MOST_OPERANDS];
        int n = (int)PyTuple_GET_SIZE(entry) - 1;
        if (n < 1 || n >= MOST_OPERANDS) return 0;
        for (int i = 0; i < n; i++) {
            PyObject *which = PyTuple_GET_ITEM(entry, 1 + i);
            if (PyFloat_Check(which)) {
                PyArray_Descr *dtype = PyArray_DESCR(ins->array);
                Py_INCREF(dtype);
                given[i].array = (PyArrayObject *)PyArray_FromAny(which, dtype, 0, 0, NPY_ARRAY_FORCECAST, 0);
                if (!keep(t->kept, (PyObject *)given[i].array) || (given[i].memory = add_memory(t, given[i].array, CONSTANT, -1)) < 0) return 0;
            } else {
                long number = PyLong_AsLong(which);
                if (number < 0 || number >= known) return 0;
                given[i] = values[number];
            }
        }
        if (!apply(t, kept, PyTuple_GET_ITEM(entry, 0), given, n, &values[known])) return 0;
        *made = values[known++];
    }
    return known > count;
}

/* ("full", shape): one element everywhere. */
static int add_full(Tape *t, PyObject *kept, PyObject *form, const Shown *x, Shown *made) {
    npy_intp shape[MOST_DIMS];
    Operand operands[2];
    PyObject *sizes = PyTuple_GetItem(form, 1);
    int dims = sizes && PyTuple_Check(sizes) && PyTuple_GET_SIZE(sizes) < MOST_DIMS ? (int)PyTuple_GET_SIZE(sizes) : 0;
    for (int d = 0; d < dims; d++) shape[d] = PyLong_AsSsize_t(PyTuple_GET_ITEM(sizes, d));
    if (!dims || !make(t, kept, PyArray_TYPE(x->array), dims, shape, MOST_ELEMENTS, made) || !operand(t, x, dims, shape, &operands[0]) || !operand(t, made, dims, shape, &operands[1])) return 0;
    Function copy = copy_of(PyArray_ITEMSIZE(x->array));
    return copy && add_loop(t, copy, 0, 2, operands, dims, shape, 0);
}

static int add_where(Tape *t, PyObject *kept, const Shown *ins, Shown *made) { /* which, no, yes */
    const Shown given[3] = { ins[0], ins[2], ins[1] };
    npy_intp bytes = PyArray_ITEMSIZE(ins[1].array);
    Function loop = bytes == 1 ? where_1 : bytes == 2 ? where_2 : bytes == 4 ? where_4 : bytes == 8 ? where_8 : bytes == 16 ? where_16 : 0;
    int dtype = PyArray_TYPE(ins[1].array);
    return loop && PyArray_TYPE(ins[0].array) == NPY_BOOL && PyArray_TYPE(ins[2].array) == dtype && add_elementwise(t, kept, loop, 0, given, 3, dtype, made);
}

static int add_cast(Tape *t, PyObject *kept, PyObject *target, const Shown *x, Shown *made) {
    if (!PyArray_DescrCheck(target)) return 0;
    int from = PyArray_TYPE(x->array), to = ((PyArray_Descr *)target)->type_num;
    return add_whole_copy(t, kept, from == to ? copy_of(PyArray_ITEMSIZE(x->array)) : cast_between(from, to), x, to, MOST_ELEMENTS, made);
}

/* What a function says of itself. */
static int add_form(Tape *t, PyObject *kept, PyObject *function, PyObject *form, const Shown *ins, int count, Shown *made) {
    const char *name = PyTuple_Check(form) && PyTuple_GET_SIZE(form) ? PyUnicode_AsUTF8(PyTuple_GET_ITEM(form, 0)) : 0;
    if (!name) return 0;
    if (!strcmp(name, "view") && count == 1) return add_view(t, kept, ins, 1, PyObject_CallOneArg(function, (PyObject *)ins->array), 1, made);
    if (!strcmp(name, "function")) {
        PyObject *own = PyObject_GetAttrString(function, "function");
        int done = own && apply(t, kept, own, ins, count, made);
        Py_XDECREF(own);
        return done;
    }
    if (!strcmp(name, "full") && count == 1) return add_full(t, kept, form, ins, made);
    if (!strcmp(name, "steps")) return add_steps(t, kept, form, ins, count, made);
    if (!strcmp(name, "reduce") && count == 1) return add_reduction(t, kept, form, ins, made);
    if (!strcmp(name, "concatenate")) return add_concatenation(t, kept, form, ins, count, made);
    if (!strcmp(name, "position") && count == 1) return add_position(t, kept, form, ins, made);
    if (!strcmp(name, "where") && count == 3) return add_where(t, kept, ins, made);
    if (count != 2) return 0;
    if (!strcmp(name, "dot")) return add_dot(t, kept, form, ins, made);
    if (!strcmp(name, "product")) return add_product(t, kept, form, ins, made);
    return !strcmp(name, "rows") && add_rows(t, kept, ins, made);
}

static int add_method(Tape *t, PyObject *kept, PyObject *function, const Shown *x, Shown *made) {
    PyObject *reduced = PyObject_CallMethod(function, "__reduce__", 0);
    if (!keep(kept, reduced) || !PyTuple_Check(reduced) || PyTuple_GET_ITEM(reduced, 0) != methodcaller) return 0;
    PyObject *arguments = PyTuple_GET_ITEM(reduced, 1);
    const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(arguments, 0));
    if (!name) return 0;
    if (!strcmp(name, "astype")) return PyTuple_GET_SIZE(arguments) == 2 && add_cast(t, kept, PyTuple_GET_ITEM(arguments, 1), x, made);
    int reshapes = !strcmp(name, "reshape");
    return (reshapes || !strcmp(name, "transpose")) && add_view(t, kept, x, 1, PyObject_CallOneArg(function, (PyObject *)x->array), reshapes, made);
}

static int apply(Tape *t, PyObject *kept, PyObject *function, const Shown *ins, int count, Shown *made) {
    PyTypeObject *type = Py_TYPE(function);
    if (type == &PyUFunc_Type) {
        const PyUFuncObject *own = (PyUFuncObject *)function;
        if (own->core_enabled) return is_named(function, "matmul") && count == 2 && add_matmul(t, kept, own, ins, made);
        int k = loop_for(own, ins, count);
        return k >= 0 && add_elementwise(t, kept, own->functions[k], data_of(own, k), ins, count, own->types[k * own->nargs + count], made);
    }
    if ((PyObject *)type == methodcaller) return count == 1 && add_method(t, kept, function, ins, made);
    if ((PyObject *)type == itemgetter) return count == 1 && add_view(t, kept, ins, 1, PyObject_CallOneArg(function, (PyObject *)ins->array), 0, made);
    PyObject *form = PyObject_GetAttr(function, taped);
    int done = form && add_form(t, kept, function, form, ins, count, made);
    Py_XDECREF(form);
    return done;
}

/* ---- making a tape */

/* A call of several results, which all show elements of its inputs. */
static int add_views(Tape *t, PyObject *kept, PyObject *function, Shown *shown, const Shown *ins, int count, PyObject *outputs) {
    PyObject *given = PyTuple_New(count), *form = PyObject_GetAttr(function, taped);
    int done = given && form && PyTuple_Check(form) && PyTuple_GET_SIZE(form) && !PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(form, 0), "views");
    Py_XDECREF(form);
    for (int i = 0; given && i < count; i++) PyTuple_SET_ITEM(given, i, Py_NewRef(ins[i].array));
    PyObject *results = done ? PyObject_CallObject(function, given) : 0, *each = results ? PySequence_Tuple(results) : 0;
    Py_XDECREF(given);
    Py_XDECREF(results);
    done = each && PyTuple_GET_SIZE(each) == PyTuple_GET_SIZE(outputs);
    for (Py_ssize_t i = 0; done && i < PyTuple_GET_SIZE(each); i++)
        done = add_view(t, kept, ins, count, Py_NewRef(PyTuple_GET_ITEM(each, i)), 0, &shown[PyLong_AsSsize_t(PyTuple_GET_ITEM(outputs, i))]);
    Py_XDECREF(each);
    return done;
}

static int add_call(Tape *t, PyObject *kept, PyObject *call, PyObject *numbers, Shown *shown) {
    PyObject *function, *inputs, *output, *places = 0;
    Shown ins[MOST_INPUTS];
    if (!PyArg_ParseTuple(call, "OOO", &function, &inputs, &output)) return 0;
    Py_ssize_t count = 1;
    if (!PyLong_Check(inputs)) {
        PyObject *picked = PyObject_CallOneArg(inputs, numbers);
        if (!picked || !keep(kept, places = PySequence_Tuple(picked))) places = 0;
        Py_XDECREF(picked);
        if (!places) return 0;
        count = PyTuple_GET_SIZE(places);
    }
    if (!count || count > MOST_INPUTS) return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        ins[i] = shown[PyLong_AsSsize_t(places ? PyTuple_GET_ITEM(places, i) : inputs)];
        if (!ins[i].array) return 0;
    }
    if (PyTuple_Check(output)) return add_views(t, kept, function, shown, ins, (int)count, output);
    return apply(t, kept, function, ins, (int)count, &shown[PyLong_AsSsize_t(output)]);
}

static int add_picked(Tape *t, PyObject *kept, Shown shown, Picked *picked) {
    const Memory *memory = &t->memories[shown.memory];
    int whole = PyArray_IS_C_CONTIGUOUS(shown.array) && PyArray_BYTES(shown.array) == memory->start && PyArray_NBYTES(shown.array) == memory->bytes;
    if (memory->kind == MADE && !whole) {
        const Shown part = shown;
        if (!add_whole_copy(t, kept, copy_of(PyArray_ITEMSIZE(part.array)), &part, PyArray_TYPE(part.array), MOST_COPIED, &shown)) return 0;
        whole = 1;
    }
    Memory *own = &t->memories[shown.memory];
    picked->memory = shown.memory;
    picked->whole = own->kind == MADE && own->number < 0; /* else another one that is returned has the memory */
    if (picked->whole) own->number = (int)(picked - t->picked);
    picked->input = -1;
    picked->offset = offset_of(t, &shown);
    picked->dtype = PyArray_DESCR(shown.array);
    Py_INCREF(picked->dtype);
    picked->dims = PyArray_NDIM(shown.array);
    memcpy(picked->shape, PyArray_DIMS(shown.array), (size_t)picked->dims * sizeof(npy_intp));
    memcpy(picked->strides, PyArray_STRIDES(shown.array), (size_t)picked->dims * sizeof(npy_intp));
    return 1;
}

/* Notes that the entry uses the memories which it names. Returns the entry after it. */
static const npy_intp *memories_of(Tape *t, const npy_intp *word, int entry) {
    int n = *word == LOOP ? (int)word[1] : 3, each = *word == LOOP ? 3 : 2;
    const npy_intp *place = word + (*word == LOOP ? 6 : 3);
    for (int i = 0; i < n; i++) {
        Memory *memory = &t->memories[place[i * each]];
        memory->last = entry;
        if (memory->first < 0) memory->first = entry;
    }
    return *word == LOOP ? place + 3 * n + word[2] * (n + 1) : word + (*word == MATMUL ? 22 : 9 + WORDS_OF_PRODUCT);
}

/* Finds places for what lies between entries. A place is taken again after the last entry that reads what lies there. */
static int find_places(Tape *t) {
    typedef struct { npy_intp offset, bytes; int until; } Place;
    Place *places = PyMem_Malloc((size_t)(t->memories_used + 1) * sizeof *places);
    int used = 0, entry = 0;
    if (!places) return 0;
    for (const npy_intp *word = t->words, *end = word + t->used; word < end; entry++) word = memories_of(t, word, entry);
    /* Memories are numbered in the order in which they are first written. */
    for (int m = 0; m < t->memories_used; m++) {
        Memory *memory = &t->memories[m];
        if (memory->kind != MADE || memory->number >= 0 || memory->first < 0) continue;
        npy_intp bytes = (memory->bytes + LINE - 1) / LINE * LINE;
        Place *taken = 0;
        for (int p = 0; p < used; p++)
            if (places[p].until < memory->first && places[p].bytes >= bytes && (!taken || places[p].bytes < taken->bytes)) taken = &places[p];
        if (!taken) {
            taken = &places[used++];
            *taken = (Place){ t->scratch, bytes, 0 };
            t->scratch += bytes;
        }
        taken->until = memory->last;
        memory->offset = taken->offset;
    }
    PyMem_Free(places);
    return 1;
}

static int describe_inputs(Tape *t, PyObject *arrays, Shown *shown) {
    t->inputs_used = (int)PyList_GET_SIZE(arrays);
    t->inputs = PyMem_Calloc((size_t)t->inputs_used + 1, sizeof *t->inputs);
    if (!t->inputs) return 0;
    for (int i = 0; i < t->inputs_used; i++) {
        PyObject *given = PyList_GET_ITEM(arrays, i);
        if (!is_plain(given)) return 0;
        PyArrayObject *array = (PyArrayObject *)given;
        Layout *layout = &t->inputs[i];
        layout->dims = PyArray_NDIM(array), layout->dtype = PyArray_TYPE(array);
        memcpy(layout->shape, PyArray_DIMS(array), (size_t)layout->dims * sizeof(npy_intp));
        memcpy(layout->strides, PyArray_STRIDES(array), (size_t)layout->dims * sizeof(npy_intp));
        shown[t->first + i] = (Shown){ array, add_memory(t, array, INPUT, i) };
        if (shown[t->first + i].memory < 0) return 0;
    }
    return 1;
}

static int make_tape(Tape *t, PyObject *arrays) {
    Py_ssize_t slots = PyTuple_GET_SIZE(t->slots), calls = PySequence_Size(t->calls), picks = PyTuple_GET_SIZE(t->picks);
    if (calls <= 0 || t->first + PyList_GET_SIZE(arrays) > slots) return 0;
    Shown *shown = PyMem_Calloc((size_t)slots + 1, sizeof *shown);
    PyObject *kept = PyList_New(0), *numbers = PyList_New(slots);
    int done = shown && kept && numbers && (t->kept = PyList_New(0)) != 0;
    for (Py_ssize_t i = 0; done && i < slots; i++) {
        PyObject *number = PyLong_FromSsize_t(i);
        if (!number) done = 0;
        else PyList_SET_ITEM(numbers, i, number);
    }
    for (Py_ssize_t i = 0; done && i < slots; i++) {
        PyObject *constant = PyTuple_GET_ITEM(t->slots, i);
        if (constant == Py_None || (i >= t->first && i < t->first + PyList_GET_SIZE(arrays))) continue;
        PyObject *array = PyArray_FromAny(constant, 0, 0, 0, NPY_ARRAY_ENSUREARRAY | NPY_ARRAY_ALIGNED, 0);
        if (!keep(t->kept, array) || !is_plain(array)) { PyErr_Clear(); continue; }
        shown[i] = (Shown){ (PyArrayObject *)array, add_memory(t, (PyArrayObject *)array, CONSTANT, -1) };
        done = shown[i].memory >= 0;
    }
    done = done && describe_inputs(t, arrays, shown);
    for (Py_ssize_t i = 0; done && i < calls; i++) {
        PyObject *call = PySequence_GetItem(t->calls, i);
        done = keep(kept, call) && add_call(t, kept, call, numbers, shown);
    }
    t->picked = done ? PyMem_Calloc((size_t)picks + 1, sizeof *t->picked) : 0;
    done = done && t->picked;
    for (Py_ssize_t i = 0; done && i < picks; i++) {
        Py_ssize_t slot = PyLong_AsSsize_t(PyTuple_GET_ITEM(t->picks, i));
        done = slot >= 0 && slot < slots && shown[slot].array && add_picked(t, kept, shown[slot], &t->picked[i]);
        if (!done) break;
        t->picked_used = (int)i + 1;
        if (slot >= t->first && slot < t->first + t->inputs_used) t->picked[i].input = (int)(slot - t->first);
    }
    done = done && find_places(t);
    PyMem_Free(shown);
    Py_XDECREF(kept);
    Py_XDECREF(numbers);
    PyErr_Clear();
    return done;
}

/* ---- for Python */

static int fits(const Tape *t, PyObject *arrays) {
    if (PyList_GET_SIZE(arrays) != t->inputs_used) return 0;
    for (int i = 0; i < t->inputs_used; i++) {
        PyObject *given = PyList_GET_ITEM(arrays, i);
        const Layout *layout = &t->inputs[i];
        size_t bytes = (size_t)layout->dims * sizeof(npy_intp);
        if (!PyArray_CheckExact(given)) return 0;
        PyArrayObject *array = (PyArrayObject *)given;
        if (PyArray_NDIM(array) != layout->dims || PyArray_TYPE(array) != layout->dtype || !PyArray_ISALIGNED(array) || PyArray_ISBYTESWAPPED(array)) return 0;
        if (memcmp(PyArray_DIMS(array), layout->shape, bytes) || memcmp(PyArray_STRIDES(array), layout->strides, bytes)) return 0;
    }
    return 1;
}

/* Memory for what lies between entries, kept for the next run. */
static struct { char *start; npy_intp bytes; int taken; } scratch;

static char *take_scratch(npy_intp bytes) {
    if (scratch.taken) return PyMem_RawMalloc((size_t)bytes + LINE);
    if (scratch.bytes < bytes || !scratch.start) {
        PyMem_RawFree(scratch.start);
        scratch.bytes = 0;
        scratch.start = PyMem_RawMalloc((size_t)bytes + LINE);
        if (!scratch.start) return 0;
        scratch.bytes = bytes;
    }
    scratch.taken = 1;
    return scratch.start;
}

static void give_scratch(char *start) {
    if (start == scratch.start) scratch.taken = 0;
    else PyMem_RawFree(start);
}

/* The arrays that are returned. `bases`: gets where their memory is. */
static PyObject *results_of(const Tape *t, PyObject *arrays, char **bases) {
    PyObject *results = PyList_New(t->picked_used);
    for (int i = 0; results && i < t->picked_used; i++) {
        const Picked *picked = &t->picked[i];
        const Memory *memory = &t->memories[picked->memory];
        PyObject *made, *whose = 0;
        if (picked->input < 0) Py_INCREF(picked->dtype); /* an array takes the reference over */
        if (picked->input >= 0) {
            made = Py_NewRef(PyList_GET_ITEM(arrays, picked->input));
        } else if (picked->whole) {
            made = PyArray_NewFromDescr(&PyArray_Type, picked->dtype, picked->dims, picked->shape, 0, 0, 0, 0);
            if (made) bases[picked->memory] = PyArray_BYTES((PyArrayObject *)made);
        } else {
            made = PyArray_NewFromDescr(&PyArray_Type, picked->dtype, picked->dims, picked->shape, picked->strides, bases[picked->memory] + picked->offset, memory->kind == CONSTANT ? 0 : NPY_ARRAY_WRITEABLE, 0);
            if (memory->kind == INPUT) whose = PyList_GET_ITEM(arrays, memory->number);
            else if (memory->kind == MADE) whose = PyList_GET_ITEM(results, memory->number);
            else whose = t->kept;
            if (made && PyArray_SetBaseObject((PyArrayObject *)made, Py_NewRef(whose))) Py_CLEAR(made);
        }
        if (!made) Py_CLEAR(results);
        else PyList_SET_ITEM(results, i, made);
    }
    return results;
}

/* The arrays that are returned, and where everything lies in this run. `between`: memory for what lies between entries. */
static PyObject *prepare(const Tape *t, PyObject *arrays, char *between, char **bases) {
    char *start = between + (LINE - (uintptr_t)between % LINE) % LINE;
    for (int m = 0; m < t->memories_used; m++) {
        const Memory *memory = &t->memories[m];
        bases[m] = memory->kind == MADE ? start + memory->offset : memory->start;
        if (memory->kind != INPUT) continue;
        /* An array that is read backwards begins behind its first element in memory. */
        const Layout *layout = &t->inputs[memory->number];
        bases[m] = PyArray_BYTES((PyArrayObject *)PyList_GET_ITEM(arrays, memory->number));
        for (int d = 0; d < layout->dims; d++)
            if (layout->strides[d] < 0) bases[m] += layout->strides[d] * (layout->shape[d] - 1);
    }
    return results_of(t, arrays, bases);
}

static double microseconds(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

/* run(arrays): the results, of inputs in a list. None: NumPy has to compute them. */
static PyObject *run(Tape *t, PyObject *arrays) {
    if (!PyList_Check(arrays)) return PyErr_Format(PyExc_TypeError, "run(arrays) takes a list");
    if (!t->state) {
        t->state = make_tape(t, arrays) ? 1 : -1;
        Py_CLEAR(t->slots);
        Py_CLEAR(t->calls);
        Py_CLEAR(t->picks);
    }
    if (t->state < 0 || !fits(t, arrays)) Py_RETURN_NONE;
    char *few[256], **bases = t->memories_used <= 256 ? few : PyMem_Malloc((size_t)t->memories_used * sizeof *bases);
    char *between = bases ? take_scratch(t->scratch) : 0;
    PyObject *results = between ? prepare(t, arrays, between, bases) : PyErr_NoMemory();
    if (results) {
        double start = microseconds();
        run_entries(t->words, t->words + t->used, bases);
        double took = microseconds() - start;
        t->takes = t->takes && took > t->takes ? 0.75 * t->takes + 0.25 * took : took; /* without what else the processor did */
    }
    if (between) give_scratch(between);
    if (bases != few) PyMem_Free(bases);
    return results;
}

#include "../../_extensions/in_flight.h"

static PyObject *new_tape(PyTypeObject *type, PyObject *arguments, PyObject *named) {
    Tape *t = (Tape *)type->tp_alloc(type, 0);
    if (!t) return 0;
    if (!PyArg_ParseTuple(arguments, "O!nOO!", &PyTuple_Type, &t->slots, &t->first, &t->calls, &PyTuple_Type, &t->picks)) {
        t->slots = t->calls = t->picks = 0;
        Py_CLEAR(t);
        return 0;
    }
    (void)named;
    Py_INCREF(t->slots);
    Py_INCREF(t->calls);
    Py_INCREF(t->picks);
    return (PyObject *)t;
}

static void free_tape(Tape *t) {
    Py_XDECREF(t->slots);
    Py_XDECREF(t->calls);
    Py_XDECREF(t->picks);
    Py_XDECREF(t->kept);
    for (int i = 0; i < t->picked_used; i++) Py_DECREF(t->picked[i].dtype);
    for (int i = 0; i < t->rows_used; i++) PyMem_Free(t->rows[i]);
    PyMem_Free(t->words);
    PyMem_Free(t->memories);
    PyMem_Free(t->inputs);
    PyMem_Free(t->picked);
    Py_TYPE(t)->tp_free((PyObject *)t);
}

static PyObject *can_run(Tape *t, void *closure) {
    (void)closure;
    return t->state ? PyBool_FromLong(t->state > 0) : Py_NewRef(Py_None);
}

static PyMethodDef methods_of_tape[] = { { "run", (PyCFunction)run, METH_O, 0 }, { "begin", (PyCFunction)begin, METH_O, 0 }, { 0 } };
static PyMethodDef methods[] = { { "wait", wait_for_all, METH_NOARGS, 0 }, { 0 } };
static PyGetSetDef properties_of_tape[] = { { "can_run", (getter)can_run, 0, 0, 0 }, { 0 } };

static PyTypeObject tape_type = {
    PyVarObject_HEAD_INIT(0, 0).tp_name = "torchlike.engine.interpreter.tape.Tape",
    .tp_basicsize = sizeof(Tape),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = new_tape,
    .tp_dealloc = (destructor)free_tape,
    .tp_methods = methods_of_tape,
    .tp_getset = properties_of_tape,
};

static struct PyModuleDef module = { PyModuleDef_HEAD_INIT, "tape", 0, -1, methods };

PyMODINIT_FUNC PyInit_tape(void) {
    import_array();
    import_umath();
#if THREADS
    if (pthread_atfork(0, 0, line_after_fork)) return PyErr_NoMemory();
#endif
    PyObject *operators = PyImport_ImportModule("operator"), *made = PyModule_Create(&module);
    methodcaller = operators ? PyObject_GetAttrString(operators, "methodcaller") : 0;
    itemgetter = operators ? PyObject_GetAttrString(operators, "itemgetter") : 0;
    taped = PyUnicode_InternFromString("taped");
    Py_XDECREF(operators);
    /* Not by PyCapsule_Import, which looks for attributes of packages that are still being imported. */
    PyObject *elements = PyImport_ImportModule("torchlike.engine.interpreter.elements"), *capsule = elements ? PyObject_GetAttrString(elements, "products") : 0;
    products = capsule ? PyCapsule_GetPointer(capsule, PRODUCTS) : 0;
    Py_XDECREF(elements); /* it stays, as modules do */
    Py_XDECREF(capsule);
    PyErr_Clear();
    if (!methodcaller || !itemgetter || !taped || !made || PyType_Ready(&tape_type) || PyModule_AddObjectRef(made, "Tape", (PyObject *)&tape_type)) Py_CLEAR(made);
    return made;
}
