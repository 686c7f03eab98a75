"""Calls of functions that PyTorch makes of several operators: each way to write their arguments, which a mode must not change."""

from typing import Any

CALLS = """
F.mse_loss(x, y) | F.mse_loss(x, y, reduction="sum") | F.mse_loss(x, y, size_average=False) | F.mse_loss(x, y, reduce=False)
F.mse_loss(x, y, False) | F.mse_loss(x, y, weight=y) | F.mse_loss(x, y[:1])
F.l1_loss(x, y) | F.l1_loss(x, y, reduction="none") | F.l1_loss(x, y, None, False) | F.l1_loss(x, y, weight=y)
F.smooth_l1_loss(x, y) | F.smooth_l1_loss(x, y, None, None, "sum", 0.3) | F.smooth_l1_loss(x, y, beta=0.3)
F.smooth_l1_loss(x, y, size_average=False)
F.huber_loss(x, y, delta=0.3) | F.huber_loss(x, y, "sum", 0.3) | F.huber_loss(x, y, weight=y) | F.huber_loss(x, y, "sum", 1.0, y)
F.kl_div(x, y, size_average=False) | F.kl_div(x, y, reduction="batchmean") | F.kl_div(x, y, log_target=True)
F.binary_cross_entropy(y, y, weight=w) | F.binary_cross_entropy(y, y, size_average=False)
F.binary_cross_entropy_with_logits(x, y, pos_weight=w, reduction="sum") | F.binary_cross_entropy_with_logits(x, y, reduce=False)
F.nll_loss(x, t, weight=w, ignore_index=2) | F.nll_loss(x, t, size_average=False) | F.nll_loss(x, t, reduce=False)
F.cross_entropy(x, t, weight=w, label_smoothing=0.1) | F.cross_entropy(x, t, size_average=False) | F.cross_entropy(x, y)
F.cross_entropy(x, t, ignore_index=1, reduction="sum")
F.hardtanh(x, max_val=0.5, min_val=-0.2) | F.hardtanh(x, -0.2, 0.5) | F.hardtanh(x, -0.2, 0.5, False) | F.leaky_relu(x, 0.3, False)
F.leaky_relu(x, negative_slope=0.3) | F.elu(x, alpha=0.4) | F.celu(x, 0.4) | F.relu(x, inplace=False) | F.relu(x.clone(), inplace=True)
F.elu(x * 1, 0.4, True) | F.leaky_relu(x * 1, -0.3, inplace=True) | F.hardtanh(x * 1, -0.2, 0.5, inplace=True)
F.celu(x * 1, inplace=True)
F.hardsigmoid(x * 2, inplace=True) | F.hardswish(x * 2, inplace=True) | F.mish(x * 1, inplace=True) | F.silu(x * 1, inplace=True)
F.selu(x * 1, inplace=True) | F.relu6(x * 4, inplace=True) | F.threshold(x * 1, 0.1, 0.2, inplace=True) | F.rrelu(x * 1, inplace=True)
(x * 1).sigmoid_() | (x * 1).tanh_() | (x * 1).exp_() | (x * 1).sin_() | (x * 1).clamp_(-0.2, 0.5) | (x * 1).abs_() | (y * 1).sqrt_()
(y * 1).log_() | (x * 1).pow_(3) | (x * 1).mul_(y) | (x * 1).div_(y)
(x * 1).erf_() | (x * 1).square_() | (x * 1).tril_() | (y * 1).rsqrt_()
(x * 1).atan_() | (x * 1).cumsum_(1) | (x * 1).masked_fill_(x > 0, 2.0)
(x * 1).addmm_(x, w.diag()) | (x * 1).sub_(y, alpha=2) | (x * 1).neg_()
F.dropout(x, 0.3) | F.dropout(x * 1, 0.3, inplace=True) | F.alpha_dropout(x, 0.3, True) | F.dropout2d(im, 0.3) | F.rrelu(x, training=True)
F.scaled_dot_product_attention(q, q, q, dropout_p=0.3) | torch.bernoulli(y) | torch.native_dropout(x, 0.3, True)
(F.dropout(x, 0.3), torch.rand(2)) | (torch.bernoulli(y, generator=g), torch.rand(2, generator=g)) | (F.relu(x), torch.rand(2))
F.selu(x) | F.mish(x) | F.silu(x) | F.relu6(x) | F.hardswish(x) | F.hardsigmoid(x)
F.softmax(x, -1, 3, torch.float64) | F.softmax(x, dim=0, dtype=torch.float64) | torch.softmax(x, 1, torch.float64)
torch.softmax(x, dim=1, dtype=torch.float64) | F.log_softmax(x, dim=1, _stacklevel=5) | torch.softmax(x, axis=1)
F.dropout(x, 0.5, False) | torch.dropout(x, 0.5, False) | torch.dropout(x, p=0.5, train=False) | F.dropout(x, training=False)
F.embedding(t, x.T) | F.embedding(t, x.T, 2) | F.embedding(t, x.T, padding_idx=-1) | F.embedding(t, x.T, scale_grad_by_freq=True)
F.embedding(t, x.T.clone(), max_norm=1.0)
F.layer_norm(x, (6,), w, w, 0.1) | torch.layer_norm(x, [6], weight=w, eps=0.2) | torch.layer_norm(x, [6], cudnn_enable=False)
F.group_norm(im, 3, eps=0.3) | F.batch_norm(im, torch.zeros(3), torch.ones(3), eps=0.2) | F.batch_norm(im, None, None, training=True)
F.max_pool2d(im, 3, padding=1) | F.max_pool2d(im, 3, stride=2, dilation=2) | F.max_pool2d(im, 2, return_indices=True)
F.max_pool2d(im, 3, 2, ceil_mode=True) | torch.max_pool2d(im, 3, ceil_mode=True)
F.avg_pool2d(im, 3, padding=1, count_include_pad=False) | F.avg_pool2d(im, 2, divisor_override=3) | F.avg_pool2d(im, 3, 2, 0, True)
F.adaptive_avg_pool2d(im, 1) | F.adaptive_avg_pool2d(im, (2, None)) | F.pad(im, (1, 1)) | F.pad(im, (1, 1), value=3)
F.pad(im, (1, 1, 1, 1), mode="reflect")
F.interpolate(im, scale_factor=2) | F.interpolate(im, (4, 5), mode="bilinear", align_corners=True)
F.interpolate(im, scale_factor=1.5, recompute_scale_factor=True, mode="bilinear")
F.interpolate(im, size=4, mode="bilinear", antialias=True)
torch.std(x) | torch.std(x, False)
torch.std(x, 1, False) | torch.std(x, 1, True, True) | torch.std(x, dim=1, correction=2, keepdim=True)
torch.var(x, unbiased=False) | torch.var(x, dim=0, unbiased=False) | torch.var(x, correction=0) | torch.std_mean(x, 1) | x.var(axis=1)
torch.norm(x, 1) | torch.norm(x, 2, 1) | torch.norm(x, p="nuc") | torch.norm(x, "fro", (0, 1)) | x.norm(dtype=torch.float64)
torch.norm(x, dim=1, keepdim=True)
torch.max(x) | torch.max(x, 1) | torch.min(x, dim=1, keepdim=True)
torch.max(x, y) | torch.min(x, other=y) | x.max(1, True) | x.min(dim=0)
torch.where(x > 0, x, y) | torch.where(x > 0) | torch.where(x > 0, 1.0, y) | torch.where(x > 0, input=x, other=y) | x.where(x > 0, y)
torch.split(x, 2, 1) | torch.split(x, [1, 3])
x.split(2, dim=1) | x.split(split_size=2) | torch.split(x, split_size_or_sections=2, dim=1)
torch.chunk(x, 2, 1) | torch.chunk(x, chunks=2, dim=1) | x.chunk(2, -1)
torch.flatten(im, 1) | torch.flatten(im, start_dim=1, end_dim=2)
x.unflatten(1, (2, 3)) | torch.unflatten(x, 1, (2, -1)) | x.reshape(3, 8)
torch.reshape(x, (3, -1)) | x.reshape(shape=(3, 8)) | torch.movedim(im, 0, -1) | torch.movedim(im, source=(0, 1), destination=(1, 0))
torch.moveaxis(im, 1, 2) | torch.swapaxes(x, 0, 1) | torch.swapaxes(x, axis0=0, axis1=1) | x.swapdims(dim0=0, dim1=1)
x.narrow(1, 2, 3) | torch.narrow(x, 1, start=-3, length=2) | x.roll(2, 1) | x.flip(0, 1) | x.permute(1, 0) | x.tile(2, 1)
torch.matmul(x, y.T) | torch.matmul(x, other=w) | torch.outer(w, w) | torch.ger(w, vec2=w) | F.linear(x, y)
F.linear(x, weight=y, bias=torch.ones(4)) | torch.einsum("ij,kj->ik", x, y) | torch.einsum("ij,kj->ik", [x, y])
F.conv2d(im, k, padding="same") | F.conv2d(im, k[:3, :1], groups=3, stride=2) | F.conv2d(im[0], k, None, 1, 1, 2)
F.conv_transpose2d(im, k[:3, :2], stride=2, output_padding=1) | F.conv_transpose2d(im, k[:3, :2], None, 1, 0, 0, 1, 2)
torch.square(x) | x.type_as(x.double()) | x.to(torch.float64) | x.to(dtype=torch.float64, copy=True) | x.to(torch.float64, False, True)
im.to(memory_format=torch.channels_last) | im.contiguous(memory_format=torch.channels_last) | x.float() | x.contiguous()
x.double(memory_format=torch.preserve_format)
x.expand_as(x) | torch.broadcast_to(w, (4, 6)) | torch.broadcast_to(w, size=(4, 6)) | x.reshape_as(x) | x.view_as(other=x) | x.ravel()
torch.bitwise_not(t) | ~t
F.scaled_dot_product_attention(q, q, q) | F.scaled_dot_product_attention(q, q, q, is_causal=True)
F.scaled_dot_product_attention(q, q, q, attn_mask=torch.ones(5, 5).tril() > 0, scale=0.3)
F.scaled_dot_product_attention(q, q[:, :1], q[:, :1], enable_gqa=True)
torch.matmul(x, y.T, out=o) | torch.std(x, 1, out=o) | torch.norm(x, dim=1, out=o) | torch.max(x, y, out=o) | torch.outer(w, w, out=o)
torch.square(x, out=o) | torch.softmax(x, 1, out=o) | torch.where(x > 0, x, y, out=o) | torch.bitwise_not(t, out=o.long())
torch.max(x, 1, keepdim=True, out=(o, o.long()))
"""


