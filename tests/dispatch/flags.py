"""Calls with a flag, an int or a float of another type in one place: what the functions accept is recorded from PyTorch."""

import re
from types import ModuleType
from typing import Any

import numpy as np

# What stands in the place of ``?``, by what belongs there.
VALUES = {
    "flag": ("np.True_", "np.False_", "np.int64(1)", "1", "0", "1.0", "None"),
    "int": ("True", "np.True_", "np.int64(1)", "np.int32(1)", "1.0", "np.float32(1)"),
    "dtype": ("torch.uint16", "torch.uint32", "torch.uint64"),
    "": ("",),
    "float": ("True", "1", "np.float32(0.5)", "np.int64(1)", "'s'", "1j"),
}
CALLS = {
    "flag": """
        x.sum(0, keepdim=?); x.sum(keepdim=?); torch.sum(x, 0, ?); x.max(0, ?); torch.min(x, 0, ?); x.any(0, ?); x.argmax(0, ?)
        x.amax(0, ?); x.median(0, ?); x.logsumexp(0, ?); x.std(0, keepdim=?); x.quantile(0.5, keepdim=?); x.sort(descending=?)
        x.argsort(0, ?); x.topk(1, largest=?); x.unique_consecutive(return_counts=?); torch.isin(x, x, invert=?); torch.qr(x, ?)
        torch.svd(x, some=?); torch.cholesky(p, upper=?); torch.linalg.cholesky(p, upper=?)
        torch.linalg.svd(x, full_matrices=?); torch.linalg.matrix_rank(x, hermitian=?); torch.linalg.pinv(p, hermitian=?)
        torch.linalg.ldl_factor(p, hermitian=?); torch.linalg.norm(x, keepdim=?); torch.linalg.vector_norm(x, keepdim=?)
        torch.linalg.matrix_norm(x, keepdim=?); torch.zeros(2, requires_grad=?); torch.eye(2, requires_grad=?)
        torch.randn(2, requires_grad=?); torch.ones_like(x, requires_grad=?); x.new_zeros(2, requires_grad=?)
        torch.arange(3, requires_grad=?); torch.linspace(0, 1, 3, requires_grad=?); torch.combinations(x[0], with_replacement=?)
        x[0].multinomial(1, ?); torch.nonzero(x, as_tuple=?); torch.allclose(x, x, equal_nan=?)
        torch.bucketize(x, x[0], right=?); torch.searchsorted(x[0], x[0], out_int32=?); torch.histogram(x, 3, density=?)
        torch.vander(x[0], increasing=?); x.to(torch.float64, ?); x.to('cpu', torch.float64, ?, False)
        x.to(torch.float64, copy=?); F.dropout(x, 0.5, ?); F.dropout(x, training=?); F.alpha_dropout(x, training=?)
        F.rrelu(x, training=?); F.batch_norm(x, None, None, training=?); F.instance_norm(x[None], use_input_stats=?)
        F.embedding_bag(i, x, scale_grad_by_freq=?); F.embedding_bag(i, x, sparse=?)
        F.embedding_bag(i[0], x, i[0, :1], include_last_offset=?); F.grid_sample(v, g, align_corners=?)
        F.triplet_margin_loss(x, x, x, swap=?); F.kl_div(x, x, reduction='sum', log_target=?)
        F.poisson_nll_loss(x, x, log_input=?); F.poisson_nll_loss(x, x, full=?); F.mse_loss(x, x, reduce=?)
        F.mse_loss(x, x, size_average=?); F.scaled_dot_product_attention(v, v, v, is_causal=?)
        F.scaled_dot_product_attention(v, v, v, enable_gqa=?); F.pairwise_distance(x, x, keepdim=?)
        F.max_pool2d(v, 2, return_indices=?); F.avg_pool2d(v, 2, 2, 0, ?)
        F.interpolate(v, scale_factor=2, mode='bilinear', antialias=?); F.softmax(x, dim=0, dtype=torch.float32 if ? else None)
        torch.signal.windows.hann(4, sym=?); torch.signal.windows.exponential(4, sym=?); torch.masked.sum(x, 0, keepdim=?)
        torch.masked.mean(x, 0, keepdim=?); torch.masked.var(x, 0, keepdim=?); torch.masked.amax(x, 0, keepdim=?)
        torch.masked.prod(x, 0, keepdim=?); torch.masked.std(x, 0, ?); torch.set_grad_enabled(?); x.copy_(x, ?)
        x.requires_grad_(?)
    """,
    "int": """
        x.narrow(0, ?, 1); x.narrow(?, 0, 1); x.narrow(0, 0, ?); torch.narrow(x, 0, ?, 1); x.narrow_copy(?, 0, 1)
        x.select(?, 0); x.select(0, ?); torch.select(x, ?, 0); x.chunk(?); x.chunk(2, ?); x.unsafe_chunk(?); x.flatten(?)
        x.flatten(0, ?); torch.flatten(x, end_dim=?); x.unflatten(?, (2, 2)); x.diff(?); x.diff(1, ?); x.diag(?); x.diagflat(?)
        x.tril(?); x.triu(?); x.roll(?); x.cumsum(?); x.argmax(?); x.sort(?); x.topk(?); x.kthvalue(?); x.unsqueeze(?)
        x.squeeze(?); x.transpose(0, ?); x.unbind(?); x.size(?); x.index_select(?, i[0]); x.gather(?, i); x.scatter(?, i, 1.0)
        x.repeat_interleave(?); x.tensor_split(?); x.tensor_split(1, ?); x.hsplit(?); torch.tril_indices(?, 2)
        torch.triu_indices(2, 2, ?); torch.eye(?); torch.linspace(0, 1, ?); torch.cov(x, correction=?)
        torch.combinations(x[0], ?); i[0].bincount(minlength=?); x[0].multinomial(?); x.round(decimals=?); x.quantile(0.5, ?)
        x.logsumexp(?); F.one_hot(i, ?); F.group_norm(v, ?); F.ctc_loss(c, i, [2, 2], [1, 1], ?); x.var(0, correction=?)
        F.embedding_bag(i, x, padding_idx=?); x.softmax(?); x.renorm(2, ?, 1.0); x.stride(?); torch.linalg.matrix_power(p, ?)
        torch.linalg.vander(x[0], N=?); x.histogram(?); torch.broadcast_shapes((1,), ?); F.pixel_shuffle(v, ?); x.movedim(0, ?)
        torch.stack([x], ?); torch.cat([x], ?); torch.fft.fft(x, ?); torch.fft.fftshift(x, ?)
    """,
    "float": """
        F.layer_norm(x, (4,), eps=?); F.group_norm(v, 1, eps=?); F.instance_norm(v, eps=?); F.pairwise_distance(x, x, eps=?)
        F.hinge_embedding_loss(x, x, ?); F.margin_ranking_loss(x, x, x, ?); F.cosine_embedding_loss(x, x, x[:, 0], ?)
        F.dropout(x, p=float(np.real(?)) if ? != 's' else 's'); F.elu(x, ?); F.leaky_relu(x, ?); F.hardshrink(x, ?)
        F.threshold(x, ?, 1.0); x.addcmul(x, x, value=?); x.addmm(x, p4, alpha=?); x[:, 0].addmv(x, x[0], beta=?); x.logit(?)
        torch.pinverse(p, ?); F.poisson_nll_loss(x, x, eps=?); x.exponential_(?); x.normal_(0.0, ?)
    """,
    "dtype": """
        t(?) + t(?); t(?) + 1; 1 + t(?); t(?) - t(?); -t(?); t(?) // 2; 2 // t(?); t(?) % 2; t(?) ** 2; abs(t(?)); t(?) < 2; t(?) >= t(?)
        t(?) << 1; t(?) >> t(?); ~t(?); t(?).logical_not(); t(?).maximum(t(?)); t(?).fmin(t(?)); t(?).gcd(t(?)); t(?).sign(); t(?).max()
        t(?).min(0); t(?).amax(); t(?).argmin(); t(?).aminmax(); t(?).median(); t(?).mode(); t(?).topk(1); t(?).kthvalue(1); t(?).cummax(0)
        t(?).dot(t(?)); t(?)[None] @ t(?)[:, None]; t(?).inner(t(?)); t(?).clamp(1, 2); t(?).addcmul(t(?), t(?)); t(?).diff()
        t(?).index_select(0, i[0]); t(?).gather(0, i[0]); t(?).take(i); t(?).masked_fill(t(?) == 3, 0); t(?).masked_select(t(?) == 3)
        t(?).index_fill(0, i[0], 1); t(?).index_add(0, i[0], t(?)[:2]); t(?).scatter(0, i[0], t(?)); t(?).put(i[0], t(?)[:2])
        torch.isin(t(?), t(?)); t(?)[None].triu(); t(?).count_nonzero(); F.relu(t(?)); t(?).add_(1); t(?).mul_(2); t(?) * t(?); t(?) / 2
        t(?) & 1; t(?) | t(?); t(?) == t(?); t(?) != 3; t(?).sum(); t(?).prod(); t(?).cumsum(0); t(?).sort(); t(?).float(); t(?).sqrt()
        t(?)[1:]; t(?)[i]; t(?)[t(?) == 3]; t(?).fill_(3); t(?).tolist(); repr(t(?)); torch.cat([t(?), t(?)]); t(?).unique(); t(?).clone()
        torch.where(t(?) == 3, t(?), t(?)); t(?).equal(t(?)); t(?).any(); t(?).view(torch.int8); t(?) + t(?).float(); t(?).repeat(2)
        t(?).flip(0); t(?)[None].flip(0); t(?)[None].flip(1); t(?)[:, None].flip(0); t(?)[:1].flip(0); t(?)[None].fliplr()
        t(?).clone().roll(1)
        torch.arange(3, dtype=?); torch.arange(0, dtype=?); torch.arange(3, out=t(?)); torch.range(1, 3, dtype=?); torch.eye(2, dtype=?)
        torch.eye(0, dtype=?); torch.eye(2, out=t(?)); torch.linspace(0, 3, 4, dtype=?); torch.linspace(0, 3, 1, dtype=?)
        torch.linspace(0, 3, 0, dtype=?); torch.logspace(0, 3, 4, dtype=?); torch.logspace(0, 3, 1, dtype=?)
        torch.linspace(0, 3, 3, out=t(?))
        t(?).bincount(); t(?)[:0].bincount(); t(?).bincount(t(?).float()); t(?).long().bincount(t(?)); torch.searchsorted(t(?), t(?))
        torch.searchsorted(t(?), 2); torch.searchsorted(t(?), t(?)[:0]); torch.searchsorted(t(?), i); torch.searchsorted(i[0], t(?))
        torch.bucketize(t(?), t(?)); torch.bucketize(2, t(?)); t(?).nonzero(); torch.nonzero(t(?), as_tuple=True); torch.argwhere(t(?))
    """,
    "": """
        torch.linalg.norm(x, 'nuc', dim=()); torch.linalg.norm(x, 'fro', dim=1); torch.linalg.norm(x, 'bad'); torch.linalg.norm(x, ord=1j)
        torch.linalg.norm(x, 2, dim=0, dtype=torch.int32); torch.linalg.norm(x, 2, dtype=torch.complex64)
        torch.linalg.norm(x.cfloat(), 2, dtype=torch.float32); torch.linalg.matrix_norm(x, 'nuc', dtype=torch.int32)
        x.norm('nuc', dim=()); x.norm('nuc', dim=(0, 0)); x.norm('nuc', dim=(0, 1, 2)); x.long().norm('nuc')
        x.norm(2, dtype=torch.complex64)
        torch.iinfo(x); torch.finfo(x); torch.iinfo(torch.float32); torch.iinfo(torch.bool); torch.finfo(torch.int8); torch.iinfo()
        torch.iinfo(np.dtype('int32')); torch.iinfo('int8'); torch.finfo(None); assert torch.finfo(torch.float32) == torch.finfo()
        assert torch.iinfo(torch.int8) != torch.iinfo(torch.int16); assert torch.finfo(torch.float8_e4m3fn).resolution == 1
        torch.trapz(x > 3); torch.trapz(x > 3, x); torch.trapezoid(x, x > 3); torch.trapz(x, 2); torch.trapezoid(x, x, dx=1)
        torch.trapz(x, dx=np.True_); torch.trapz(x, dx='a'); torch.trapezoid(x, dx=True); torch.trapz(x[0, 0]); torch.trapz(x[0], x)
        torch.trapz(x, x[0, 0]); torch.trapz(x, x[:, :1]); torch.trapz(x, x[:2]); torch.trapz(x, x[:2], dim=0); torch.trapz(x, x[0, :3])
        torch.cumulative_trapezoid(x[0, 0]); torch.cumulative_trapezoid(x[0], x); torch.cumulative_trapezoid(x > 3)
        torch.normal(x, 1.0, out=x.long()); torch.normal(x, 1.0, out=torch.empty(2)); torch.normal(x, x, out=torch.empty(3, 4))
        torch.addr(p, x[0, :3], x[1, :3], beta=True); torch.addr(p, x[0, :3], x[1, :3], alpha=False)
        p.addr_(x[0, :3], x[1, :3], alpha=True)
        torch.addr(p.long(), i[0], i[0], beta=1.5); torch.addr(p > 0, x[0, :3] > 1, x[1, :3] > 1, beta=True, alpha=True)
        torch.addr(p.long(), x[0, :3].long(), x[1, :3].long(), alpha=1j); torch.addr(p, x[:, :3], x[1, :3], beta=True)
        torch.addr(p > 0, x[0, :3] > 1, x[1, :3].long(), beta=True); torch.addr(p.cfloat(), x[0, :3], x[1, :3], alpha=1j)
        torch.lerp(x, x, 1j); torch.lerp(x, x, 1 + 0j); torch.lerp(x.half(), x.half(), 1j); x.lerp_(x, 1j)
        torch.lerp(x.cfloat(), x.cfloat(), 1j)
        torch.lerp(x, x, torch.tensor(1j)); torch.lerp(x, x, torch.tensor(0.5).double()); torch.lerp(x, x, torch.tensor([0.5]).double())
        x.lerp_(x, torch.tensor(1j)); torch.lerp(x.long(), x.long(), torch.tensor(0.5)); torch.lerp(x.long(), x.long(), 0.5)
        torch.std(x, dim=True); torch.std(x, True); torch.std(x, True, True); torch.std(x, True, keepdim=True); torch.std(x, dim=(True,))
        torch.var(x, dim=False); x.var(dim=True); x.std(False); torch.std_mean(x, dim=True); torch.var_mean(x, dim=True); x.std(True, True)
        torch.std(x, unbiased=False); torch.std(x, unbiased=False, keepdim=True); torch.std(x, unbiased=False, correction=1)
        torch.std(x, 1, foo=1); torch.std(x, 1, True, True, True); torch.std(x, 1, dim=1); torch.std(x, correction='a')
        torch.std(x, correction=1j); torch.std(x, 1.5); torch.std(x, dim='a'); torch.std(x, 1, False, True)
        torch.std(x, axis=1, keepdims=True)
        torch.std(x, dim=None, unbiased=True); torch.std(x, torch.tensor(1)); torch.std(x, keepdim=True); torch.std(x, axis=True)
        torch.trapz(x, None); torch.trapezoid(x, x=None); torch.trapz(x, dx=None); torch.trapezoid(x, dx=None); torch.trapz(x, x, dx=2)
        torch.trapezoid(x, x=None, dx=2); torch.cumulative_trapezoid(x, None); torch.cumulative_trapezoid(x, dx=None); torch.trapz(x, x)
        torch.trapezoid(x, dx=1j); torch.trapezoid(x, dx=torch.tensor(2.0)); torch.trapezoid(x, x, dim=None)
        torch.max(x, True); torch.max(x, dim=True); x.max(True); x.min(dim=None); torch.min(x, 1.5); torch.max(x, 'a')
        torch.linalg.norm(x, dim=True); torch.linalg.norm(x, 2, 1.5); torch.norm(x, dim=True); x.norm(2, True); x.norm(dim=(True,))
        torch.ones(4, requires_grad=True)[:2].set_(torch.zeros(2)); x[:2].requires_grad_().set_(x)
        torch.ones(4, requires_grad=True).unbind()[0].set_(torch.zeros(())); torch.ones(4, requires_grad=True).detach()[:2].set_(x[0, :2])
        x.set_(3); x.set_([1.0]); torch.ones(4, requires_grad=True)[:2].set_(); x[:2].set_(x)
        torch.cat([x, x], out=torch.from_numpy(np.zeros((2, 4), np.float32)))
        torch.cat([x, x], out=torch.from_numpy(np.zeros(0, np.float32)))
        torch.stack([x, x], out=torch.from_numpy(np.zeros((2, 4), np.float32)))
        torch.add(x, x, out=torch.from_numpy(np.zeros(0, np.float32)))
        torch.vstack([x, x], out=torch.from_numpy(np.zeros((9, 9), np.float32))); torch.from_numpy(np.zeros(2)).resize_(3)
        torch.from_numpy(np.zeros(2)).resize_(1); torch.from_numpy(np.zeros((3, 4)))[1:].resize_(2, 5)
        torch.from_numpy(np.zeros((3, 4)))[1:].resize_(2, 3); torch.sum(x, 0, out=torch.from_numpy(np.zeros((3, 4), np.float32)))
        F.max_unpool1d(x, (x - x).long(), 2.0)
        F.max_unpool1d(x, (x - x).long(), True); F.max_unpool1d(x, (x - x).long(), 2, 2.0)
        F.max_unpool1d(x, (x - x).long(), 2, output_size=7)
        F.max_unpool1d(x, (x - x).long(), 2, output_size=[8.0]); F.max_unpool1d(x, (x - x).long(), 0); F.max_unpool1d(x, (x - x).long(), -1)
        F.max_unpool1d(x, (x - x).long(), 2, -1); F.max_unpool1d(x, (x - x).long(), 2, 2, 5); F.max_unpool1d(x, (x - x).long(), (2, 2))
        F.max_unpool1d(x, (x - x).long(), 2, (2, 2)); F.max_unpool1d(x, (x - x).long(), ()); F.max_unpool1d(x[:0], (x[:0]).long(), 2)
        F.max_unpool1d(x[:, :0], x[:, :0].long(), 2); F.max_unpool1d(x, (x - x).long() + 99, 0); F.max_unpool1d(x, (x - x).long(), 2, [])
        F.max_unpool2d(v, (v - v).long(), (2,)); F.max_unpool2d(v, (v - v).long(), None); F.max_unpool2d(v, (v - v).long(), 2, 2, 3)
        F.max_unpool2d(v, (v - v).long(), '2'); F.max_unpool2d(v, (v - v).long(), 2, output_size=(3, 5))
        F.max_unpool2d(v, (v - v).long(), -2)
        F.max_unpool3d(v, (v - v).long(), True); F.max_unpool3d(v, (v - v).long(), 2, 0); F.max_unpool3d(v, (v - v).long(), 2, 2, True)
        F.max_unpool3d(v, (v - v).long(), (2, 2)); F.max_unpool3d(v, (v - v).long(), 2, output_size=(2.0, 4, 4))
        F.max_unpool3d(v, (v - v).long(), 2)
        F.linear_cross_entropy(x, p4, i[0, :1].expand(3), ignore_index=True); F.cross_entropy(x, i[0, :1].expand(3), ignore_index=1.0)
        F.nll_loss(x, i[0, :1].expand(3), ignore_index=True); F.cross_entropy(x, i[0, :1].expand(3), label_smoothing='a')
        F.linear_cross_entropy(x, p4, i[0, :1].expand(3), ignore_index=np.int64(1))
        torch.trapz(torch.ones(2, 3, 4), x); torch.trapz(torch.ones(2, 3, 4), x, dim=0); torch.trapz(x[:0], x[:0])
    """,
}  # fmt: skip


