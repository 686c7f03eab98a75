/* The Mersenne Twister, a block of 624 words at a time (`random_streams/mt19937.py`), and what is made of many of its words.

   A state is an array of 625 numbers: the block, and how many words of it have been handed out. With 625 of them the stream has just been
   seeded; then, and with 624, the next word begins a new block. Python's lock is held during a draw, so that
   a signal handler of Python's finds the state before it or after it. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "../_extensions/clones.h"

enum { WORDS = 624, AHEAD = 397, AT_ONCE = 64, HALF = 8, NORMALS = 16 * HALF };

#define NEXT(later, word, following) \
    ((later) ^ ((((word) & 0x80000000u) | ((following) & 0x7fffffffu)) >> 1) ^ (0x9908b0dfu & (0u - ((following) & 1u))))

CLONES static void next_block(uint32_t *words) {
    /* Words are read further on than they are written, or 227 words behind, which is more than a vector holds. */
    INDEPENDENT for (int i = 0; i < WORDS - AHEAD; i++) words[i] = NEXT(words[i + AHEAD], words[i], words[i + 1]);
    INDEPENDENT for (int i = WORDS - AHEAD; i < WORDS - 1; i++) words[i] = NEXT(words[i + AHEAD - WORDS], words[i], words[i + 1]);
    words[WORDS - 1] = NEXT(words[AHEAD - 1], words[WORDS - 1], words[0]);
}

CLONES static void temper(const uint32_t *words, int count, uint32_t *to) {
    INDEPENDENT for (int i = 0; i < count; i++) {
        uint32_t y = words[i];
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c5680u;
        y ^= (y << 15) & 0xefc60000u;
        to[i] = y ^ (y >> 18);
    }
}

/* The next words of a stream. */
static void draw(uint32_t *state, Py_ssize_t count, uint32_t *to) {
    while (count) {
        if (state[WORDS] >= WORDS) {
            next_block(state);
            state[WORDS] = 0;
        }
        int part = WORDS - (int)state[WORDS];
        if (part > count) part = (int)count;
        temper(state + state[WORDS], part, to);
        state[WORDS] += (uint32_t)part;
        to += part;
        count -= part;
    }
}

/* Numbers of 53 bits: of two words, the first is the upper half. */
CLONES static void join(const uint32_t *words, int count, uint64_t *to) {
    for (int i = 0; i < count; i++) to[i] = ((uint64_t)(words[2 * i] & 0x1fffffu) << 32) | words[2 * i + 1];
}

CLONES static void compare(const uint64_t *numbers, int count, uint64_t limit, float chosen, float *to) {
    for (int i = 0; i < count; i++) to[i] = numbers[i] < limit ? chosen : 0.0f;
}

/* ---- normal numbers: what `box_muller.py` says, with its names. The compiler fuses nothing but what is written as fused here. */

INLINE float of_bits(int32_t bits) { float x; memcpy(&x, &bits, 4); return x; }
INLINE int32_t bits_of(float x) { int32_t bits; memcpy(&bits, &x, 4); return bits; }

INLINE float logarithm(float x) {
    int32_t bits = bits_of(x), exponent = (bits - bits_of(0.70710678f)) >> 23;
    float m = of_bits(bits - exponent * 8388608) - 1.0f, square = m * m, e = (float)exponent;
    float p = fmaf(7.0376836292e-2f, m, -1.1514610310e-1f);
    p = fmaf(p, m, 1.1676998740e-1f);
    p = fmaf(p, m, -1.2420140846e-1f);
    p = fmaf(p, m, 1.4249322787e-1f);
    p = fmaf(p, m, -1.6668057665e-1f);
    p = fmaf(p, m, 2.0000714765e-1f);
    p = fmaf(p, m, -2.4999993993e-1f);
    p = fmaf(p, m, 3.3333331174e-1f);
    p = fmaf(p * m, square, e * -2.12194440e-4f) - square * 0.5f;
    return m + p + e * 0.693359375f;
}