def calls() -> list[str]:
    return [call.strip() for line in CALLS.strip().splitlines() for call in line.split(" | ")]


def names_of(torch: Any) -> dict[str, Any]:
    torch.manual_seed(0)
    return {
        "torch": torch, "F": torch.nn.functional, "x": torch.randn(4, 6), "y": torch.rand(4, 6), "t": torch.randint(0, 6, (4,)),
        "w": torch.rand(6), "im": torch.randn(2, 3, 8, 8), "k": torch.rand(4, 3, 3, 3), "q": torch.randn(2, 2, 5, 4), "o": torch.empty(0),
        "g": torch.Generator().manual_seed(3),
    }  # fmt: skip


def outcome(torch: Any, call: str, mode: Any) -> list[Any]:
    """The tensors of a call's result, what was written to ``out``, and the gradients of x and y, which have none with ``out``."""
    names = names_of(torch)
    leaves = [] if "out=" in call else [names["x"].requires_grad_(), names["y"].requires_grad_()]
    with mode:
        result = eval(call, names)
        results = [
            t for t in (result if isinstance(result, (tuple, list)) else (result,)) if isinstance(t, torch.Tensor)
        ]
        for value in results:
            if value.grad_fn is not None:
                (value * value.detach()).sum().backward(retain_graph=True)
    return [*results, names["o"], *[leaf.grad for leaf in leaves]]
