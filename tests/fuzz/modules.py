"""Lines about modules that change: weights, attributes, buffers, children, and state that is saved and loaded."""

from .maker import Maker, blocks
from .tensors import of

ATTRIBUTES = [
    "<M>.train(r % 2 == 0)", "[setattr(x, 'p', 0.1 * (r % 4)) for x in <M>.modules() if isinstance(x, nn.Dropout)]",
    "[setattr(x, 'negative_slope', 0.1 * (r % 3)) for x in <M>.modules() if hasattr(x, 'negative_slope')]",
    "[setattr(x, 'eps', 1e-5 * 10 ** (r % 4)) for x in <M>.modules() if hasattr(x, 'eps')]",
    "[setattr(x, 'momentum', 0.1 * (1 + r % 3)) for x in <M>.modules() if isinstance(x, nn.BatchNorm1d)]",
    "[setattr(x, 'track_running_stats', r % 2 == 0) for x in <M>.modules() if isinstance(x, nn.BatchNorm1d)]",
    "[x.train(r % 2 == 0) for x in <M>.modules() if isinstance(x, (nn.BatchNorm1d, nn.Dropout))]",
    "[setattr(x, 'factor', <n>) for x in <M>.modules() if hasattr(x, 'factor')]",  # a number
    "[setattr(x, 'shift', <t>.mean().detach()) for x in <M>.modules() if hasattr(x, 'shift')]",  # a tensor that is not a buffer
    "[x.shift.add_(0.1) for x in <M>.modules() if isinstance(getattr(x, 'shift', None), torch.Tensor)]",
    "[setattr(x, 'shift', <n>) for x in <M>.modules() if hasattr(x, 'shift')]",
    "<M>.note = <n>; out(<M>.note)", "last(<M>).table = {'scale': <t>.mean()}; late(last(<M>).table['scale'])",
]  # fmt: skip

WEIGHTS = [
    "first(<M>).weight.requires_grad_(r % 2 == 0) if hasattr(first(<M>), 'weight') else None",
    "last(<M>).weight = nn.Parameter(last(<M>).weight.detach() * 0.5)", "last(<M>).weight.data = last(<M>).weight.data.clone()",
    "q = last(<M>); w = q.weight; del q.weight; q.weight = w",  # it now has another position among the parameters
    "[reorder(x) for x in <M>.modules() if isinstance(x, (nn.LayerNorm, nn.BatchNorm1d))]",
    "q = last(<M>); q.weight, q.bias = q.weight, nn.Parameter(q.bias.detach() + 0.1) if q.bias is not None else None",
    "[p.data.mul_(0.95) for p in <M>.parameters()]", "[p.data.add_(torch.randn(p.shape) * 0.01) for p in <M>.parameters()]",
    "torch.nn.init.normal_([*<M>.parameters()][0], 0, 0.3)", "<M>.zero_grad()", "[*<M>.parameters()][-1].data[..., 0] = <n>",
    "q = first(<M>); b = getattr(q, 'bias', None); q.bias = None if b is not None else nn.Parameter(torch.ones(q.weight.shape[0]))",
    "vec = nn.utils.parameters_to_vector(<M>.parameters()); nn.utils.vector_to_parameters(vec * 0.99, <M>.parameters())",
    "nn.utils.parametrizations.weight_norm(last(<M>)) if r == 2 else None", "<M>.double(); <M>.to(d0.dtype)",
    "nn.utils.prune.l1_unstructured(last(<M>), 'weight', 0.3) if r == 2 else None",
    "nn.utils.prune.remove(last(<M>), 'weight') if r == 5 else None",
]  # fmt: skip

# Weights that are results of another computation, with a history of their own: in this round, or in every other one.
FAST_WEIGHTS = blocks("""
    q = last(<M>); w = q.weight
    del q.weight
    q.weight = w.detach() * <n> + 0.1
    late(<M>(x0))
    del q.weight
    q.weight = w

    q = last(<M>); w = q.weight
    del q.weight
    q.weight = w * p0.mean()
    <M>(x0).sum().backward()
    out(p0.grad, w.grad)
    del q.weight
    q.weight = w

    q = last(<M>)
    w = q._parameters.get('weight')
    if w is not None:
        del q.weight
        q.weight = w.detach() * (0.5 + 0.1 * r)
    else:
        w = q.weight
        del q.weight
        q.weight = nn.Parameter(w)
    late(<M>(x0))
    out([n for n, p in <M>.named_parameters()])

    q = last(<M>); w = q.weight
    for k in range(3):
        del q.weight
        q.weight = w * (1 + k) if k % 2 else w
        late(<M>(x0[:3]))
    if 'weight' not in q._parameters:
        del q.weight
        q.weight = w

    q = last(<M>); w = q.weight
    g = torch.autograd.grad(<M>(x0).pow(2).sum(), w, create_graph=True)[0]
    del q.weight
    q.weight = w - 0.1 * g
    <M>(x0).pow(2).sum().backward()
    late(w.grad)
    del q.weight
    q.weight = w

    late(torch.func.functional_call(<M>, {k: v * p0.mean() for k, v in <M>.named_parameters()}, (x0,)))
""")