/* So many radii and angles between 0 and 2 pi, which become the one and the other number of a pair. */
CLONES static void turn(float *radius, float *angle, float mean, float std) {
    INDEPENDENT for (int i = 0; i < NORMALS; i++) radius[i] = sqrtf(-2.0f * logarithm(1.0f - radius[i]));
    INDEPENDENT for (int i = 0; i < NORMALS; i++) {
        int32_t octant = ((int32_t)(angle[i] * 1.27323954f) + 1) & ~1;
        float turns = (float)octant, x = angle[i] - turns * 0.78515625f - turns * 2.4187564849853515625e-4f;
        x = fmaf(turns, -3.77489497744594108e-8f, x);
        float square = x * x, p = fmaf(2.443315711809948e-5f, square, -1.388731625493765e-3f), q = fmaf(-1.9515295891e-4f, square, 8.3321608736e-3f);
        p = fmaf(p, square, 4.166664568298827e-2f);
        q = fmaf(q, square, -1.6666654611e-1f);
        float cosine = fmaf(p * square, square, square * -0.5f) + 1.0f, sine = fmaf(q * square, x, x);
        int32_t c = bits_of(cosine), s = bits_of(sine), exchange = (c ^ s) & -(octant >> 1 & 1);
        c ^= exchange ^ (int32_t)((uint32_t)((octant + 2) & 4) << 29);
        s ^= exchange ^ (int32_t)((uint32_t)(octant & 4) << 29);
        angle[i] = fmaf(of_bits(s) * radius[i], std, mean);
        radius[i] = fmaf(of_bits(c) * radius[i], std, mean);
    }
}

/* The uniform numbers of so many blocks, each of half radii and half angles. */
CLONES static void separate(const uint32_t *words, int blocks, float *radius, float *angle) {
    for (int b = 0; b < blocks; b++)
        for (int i = 0; i < HALF; i++) {
            radius[b * HALF + i] = (float)(int32_t)(words[2 * b * HALF + i] & 0xffffffu) * 5.9604644775390625e-8f;
            angle[b * HALF + i] = (float)(int32_t)(words[(2 * b + 1) * HALF + i] & 0xffffffu) * 5.9604644775390625e-8f * 6.28318530717958647692f;
        }
}

/* ---- for Python */

/* The first two arguments, of which the second is written, and the first too unless it is only read. */
static int take_both(PyObject *const *arguments, Py_buffer *first, int only_read, Py_buffer *second) {
    if (PyObject_GetBuffer(arguments[0], first, only_read ? PyBUF_C_CONTIGUOUS : PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE)) return 0;
    if (!PyObject_GetBuffer(arguments[1], second, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE)) return 1;
    PyBuffer_Release(first);
    return 0;
}

static PyObject *end(Py_buffer *first, Py_buffer *second) {
    PyBuffer_Release(first);
    PyBuffer_Release(second);
    if (PyErr_Occurred()) return 0;
    Py_RETURN_NONE;
}

/* A state, and an array for `count` elements of these sizes. */
static int take(PyObject *const *arguments, Py_buffer *state, Py_buffer *to) {
    if (!take_both(arguments, state, 0, to)) return 0;
    if (state->len == 4 * (WORDS + 1) && state->itemsize == 4 && to->itemsize == 4) return 1;
    PyErr_SetString(PyExc_ValueError, "the arrays are no state and no words");
    end(state, to);
    return 0;
}

/* words(state, to): the next words, in an array of uint32. */
static PyObject *words(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
    (void)self;
    Py_buffer state, to;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "words(state, to)");
        return 0;
    }
    if (!take(arguments, &state, &to)) return 0;
    draw(state.buf, to.len / 4, to.buf);
    return end(&state, &to);
}

