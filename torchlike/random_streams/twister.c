/* The Mersenne Twister, a block of 624 words at a time (`random_streams/mt19937.py`).

   A state is an array of 625 numbers: the block, and how many words of it have been handed out. With 625 of them the stream has just been
   seeded; then, and with 624, the next word begins a new block. Python's lock is held during a draw, so that
   a signal handler of Python's finds the state before it or after it. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#include "../_extensions/clones.h"

enum { WORDS = 624, AHEAD = 397, AT_ONCE = 64 };

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

/* A state, and an array for `count` elements of these sizes. */
static int take(PyObject *const *arguments, Py_buffer *state, Py_buffer *to) {
    if (PyObject_GetBuffer(arguments[0], state, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE)) return 0;
    if (PyObject_GetBuffer(arguments[1], to, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE)) {
        PyBuffer_Release(state);
        return 0;
    }
    if (state->len == 4 * (WORDS + 1) && state->itemsize == 4 && to->itemsize == 4) return 1;
    PyErr_SetString(PyExc_ValueError, "the arrays are no state and no words");
    PyBuffer_Release(state);
    PyBuffer_Release(to);
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
    PyBuffer_Release(&state);
    PyBuffer_Release(&to);
    Py_RETURN_NONE;
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
    for (Py_ssize_t start = 0, end = to.len / 4; start < end; start += AT_ONCE) {
        int part = end - start < AT_ONCE ? (int)(end - start) : AT_ONCE;
        draw(state.buf, 2 * part, drawn);
        join(drawn, part, numbers);
        compare(numbers, part, limit, chosen, (float *)to.buf + start);
    }
    PyBuffer_Release(&state);
    PyBuffer_Release(&to);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    { "words", (PyCFunction)(void (*)(void))words, METH_FASTCALL, 0 },
    { "below", (PyCFunction)(void (*)(void))below, METH_FASTCALL, 0 },
    { 0 },
};

static struct PyModuleDef module = { PyModuleDef_HEAD_INIT, "twister", 0, -1, methods };

PyMODINIT_FUNC PyInit_twister(void) { return PyModule_Create(&module); }
