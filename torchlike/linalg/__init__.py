"""torch.linalg: linear algebra."""

from .._core.overridable import offer as _offer
from ..ops.linalg._matrices import LinAlgError as LinAlgError, LinAlgError as _LinAlgError
from ..ops.linalg.factorisations import (
    linalg_cholesky as cholesky,
    linalg_cholesky_ex as cholesky_ex,
    linalg_eig as eig,
    linalg_eigh as eigh,
    linalg_eigvals as eigvals,
    linalg_eigvalsh as eigvalsh,
    linalg_householder_product as householder_product,
    linalg_lu as lu,
    linalg_lu_factor as lu_factor,
    linalg_lu_factor_ex as lu_factor_ex,
    linalg_qr as qr,
    linalg_svd as svd,
    linalg_svdvals as svdvals,
)
from ..ops.linalg.indefinite import (
    linalg_ldl_factor as ldl_factor,
    linalg_ldl_factor_ex as ldl_factor_ex,
    linalg_ldl_solve as ldl_solve,
)
from ..ops.linalg.matrix_functions import (
    linalg_cond as cond,
    linalg_cross as cross,
    linalg_det as det,
    linalg_diagonal as diagonal,
    linalg_matmul as matmul,
    linalg_matrix_exp as matrix_exp,
    linalg_matrix_norm as matrix_norm,
    linalg_matrix_power as matrix_power,
    linalg_matrix_rank as matrix_rank,
    linalg_multi_dot as multi_dot,
    linalg_norm as norm,
    linalg_slogdet as slogdet,
    linalg_tensorinv as tensorinv,
    linalg_tensorsolve as tensorsolve,
    linalg_vander as vander,
    linalg_vecdot as vecdot,
    linalg_vector_norm as vector_norm,
)
from ..ops.linalg.solving import (
    linalg_inv as inv,
    linalg_inv_ex as inv_ex,
    linalg_lstsq as lstsq,
    linalg_lu_solve as lu_solve,
    linalg_pinv as pinv,
    linalg_solve as solve,
    linalg_solve_ex as solve_ex,
    linalg_solve_triangular as solve_triangular,
)

_offer("torch.linalg", globals())