/* below(state, to, limit, chosen): in an array of float32, `chosen` where the next number of 53 bits is below the limit, else 0. */
static PyObject *below(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
    (void)self;
    Py_buffer state, to;
    if (count != 4) {
        PyErr_SetString(PyExc_TypeError, "below(state, to, limit, chosen)");
        return 0;
    }
    uint64_t limit = PyLong_AsUnsignedLongLong(arguments[2]);
    float chosen = (float)PyFloat_AsDouble(arguments[3]);
    if (PyErr_Occurred() || !take(arguments, &state, &to)) return 0;
    uint32_t drawn[2 * AT_ONCE];
    uint64_t numbers[AT_ONCE];
    for (Py_ssize_t start = 0, until = to.len / 4; start < until; start += AT_ONCE) {
        int part = until - start < AT_ONCE ? (int)(until - start) : AT_ONCE;
        draw(state.buf, 2 * part, drawn);
        join(drawn, part, numbers);
        compare(numbers, part, limit, chosen, (float *)to.buf + start);
    }
    return end(&state, &to);
}

/* normals(words, to, mean, std): as many numbers of that mean and standard deviation in float32, in blocks of 16. */
static PyObject *normals(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
    (void)self;
    Py_buffer words, to;
    if (count != 4) {
        PyErr_SetString(PyExc_TypeError, "normals(words, to, mean, std)");
        return 0;
    }
    float mean = (float)PyFloat_AsDouble(arguments[2]), std = (float)PyFloat_AsDouble(arguments[3]);
    if (PyErr_Occurred() || !take_both(arguments, &words, 1, &to)) return 0;
    if (words.len != to.len || words.itemsize != 4 || to.itemsize != 4 || words.len % (8 * HALF)) PyErr_SetString(PyExc_ValueError, "these are no words for so many numbers");
    else
        for (Py_ssize_t block = 0, until = words.len / (8 * HALF); block < until; block += NORMALS / HALF) {
            float radius[NORMALS] = { 0 }, angle[NORMALS] = { 0 }, *part = (float *)to.buf + 2 * HALF * block;
            int blocks = until - block < NORMALS / HALF ? (int)(until - block) : NORMALS / HALF;
            separate((const uint32_t *)words.buf + 2 * HALF * block, blocks, radius, angle);
            turn(radius, angle, mean, std);
            for (int b = 0; b < blocks; b++) {
                memcpy(part + 2 * HALF * b, radius + HALF * b, HALF * sizeof *part);
                memcpy(part + 2 * HALF * b + HALF, angle + HALF * b, HALF * sizeof *part);
            }
        }
    return end(&words, &to);
}

/* exchange(others, order): exchanges each element of an array of int64 with another one, in turn; the places of the others are int32. */
static PyObject *exchange(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
    (void)self;
    Py_buffer order, others;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "exchange(others, order)");
        return 0;
    }
    if (!take_both(arguments, &others, 1, &order)) return 0;
    Py_ssize_t elements = order.len / 8, exchanges = others.len / 4;
    int64_t *at = order.buf;
    const int32_t *with = others.buf;
    int fits = order.itemsize == 8 && others.itemsize == 4 && exchanges <= elements;
    for (Py_ssize_t i = 0; fits && i < exchanges; i++) fits = with[i] >= 0 && with[i] < elements;
    if (!fits) PyErr_SetString(PyExc_ValueError, "these are no places in the array");
    for (Py_ssize_t i = 0; fits && i < exchanges; i++) {
        int64_t own = at[i];
        at[i] = at[with[i]];
        at[with[i]] = own;
    }
    return end(&others, &order);
}

static PyMethodDef methods[] = {
    { "words", (PyCFunction)(void (*)(void))words, METH_FASTCALL, 0 },
    { "below", (PyCFunction)(void (*)(void))below, METH_FASTCALL, 0 },
    { "normals", (PyCFunction)(void (*)(void))normals, METH_FASTCALL, 0 },
    { "exchange", (PyCFunction)(void (*)(void))exchange, METH_FASTCALL, 0 },
    { 0 },
};

static struct PyModuleDef module = { PyModuleDef_HEAD_INIT, "twister", 0, -1, methods };

PyMODINIT_FUNC PyInit_twister(void) { return PyModule_Create(&module); }
