/* A product of matrices, or a stack of them, as `elements.c` computes it for itself and for `tape.c`. */

/* `stride`: to the next one of a stack, in bytes; after so many (`inner`) of them it goes on one `outer` stride further. */
typedef struct { const char *data; Py_ssize_t stride, inner, outer, line; int transposed; } Matrix;

typedef struct {
    void *function;
    int wide, doubles;   /* whether it takes sizes of 64 bits; and what of */
    Matrix x, y;
    char *to;
    Py_ssize_t stack, rows, inner, columns, step;
    int by_rows;         /* else by columns, where there is no stack */
    float *others;       /* the sums of other parts than the first, where parts divide what is added up */
} Product;

/* What `elements.c` gives to `tape.c`. `prepare`: describes the product of two arrays as they lie; 0 where the library cannot read them.
   `multiply`: computes it. It needs no lock of Python's. */
typedef struct {
    int (*prepare)(Product *work, const Py_buffer *to, const Py_buffer *x, const Py_buffer *y);
    void (*multiply)(Product *work, Py_ssize_t parts, Py_ssize_t least);
    const int *threads; /* how many may compute together */
} Products;

#define PRODUCTS "torchlike.engine.interpreter.elements.products"