# Buffers that the round's own forward pass has just written.
BUFFERS = [
    "out(*<M>.buffers())", "late(*<M>.buffers())", "late(*[b + 1 for b in <M>.buffers()])",
    "[b.mul_(0.5) for b in <M>.buffers() if b.is_floating_point()]",
    "<M>(x0); out(*[x.num_batches_tracked * 2 + 1 for x in <M>.modules() if isinstance(x, nn.BatchNorm1d)])",
    "y = <M>(x0); late(*[x.running_mean * y.mean() for x in <M>.modules() if isinstance(x, nn.BatchNorm1d)])",
    "<M>(x0); <M>(x0 * 2); late(*[x.running_var.clone() for x in <M>.modules() if isinstance(x, nn.BatchNorm1d)])",
    "[x.reset_running_stats() for x in <M>.modules() if isinstance(x, nn.BatchNorm1d)]; <M>(x0); late(*<M>.buffers())",
    "k = sum(int(b) for b in <M>.buffers() if b.dim() == 0); t0 = d0 * (1 + k % 3)", "late(<M>(x0) * sum(b.sum() for b in <M>.buffers()))",
    "[setattr(x, 'running_mean', x.running_mean * 0.5) for x in <M>.modules() if isinstance(x, nn.BatchNorm1d)]",
    "first(<M>).register_buffer('extra', torch.ones(2) * r)",
]  # fmt: skip

STATES = [
    "sd = {k: v.clone() for k, v in <M>.state_dict().items()}", "<M>.load_state_dict(sd)", "sd = <M>.state_dict()", "<O>.state.clear()",
    "<O>.load_state_dict(<O>.state_dict())", "od = copy.deepcopy(<O>.state_dict())", "<O>.load_state_dict(od)",
    "ema = [p.detach().clone() for p in <M>.parameters()]; late(*ema)",
    "<M> = copy.deepcopy(<M>); <O> = torch.optim.SGD(<M>.parameters(), lr=0.05)", "twin = copy.deepcopy(<M>); late(twin(x0))",
    "<M>, <O> = copy.deepcopy((<M>, <O>))", "torch.save(<M>.state_dict(), path); <M>.load_state_dict(torch.load(path))",
    "buf = io.BytesIO(); torch.save((<M>, <O>.state_dict()), buf)",
    "[e.lerp_(p, 0.1) for e, p in zip(ema, <M>.parameters())] if r else None",
    "<M>.load_state_dict({k: v * 0.9 if v.is_floating_point() else v for k, v in <M>.state_dict().items()})",
    "<M>.load_state_dict(copy.deepcopy(<M>).state_dict(), assign=True); <O> = torch.optim.Adam(<M>.parameters(), lr=0.01)",
]  # fmt: skip

GROUPS = [
    "<O>.param_groups[0]['lr'] = 0.05 / (1 + r)", "<O>.param_groups[0]['lr'] = 0.01 * (r % 3)",
    "<O>.param_groups[0]['weight_decay'] = [0, 0.1, 0][r % 3]",
    "'momentum' in <O>.param_groups[0] and <O>.param_groups[0].__setitem__('momentum', [0.9, 0, 0.5][r % 3])",
    "<O>.add_param_group({'params': [nn.Parameter(torch.ones(2))]})", "<O>.add_param_group({'params': [p0], 'lr': 0.01})",
]  # fmt: skip

CHILDREN = [
    "isinstance(<M>, nn.Sequential) and <M>.append(nn.Tanh())",
    "isinstance(<M>, nn.Sequential) and r == 3 and <M>.insert(1, nn.Softplus())",
    "isinstance(<M>, nn.Sequential) and r == 5 and <M>.__delitem__(1)", "<M>.apply(lambda x: None)",
    "q = last(<M>); q.forward = (lambda f: lambda x: f(x) * 0.5)(type(q).forward.__get__(q))", "last(<M>).__dict__.pop('forward', None)",
    "isinstance(<M>, nn.Sequential) and <M>.__setitem__(1, [nn.ReLU(), nn.Tanh()][r % 2])",
]  # fmt: skip


def fast_weights(m: Maker) -> str:
    return m.pick(*FAST_WEIGHTS)


ITEMS = [
    *[of(ATTRIBUTES), of(WEIGHTS), fast_weights, of(BUFFERS), of(STATES)] * 2, of(GROUPS), of(CHILDREN),
]  # fmt: skip
