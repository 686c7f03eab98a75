"""Functions that torch.special has under another name, or under its own beside the top level's."""

from ...dispatch.register import alias
from ..elementwise import bessel, elementary, exponents, gamma, pointwise
from ..nn.norm import log_softmax, softmax
from ..reduction.reduce import logsumexp

special_digamma = alias("special_digamma", gamma.digamma)
special_psi = alias("special_psi", gamma.digamma)
special_gammaln = alias("special_gammaln", gamma.lgamma)
special_gammainc = alias("special_gammainc", gamma.igamma)
special_gammaincc = alias("special_gammaincc", gamma.igammac)
special_polygamma = alias("special_polygamma", gamma.polygamma)
special_multigammaln = alias("special_multigammaln", gamma.mvlgamma)
special_i0 = alias("special_i0", bessel.i0)
special_xlogy = alias("special_xlogy", exponents.xlogy)
special_erf = alias("special_erf", elementary.erf)
special_erfc = alias("special_erfc", elementary.erfc)
special_erfinv = alias("special_erfinv", elementary.erfinv)
special_exp2 = alias("special_exp2", elementary.exp2)
special_expm1 = alias("special_expm1", elementary.expm1)
special_expit = alias("special_expit", elementary.sigmoid)
special_log1p = alias("special_log1p", elementary.log1p)
special_logit = alias("special_logit", elementary.logit)
special_sinc = alias("special_sinc", elementary.sinc)
special_round = alias("special_round", pointwise.round)
special_logsumexp = alias("special_logsumexp", logsumexp)
special_softmax = alias("special_softmax", softmax)
special_log_softmax = alias("special_log_softmax", log_softmax)
