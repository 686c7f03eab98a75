"""Lines about gradients: backward passes, hooks, derivatives of derivatives, function transforms."""

from .maker import Maker, indented
from .tensors import of

BACKWARD = [
    "loss.backward()", "loss.backward()", "loss.backward()", "loss.backward(retain_graph=True)", "(loss * 2).backward()",
    "loss.backward(retain_graph=True); loss.backward()", "loss.backward(inputs=[p0])", "loss.backward(torch.tensor(<n> + 0.5))",
]  # fmt: skip
AFTER = [
    "out(loss, p0.grad)",
    "late(loss)",
    "kept.append(loss)",
    "out(p1.grad)",
    "pass",
    "p0.grad = p1.grad = None",
    "out(loss); p0.grad = None",
]

TWICE = [
    "s = sum((x ** 2).sum() for x in g); s.backward(); out(s, p0.grad)", "late(*g)", "kept.append(g[0].detach())",
    "h = torch.autograd.grad(g[0].sum(), p0, allow_unused=True); out(h[0])", "(g[0] * d0).sum().backward(); late(p1.grad)",
    "out(torch.autograd.grad(g[0][0].sum() * p1.sum(), p0)[0])",
]  # fmt: skip

STEPS = [
    "<P> -= 0.1 * <P>.grad", "<P>.sub_(<P>.grad, alpha=0.05)", "<P>.mul_(0.9)", "<P>[0] = 0.5", "<P>.copy_(<t>)", "<P>.clamp_(-1, 1)",
    "<P>.grad.mul_(0.5)", "<P>.add_(<n>).tanh_()", "<P>[1:].mul_(<n>)",
]  # fmt: skip

GRADS = [
    "<p>.grad = None", "<p>.grad.zero_()", "<p>.grad = d0.clone()", "kept.append(<p>.grad)", "out(<p>.grad)", "late(<p>.grad)",
    "<P>.requires_grad_(not <P>.requires_grad)", "<P>.grad = <P>.grad.detach() * 2", "torch.nn.utils.clip_grad_norm_([p0, p1], 0.5)",
    "if p0.grad is not None: torch.nn.utils.clip_grad_value_([p0, p1], 0.05 * (r + 1))", "p0.grad = p1.grad = None",
    "p0 = p0.detach().clone().requires_grad_()",
]  # fmt: skip

TENSOR_HOOKS = [
    "<T>.register_hook(lambda g: g * 2)", "<T>.retain_grad(); kept.append(<T>)", "<T>.register_hook(lambda g: out(g))",
    "<T>.grad_fn.register_hook(lambda i, o: None)", "out(<T>.grad_fn.next_functions[0][0] is None)",
]  # fmt: skip

HOOKS = [  # each is removed again some rounds later
    "p0.register_hook(lambda g: g * <n>)", "p0.register_hook(lambda g: out(g.sum()))", "m0.register_forward_hook(lambda m, i, o: o * 2)",
    "p1.register_post_accumulate_grad_hook(lambda p: out(p.grad.sum()))", "m0.register_forward_pre_hook(lambda m, i: (i[0] + 1,))",
    "m0.register_full_backward_hook(lambda m, gi, go: out(go[0].sum()))", "first(m0).register_forward_hook(lambda m, i, o: out(o.sum()))",
    "[*m0.parameters()][0].register_hook(lambda g: g * 0.5)", "last(m0).register_forward_hook(lambda m, i, o: o + r)",
    "[*m0.modules()][-1].register_full_backward_hook(lambda m, gi, go: (gi[0] * 0.5,) if gi[0] is not None else None)",
    "o0.register_step_post_hook(lambda o, a, k: out(o.param_groups[0]['lr']))", "last(m0).register_forward_hook(lambda m, i, o: o * a0)",
    "[*m0.parameters()][-1].register_post_accumulate_grad_hook(lambda p: (p.grad.mul_(0.5), None)[1])",
    "p0.register_hook(lambda g: (_ for _ in ()).throw(KeyError('hook')) if r == 3 else None)",
]  # fmt: skip

FUNCTIONAL = [
    "late(torch.func.grad(lambda x: (x * x).sum() * <n>)(<t>.detach()))", "out(torch.func.jvp(lambda x: x.sin() * <n>, (d0,), (d1,))[1])",
    "late(torch.func.vmap(lambda x: x * <n> + x.sum())(<t>.detach()))",
    "late(torch.autograd.functional.hvp(lambda x: (x ** 3).sum(), d0, d1)[1])",
    "late(torch.autograd.functional.jacobian(lambda x: (x ** 2).sum(1), d0))",
]  # fmt: skip


def backward(m: Maker) -> str:
    more = m.pick("", " + (p0 * p1).mean()", " + (p0 * p1).mean()")
    return (
        f"loss = ((<e>) * <a>).{m.pick('sum()', 'mean()', 'pow(2).sum()')}{more}\n{m.pick(*BACKWARD)}\n{m.pick(*AFTER)}"
    )


def twice(m: Maker) -> str:
    of_what = m.pick("[p0, p1]", "[p0]")
    return (
        "loss = ((<e>) * <a>).pow(2).sum() + (p0 ** 3 * p1).sum()\n"
        f"g = torch.autograd.grad(loss, {of_what}, create_graph=True)\n{m.pick(*TWICE)}"
    )


def leaf_step(m: Maker) -> str:
    return indented(m.pick(*STEPS), "with torch.no_grad():")


def hook(m: Maker) -> str:
    m.hooks += 1
    name = f"h{m.hooks}"
    m.setup.append(f"{name} = None")
    return f"if r == {m.pick(1, 2, 3)}:\n    {name} = {m.pick(*HOOKS)}\nif r == {m.pick(4, 5, 6)}:\n    {name}.remove()"


def tensor_hook(m: Maker) -> str:
    return indented(m.pick(*TENSOR_HOOKS), "if <T>.requires_grad:")


ITEMS = [backward, backward, twice, leaf_step, of(GRADS), hook, tensor_hook, of(FUNCTIONAL)]
