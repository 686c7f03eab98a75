"""torch.special: functions of mathematical physics and statistics, element by element."""

from .._core.overridable import offer as _offer
from ..ops.composite.special import (
    special_digamma as digamma,
    special_erf as erf,
    special_erfc as erfc,
    special_erfinv as erfinv,
    special_exp2 as exp2,
    special_expit as expit,
    special_expm1 as expm1,
    special_gammainc as gammainc,
    special_gammaincc as gammaincc,
    special_gammaln as gammaln,
    special_i0 as i0,
    special_log1p as log1p,
    special_log_softmax as log_softmax,
    special_logit as logit,
    special_logsumexp as logsumexp,
    special_multigammaln as multigammaln,
    special_polygamma as polygamma,
    special_psi as psi,
    special_round as round,
    special_sinc as sinc,
    special_softmax as softmax,
    special_xlogy as xlogy,
)
from ..ops.elementwise.bessel import (
    special_airy_ai as airy_ai,
    special_bessel_j0 as bessel_j0,
    special_bessel_j1 as bessel_j1,
    special_bessel_y0 as bessel_y0,
    special_bessel_y1 as bessel_y1,
    special_i0e as i0e,
    special_i1 as i1,
    special_i1e as i1e,
    special_modified_bessel_i0 as modified_bessel_i0,
    special_modified_bessel_i1 as modified_bessel_i1,
    special_modified_bessel_k0 as modified_bessel_k0,
    special_modified_bessel_k1 as modified_bessel_k1,
    special_scaled_modified_bessel_k0 as scaled_modified_bessel_k0,
    special_scaled_modified_bessel_k1 as scaled_modified_bessel_k1,
    special_spherical_bessel_j0 as spherical_bessel_j0,
)
from ..ops.elementwise.exponents import special_entr as entr, special_xlog1py as xlog1py
from ..ops.elementwise.gaussian import (
    special_erfcx as erfcx,
    special_log_ndtr as log_ndtr,
    special_ndtr as ndtr,
    special_ndtri as ndtri,
    special_zeta as zeta,
)
from ..ops.elementwise.polynomials import (
    special_chebyshev_polynomial_t as chebyshev_polynomial_t,
    special_chebyshev_polynomial_u as chebyshev_polynomial_u,
    special_chebyshev_polynomial_v as chebyshev_polynomial_v,
    special_chebyshev_polynomial_w as chebyshev_polynomial_w,
    special_hermite_polynomial_h as hermite_polynomial_h,
    special_hermite_polynomial_he as hermite_polynomial_he,
    special_laguerre_polynomial_l as laguerre_polynomial_l,
    special_legendre_polynomial_p as legendre_polynomial_p,
    special_shifted_chebyshev_polynomial_t as shifted_chebyshev_polynomial_t,
    special_shifted_chebyshev_polynomial_u as shifted_chebyshev_polynomial_u,
    special_shifted_chebyshev_polynomial_v as shifted_chebyshev_polynomial_v,
    special_shifted_chebyshev_polynomial_w as shifted_chebyshev_polynomial_w,
)

_offer("torch.special", globals())
