"""Named tuples that ops with several results return, printed as PyTorch prints them."""

from collections import namedtuple as _namedtuple
from typing import Any as _Any


class _Printed:
    """The printed form of PyTorch's structures of results: each field on a line of its own."""

    __slots__ = ()
    _fields: tuple[str, ...]

    def __repr__(self) -> str:
        lines = [f"{name}={getattr(self, name)!r}" for name in self._fields]
        return f"torch.return_types.{type(self).__name__}(\n" + ",\n".join(lines) + ")"


def _structure(name: str, fields: str) -> _Any:
    base = _namedtuple(name, fields)  # the fields come from the table below
    count = len(fields.split())

    def __new__(cls: type, *values: object) -> object:
        """Of the values of its fields, or of a sequence of them."""
        if len(values) == 1 and isinstance(values[0], (tuple, list)):
            values = tuple(values[0])
        if len(values) != count:
            raise TypeError(f"torch.return_types.{name}() takes a {count}-sequence ({len(values)}-sequence given)")
        return tuple.__new__(cls, values)

    return type(name, (_Printed, base), {"__slots__": (), "__module__": "torchlike.return_types", "__new__": __new__})


# One row an op: the name PyTorch prints, and its fields.
max = _structure("max", "values indices")
min = _structure("min", "values indices")
aminmax = _structure("aminmax", "min max")
sort = _structure("sort", "values indices")
topk = _structure("topk", "values indices")
kthvalue = _structure("kthvalue", "values indices")
median = _structure("median", "values indices")
nanmedian = _structure("nanmedian", "values indices")
mode = _structure("mode", "values indices")
cummax = _structure("cummax", "values indices")
cummin = _structure("cummin", "values indices")
frexp = _structure("frexp", "mantissa exponent")
histogram = _structure("histogram", "hist bin_edges")
histogramdd = _structure("histogramdd", "hist bin_edges")
qr = _structure("qr", "Q R")
svd = _structure("svd", "U S V")
slogdet = _structure("slogdet", "sign logabsdet")
geqrf = _structure("geqrf", "a tau")
triangular_solve = _structure("triangular_solve", "solution cloned_coefficient")
_lu_with_info = _structure("_lu_with_info", "LU pivots info")
lu_unpack = _structure("lu_unpack", "P L U")
linalg_eig = _structure("linalg_eig", "eigenvalues eigenvectors")
linalg_eigh = _structure("linalg_eigh", "eigenvalues eigenvectors")
linalg_svd = _structure("linalg_svd", "U S Vh")
linalg_qr = _structure("linalg_qr", "Q R")
linalg_slogdet = _structure("linalg_slogdet", "sign logabsdet")
linalg_lu = _structure("linalg_lu", "P L U")
linalg_lu_factor = _structure("linalg_lu_factor", "LU pivots")
linalg_lu_factor_ex = _structure("linalg_lu_factor_ex", "LU pivots info")
linalg_cholesky_ex = _structure("linalg_cholesky_ex", "L info")
linalg_inv_ex = _structure("linalg_inv_ex", "inverse info")
linalg_solve_ex = _structure("linalg_solve_ex", "result info")
linalg_ldl_factor = _structure("linalg_ldl_factor", "LD pivots")
linalg_ldl_factor_ex = _structure("linalg_ldl_factor_ex", "LD pivots info")
linalg_lstsq = _structure("linalg_lstsq", "solution residuals rank singular_values")
