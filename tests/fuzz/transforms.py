"""Lines about functions that are transformed, exported and traced, with what no gradient flows through and with rules of their own."""

from .maker import Maker, blocks, indented
from .tensors import of

# Of `x`, a matrix or one row of it, and of `y`, which is computed before.
BODIES = [
    "x * x.detach()", "y * x.data", "y.sin() * x", "x.tanh() + y", "torch.where(x > 0, x, y)", "x * a4 + y", "y * <n>", "x + d0[0]",
    "x.softmax(-1) * y", "(y - y.mean(-1, keepdim=True)) * x", "x.clone().mul_(y)", "y.exp().clamp(max=3)", "x.round() - x.detach() + x",
    "Reversed.apply(y)", "Straight.apply(x) * y", "Cubed.apply(x)[0]", "Tangent.apply(y) + x", "Pair.apply(x, y)[0]", "Twice.apply(x)",
    "y * p0[0]", "x @ w4 + y", "x.flip(-1) * y", "y.cumsum(-1) / 3", "torch.sin(y) * x",
    "torch.cat([x[..., :2], y[..., 2:]], -1)", "x.view_as(y).abs().sqrt()", "y.sort(-1)[0] + x", "y ** 2 / (1 + x ** 2)",
]  # fmt: skip

# Between the lines that compute: regions of modes, and writes.
STATEMENTS = blocks("""
    with torch.no_grad():
        y = <b>

    with torch.no_grad():
        z = <b>
    y = y + z

    with torch.enable_grad():
        y = <b>

    with torch.set_grad_enabled(r % 2 == 0):
        z = <b>
    y = y * z

    y = y.clone()
    y[..., 0] = <n>

    y = y.clone()
    y[..., 1:] *= x[..., 1:]

    y = y.detach() * x

    z = y.clone()
    z.add_(x)
    y = z * y

    y = y.clone()
    y.view(-1)[0] = 0.25

    y = y.clone()
    y.masked_fill_(x > 0.5, <n>)

    y = <b>

    y = <b>

    y = <b>

    x.mul_(0.5)

    if r % 2: y = <b>
""")

USES = blocks("""
    late(torch.func.grad(lambda x: f(x).sum())(<s>))

    late(torch.func.vmap(f)(<s>))

    late(torch.func.vmap(f, in_dims=1, out_dims=1)(torch.eye(4)))

    late(*torch.func.jvp(f, (d0,), (d1 * 1,)))

    y, g = torch.func.vjp(f, <s>)
    late(y, *g(d1 * 1))

    late(torch.func.jacrev(f)(<s>[0]))

    late(torch.func.jacfwd(f)(<s>[0]))

    late(torch.func.hessian(lambda x: f(x).sum())(<s>[0]))

    late(torch.func.vmap(torch.func.grad(lambda x: f(x).sum()))(<s>))

    late(torch.func.grad(lambda x: torch.func.grad(lambda x: f(x).sum())(x).pow(2).sum())(<s>))

    late(torch.func.vmap(torch.func.jacrev(f))(<s>))

    y = torch.func.vmap(f)(p0)
    y.sum().backward()
    out(y, p0.grad)

    y = torch.func.vmap(f)(p1 * 2)
    y.pow(2).mean().backward()
    out(p1.grad, p0.grad)

    g = torch.func.grad(lambda x: (f(x) * p1).sum())(<s>)
    g.sum().backward()
    late(g, p1.grad, p0.grad)

    late(*torch.func.grad_and_value(lambda x: f(x).sum())(<s>))

    late(torch.func.grad(lambda x, y: (f(x) * y).sum(), argnums=(0, 1))(<s>, d1))

    late(torch.func.vmap(torch.func.vmap(lambda x, y: f(a4 * x) * y, (None, 0)), (0, None))(d0[:, 0], d1[0]))

    late(torch.func.vmap(lambda x: torch.func.jvp(f, (x,), (x * 2,))[1])(<s>))

    late(torch.autograd.functional.jacobian(f, d0[0]))

    late(*torch.autograd.functional.vjp(f, <s>, d1))

    y, g = torch.autograd.functional.jvp(f, p0, d1, create_graph=True)
    if g.requires_grad: g.sum().backward()
    late(y, p0.grad)

    late(*torch.autograd.functional.hvp(lambda x: f(x).sum(), d0, d1))

    y = f(p0 * 1)
    y.sum().backward()
    out(y, p0.grad)

    y = f(<s>)
    late(y, y.requires_grad)

    with torch.no_grad():
        late(torch.func.grad(lambda x: f(x).sum())(<s>))

    y = torch.func.vmap(f)(<s>)
    late(y.requires_grad, y)
""")

