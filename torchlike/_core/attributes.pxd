cdef class Fields:
    cdef public object _storage, _view, _grad_fn, _grad, _accumulator, _leaf_hooks, _post_accumulate_hooks
    cdef public bint _requires_grad, _retains_grad, _inference, _is_param
    cdef public Py_ssize_t _output_nr

cdef class Contents:
    cdef public object value, host, writer
    cdef public Py_ssize_t version, content_version, writes_by_index, made_in

cdef Py_ssize_t _period

# What ``new`` and ``new_storage`` do, for a class that is known to be one of these, without the checks of a call from Python.
cdef extern from *:
    """
    static PyObject *torchlike_made(PyObject *base, PyObject *kind) {
        PyObject *nothing = PyTuple_New(0), *made;
        if (!nothing) return NULL;
        made = ((PyTypeObject *) base)->tp_new((PyTypeObject *) kind, nothing, NULL);
        Py_DECREF(nothing);
        return made;
    }
    """
    object torchlike_made(object base, object kind)

cdef inline Fields made_tensor(object kind):
    return torchlike_made(Fields, kind)

cdef inline Contents made_storage(object kind):
    return torchlike_made(Contents, kind)