def rows() -> list[str]:
    """Returns all calls, with each of the values in turn in place of the mark."""
    return [
        call.strip().replace("?", value)
        for kind, calls in CALLS.items()
        for call in re.split(r"[;\n]", calls)
        for value in VALUES[kind]
        if call.strip()
    ]


def _ordered(line: str) -> str:
    """The message with keyword arguments in the order of their names: PyTorch lists them in the order of a hash table."""

    def sort(found: re.Match[str]) -> str:
        parts = [part.strip() for part in found[1].split(",") if part.strip()]
        return f"got ({', '.join(sorted(parts, key=lambda part: (('=' in part), part if '=' in part else '')))})"

    return re.sub(r"got \((.*)\)(?=, but expected)", sort, line)


def outcome(torch: ModuleType, line: str) -> list[str]:
    """Returns "accepted", or the exception's class and the first line of its message."""
    torch.manual_seed(0)
    with torch.random.fork_rng():
        grids: Any = torch.zeros(1, 2, 2, 2)
        world = {
            "torch": torch, "F": torch.nn.functional, "np": np, "x": torch.arange(1.0, 13).view(3, 4), "p": torch.eye(3),
            "p4": torch.eye(4), "i": torch.tensor([[0, 1], [1, 0]]), "v": torch.ones(1, 4, 2, 2), "g": grids,
            "c": torch.zeros(2, 2, 3), "t": lambda dtype: torch.tensor([3, 7, 1], dtype=dtype),
        }  # fmt: skip
        before = torch.is_grad_enabled()
        try:
            exec(line, world)
        except Exception as error:
            return [type(error).__name__, _ordered(str(error).strip().split("\n")[0])]
        finally:
            torch.set_grad_enabled(before)
        return ["accepted"]