# A module around the function, which is then taken out.
EXPORTS = blocks("""
    q = torch.jit.trace(w, (<s>,))
    late(q(d0), q(d1))

    q = torch.export.export(w, (d1 * 1,)).module()
    late(q(d0), q(d1 * 2))

    q = torch.export.export(w, (d1 * 1,)).module()
    q(d0).sum().backward()
    late(*[x.grad for x in q.parameters()])

    q = torch.jit.trace(w, (d1 * 1,))
    q(d0).sum().backward()
    late([x.grad for x in w.parameters()])

    torch.export.export(w, (d1 * 1,))
    late(*w.buffers())
    out(torch.rand(1))
""")

MODELS = blocks("""
    q = torch.export.export(<M>.eval(), (x0,)).module()
    <M>.train()
    late(q(x0), <M>(x0))
    out(torch.rand(1))

    q = torch.export.export(<M>, (x0,))
    late(*<M>.buffers())
    out(torch.rand(1))

    q = torch.jit.trace(<M>.eval(), (x0,))
    <M>.train()
    late(q(x0 * 2))

    k, b = {k: v.detach() for k, v in <M>.named_parameters()}, {k: v.clone() for k, v in <M>.named_buffers()}
    w = lambda k, b: F.mse_loss(torch.func.functional_call(<M>, (k, b), (x0,)), y0)
    late(torch.func.grad(w)(k, b), b)

    w = torch.func.vmap(lambda x, k: F.linear(x, k.detach() * <n>) - k.sum(), (None, 0))
    late(w(x0, torch.stack([w4, w4 * r])))
""")

WINDOWS = blocks("""
    q = torch.zeros(6) + d0[0, 0]
    w = q.unfold(0, 3, 1)

    q = d0.clone().view(-1)
    w = q.unfold(0, 4, 2)

    q = (p0 * 1).view(-1)
    w = q.unfold(0, 4, 2)

    q = torch.arange(5.0)
    w = q.as_strided((3, 3), (1, 1))

    q = (p1 * 1).view(-1)
    w = q.as_strided((4, 3), (2, 1), 1)

    q = d1.clone()
    w = q.unfold(1, 2, 1)

    q = p0.clone()
    w = q.unfold(0, 2, 1)[:, r % 4]

    q = torch.zeros(8)
    w = q.as_strided((2, 4), (3, 1)).t()

    q = d0[:, :1].clone()
    w = q.expand(3, 4)
""")

WINDOW_WRITES = blocks("""
    w[0].fill_(<n>)

    w[r % 2].add_(<n>)

    w[0] = w[1]

    w[1] += w[0].clone()

    w[..., 0] = <n>

    w.select(0, 1).mul_(0.5)

    w[0].copy_(w[1])

    w[0, 1:] = 2

    w.mul_(0.5)

    w.fill_(<n>)

    w.add_(<n>)

    w.zero_()

    w[0:1].masked_fill_(w[0:1] > 0.1, <n>)

    w[-1].clamp_(-0.5, 0.5)

    q[1:4] = q[2:3]

    q.add_(1)

    w[0].sub_(w[1])

    w[1:].copy_(torch.ones_like(w[1:]))

    for j in range(len(w)): w[j] += 1

    q[:2] = w[0].flatten()[:2].flip(0)

    w.relu_()
""")

WINDOW_READS = blocks("""
    late(q, w)

    out(w.sum(), q)

    late(w * w)

    if q.requires_grad: (w * w).sum().backward(); out(p0.grad, p1.grad)

    if q.requires_grad: (q.sin() * 2).sum().backward(); late(p0.grad, p1.grad)

    if q.requires_grad: late(*torch.autograd.grad(w.pow(2).sum(), [p0, p1], allow_unused=True))
""")

# What a training is told to go on from: as saved, in part, in other types. State of other sizes has tests of its own: after a refusal
# PyTorch has changed a part of the parameters, and here none.
STATES = blocks("""
    <O>d = copy.deepcopy(<O>.state_dict())

    <O>.load_state_dict(copy.deepcopy(<O>d))

    <O>.load_state_dict(<O>d)

    <O>.load_state_dict(pickle.loads(pickle.dumps(<O>d)))

    torch.save(<O>.state_dict(), path)
    <O>.load_state_dict(torch.load(path))

    <O>d['state'] = {k: v for k, v in <O>d['state'].items() if k}
    <O>.load_state_dict(<O>d)

    <O>d = copy.deepcopy(<O>.state_dict())
    [v.update({n: e.double() for n, e in v.items() if n != 'step' and torch.is_tensor(e)}) for v in <O>d['state'].values()]
    <O>.load_state_dict(<O>d)

    <O>d = copy.deepcopy(<O>.state_dict())
    <O>d['param_groups'][0]['lr'] = 0.01 * (1 + r)
    <O>.load_state_dict(<O>d)

    <O>d = copy.deepcopy(<O>.state_dict())
    <O>d['param_groups'][0]['params'].pop()
    <O>.load_state_dict(<O>d)

    <O>d = copy.deepcopy(<O>.state_dict())
    <O>d['param_groups'].append(<O>d['param_groups'][0])
    <O>.load_state_dict(<O>d)

    <O>d = copy.deepcopy(<O>.state_dict())
    [v.update(step=float(v['step'])) for v in <O>d['state'].values() if 'step' in v]
    <O>.load_state_dict(<O>d)

    <O> = type(<O>)([{'params': [e]} for e in <M>.parameters()])
    late(len(<O>.param_groups))

    out([sorted(map(str, v)) for v in <O>.state_dict()['state'].values()])

    late([[v[n] for n in sorted(v) if torch.is_tensor(v[n])] for v in <O>.state.values()])

    late([e for e in <O>.state_dict()['param_groups'][0]['params']])

    <M>.load_state_dict({k: v * 0.5 for k, v in <M>.state_dict().items()})

    <M>.load_state_dict({k: v[:1] for k, v in <M>.state_dict().items() if v.dim()}, strict=False)

    sd = {k: v.double() for k, v in <M>.state_dict().items()}
    <M>.load_state_dict(sd)

    <M>.load_state_dict(copy.deepcopy(<M>.state_dict()), assign=True)
""")

STEPS = blocks("""
    <O>.zero_grad()
    loss = F.mse_loss(<M>(x0), y0)
    loss.backward()
    <O>.step()
    late(loss)

    loss = (<M>(x0) - y0).abs().mean()
    loss.backward()
    <O>.step()
    <O>.zero_grad()
    out(loss)
""")

TABLES = {
    "b": BODIES,
    "s": ["d0", "d1", "(d0 * 0.5)", "<t>.detach()", "d0.clone()", "torch.ones(3, 4)"],
    "u": STATEMENTS,
}


def function(m: Maker) -> str:
    lines = [
        "y = x * 1",
        "y = <b>",
        *m.rng.sample(STATEMENTS, m.pick(0, 1, 1, 2, 3)),
        "return y * x" if m.chance(0.2) else "return y",
    ]
    return indented("\n".join(lines), "def f(x):")


def transform(m: Maker) -> str:
    return function(m) + "\n" + "\n".join(m.rng.sample(USES, m.pick(1, 1, 2)))


def taken_out(m: Maker) -> str:
    """Of one round, as PyTorch takes a second for each. PyTorch's export cannot follow ``x.data``, and its trace
    no parameter from outside."""
    use = f"w = Wrapped(f)\n{m.pick(*EXPORTS)}"
    lines = (
        f"{m.fill(function(m)).replace('.data', '.detach()').replace('p0[0]', 'p0.detach()[0]')}\n{use}"
        if m.chance(0.7)
        else m.pick(*MODELS)
    )
    return indented(lines, f"if r == {m.pick(0, 1, 2)}:")


def windows(m: Maker) -> str:
    return "\n".join([m.pick(*WINDOWS), *m.rng.sample(WINDOW_WRITES, m.pick(1, 2)), m.pick(*WINDOW_READS)])


def states(m: Maker) -> str:
    return "\n".join([m.pick(*STEPS), m.pick(*STATES), m.pick(*STEPS, *STATES)])


ITEMS = [transform, transform, transform, windows, windows, states, states, taken_out, of(USES)]
