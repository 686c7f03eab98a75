"""Lines about tensors: expressions, views, writes in place, memory shared with NumPy."""

from .maker import DATA, LEAVES, NUMBERS, TENSORS, VIEWS, Maker, indented

EXPRESSIONS = [  # of shape (3, 4)
    "<a> + <a>", "<a> * <a>", "<a> - <n>", "<a> * <n>", "torch.tanh(<a>)", "<A> @ <a>.t() @ <A> / 4", "<a>.softmax(-1)",
    "torch.where(<A> > <n>, <A>, <a>)", "(<a> * <n> + <a>).sigmoid()", "<a>.cumsum(0) / 3", "<a>.clamp(<n>, 3)",
    "torch.cat([<a>[:1], <a>[1:]])", "torch.stack([<a>, <a>]).mean(0)", "<a>.flip(0)", "<a>.roll(r, 1)", "<a>.sort(-1)[0]",
    "<a>[torch.tensor([2, 0, 1])]", "<a>[:, [3, 2, 1, 0]]", "<a>.exp().clamp(max=3)", "<a>.abs().sqrt()", "<a> / (1 + <a>.abs())",
    "<a>.t().reshape(3, 4)", "<a>.view(-1).view(3, 4)", "F.layer_norm(<a>, (4,))", "<a> ** 2 / (1 + <a> ** 2)",
    "torch.lerp(<a>, <a>, <n>)", "<a>.gather(1, i0)", "<a>.index_select(0, i1)", "<a>.masked_fill(<a> > 0, <n>)", "<a>.detach()",
    "<a>.clone()", "<a>.data", "<a>.detach().clone()", "<a>.contiguous()", "<a>[r % 3] + <a>", "<a>.narrow(0, r % 2, 1) * <a>",
    "F.dropout(<a>, 0.5, True)", "<a> + torch.rand(3, 4)", "<a>.mean(1, keepdim=True) * <a>", "<a>.max(1, keepdim=True)[0] - <a>",
    "<a>.roll(1, 0).triu()", "torch.atan2(<a>, <a> + 3)", "F.pad(<a>, (1, 0), value=<n>)[:, :4]", "<a>.double().to(d0.dtype)",
    "<a>.var(1, keepdim=True) + <a>", "<a>.logsumexp(1, keepdim=True) + <a>", "<a>.round() * <a>", "<a>.sin()", "Twice.apply(<a>)",
    "ck.checkpoint(lambda x: torch.tanh(x * <n>) * x, <a>, use_reentrant=False)", "torch.einsum('ij,kj,kl->il', <a>, <a>, <a>) / 4",
    "torch.addcmul(<a>, <a>, <a>, value=0.5)", "F.gelu(<a>)", "<a>.unfold(0, 2, 1).sum(-1).repeat(2, 1)[:3]",
]  # fmt: skip

FRESH = [
    "d0 * 1",
    "d1.clone()",
    "torch.randn(3, 4)",
    "p0 * 1",
    "p1 + d0",
    "d0[:] + 0",
    "torch.zeros(3, 4)",
    "d1 * n0[0]",
    "d0[:]",
]

SEEN_AS = [
    "[1:]", "[:, ::2]", ".t()", ".view(-1)", ".view(-1)[2:7]", "[r % 3]", "[:, r % 4]", ".unsqueeze(0)", ".diagonal()", "[-1]",
    ".narrow(0, 1, 2)", ".reshape(2, 6)", ".chunk(2, 1)[1]", ".unbind(0)[r % 3]", "[1:, 1:][:, 1:]", ".expand_as(d0)", ".view(4, 3)",
    ".transpose(0, 1)[1]", ".split(2, 1)[0]", ".permute(1, 0)", "[..., 1]", ".detach()[1:]", ".data[0]", ".unfold(0, 2, 1)",
    ".squeeze()", "[r % 2: 2 + r % 2]",
]  # fmt: skip

WRITES = [
    "<X>.add_(<n>)", "<X>.mul_(<n>)", "<X>.mul_(<X>)", "<X>.mul_(<a>)", "<X>[0] = <n>", "<X>[1:] *= <n>", "<X>.zero_()", "<X>.copy_(<a>)",
    "<X>.add_(<e>, alpha=0.5)", "<X>[<X> > <n>] = 0.25", "<X>.clamp_(-1, 1)", "<X>.fill_(<n>)", "<X>[r % 2] = <a>[0]",
    "<X>.sub_(<a>).tanh_()", "<X> += <a>", "<X>[..., 1] += <n>", "<X>.masked_fill_(<X> < 0, <n>)", "<X>.t_()", "<X>.relu_()",
    "<X>.index_add_(0, torch.tensor([0, 1]), <a>[:2])", "<X>.exp_().clamp_(max=2)", "<X>.view(-1)[r % 5] = <n>", "<X>.normal_()",
    "<X>[0], <X>[1] = <X>[1].clone(), <X>[0].clone()", "<X>.uniform_(-1, 1)", "<X>.index_fill_(0, i1[:1], <n>)", "<X>.bernoulli_(0.5)",
    "<X>.scatter_(1, i0, <n>)", "<X>.unsqueeze_(0); <X>.squeeze_(0)", "<X>.data.mul_(<n>)", "<X>.data[0] = <n>",
    "<X>.requires_grad_()",
    "<X>.addcmul_(<A>, <A>, value=0.1)", "torch.add(<a>, 1, out=<X>)", "if not <X>._is_view(): <X>.detach_()", "<X>.copy_(<e>)",
    "<X>[1:].t()[0] = <n>", "<X>[:, 1:].mul_(<n>).add_(1)", "<X>.view(-1)[::2].sub_(<n>)",
]  # fmt: skip

MEMORY = [
    "<T> = <T>.detach().clone(); <T>.set_(d0.clone())", "<T> = <T>.detach().clone(); <T>.resize_(3, 4)", "<t>.data = d1 * <n>",
    "x = torch.zeros(2); x.resize_(3); x.fill_(<n>); out(x)", "p0.data = p0.data * 0.9", "p1.data = d0.clone()", "p0.data[1] = d1[0]",
    "<t> = torch.empty(0).set_(<t>.detach())",
]  # fmt: skip

READS = [
    "out(<a>)", "late(<a>)", "out(<v>)", "late(<v>)", "kept.append(<a>)", "kept.append(<v>)", "out(kept[len(kept) // 2])", "del kept[:1]",
    "late(*kept[-2:])", "kept = kept[-3:]", "out(<T>.requires_grad, <T>.is_leaf, <T>._version)", "out(float(<a>.sum()))",
    "out(<V>.shape, <V>.requires_grad)", "out(str(<t>.grad_fn is None))", "out(<t>.argmax())", "print(str(<a>), file=null)",
    "out((<t> > <n>).sum())", "out(copy.deepcopy(<t>.detach()))", "late(*pickle.loads(pickle.dumps([<T>.detach(), <T>.detach()[1:]])))",
]  # fmt: skip

NUMPY = [
    "n0[0] = <n> * 0.1", "n0[r % 3] = <n> * 0.1", "n0[:] = <n> * 0.1", "out(torch.from_numpy(n0) * 2)", "s0.mul_(0.5); out(n0)",
    "s0 += <n>",
    "t0 = t0 + s0.mean().to(t0.dtype)", "x = d0.numpy(); x[0, 0] = 0.1 * r", "x = t1.detach().numpy(); x[1] += 0.5; del x", "late(s0)",
    "x = np.asarray(d1); x *= 0.9; late(d1)", "late(torch.from_numpy(n0.copy()))", "n1 = t2.detach().numpy()", "n1[0] = 0.25; out(n1)",
    "p0.data.numpy()[0] *= 0.5", "x = t3.detach(); y = x.numpy(); x.add_(1); out(y)", "s0 = torch.from_numpy(n0)", "out(d0[1:].numpy())",
    "kept.append(torch.as_tensor(n0))", "t3 = torch.tensor(n0)[:3].to(d0.dtype)[:, None] * d0", "late(d0 * 2); d0.numpy()[1] = <n>",
    "x = t0.detach().t().numpy(); x[0] = <n>; late(t0)",
]  # fmt: skip

SCOPES = [
    "with torch.no_grad():", "with torch.enable_grad():", "with torch.inference_mode():", "with torch.random.fork_rng():",
    "with torch.autograd.set_grad_enabled(r % 2 == 0):", "with torch.autograd.detect_anomaly():",
]  # fmt: skip

SEEDS = [
    "torch.manual_seed(r)", "torch.manual_seed(7)", "state = torch.get_rng_state()", "torch.set_rng_state(state)", "gen.manual_seed(3)",
    "t0 = torch.randn(3, 4, generator=gen)", "perm = torch.randperm(6)", "out(torch.rand(2))", "late(torch.rand(2, generator=gen))",
    "late(torch.randint(0, 10, (3,)))", "late(F.dropout(torch.ones(6), 0.5))", "late(torch.bernoulli(torch.full((5,), 0.5)))",
    "late(torch.multinomial(torch.ones(5), 2))", "late(torch.normal(0.0, torch.ones(3)))",
    "gen2 = torch.Generator(); gen2.set_state(gen.get_state()); out(torch.rand(1, generator=gen2))",
]  # fmt: skip

RAISING = [
    "<t> + torch.ones(5)", "<t>[7]", "<t>.view(5)", "Broken.apply(p0).sum().backward()", "torch.cat([<t>, torch.ones(2)])", "{}[1]",
    "d0.sum().backward()", "<t> @ <t>", "F.embedding(torch.tensor([9]), <a>)", "p0.add_(1)", "raise RuntimeError('on purpose')",
    "m0(torch.ones(2, 3))", "o0.step(3)", "<t>.gather(1, torch.tensor([[9]]))",
]  # fmt: skip

TABLES = {
    "t": TENSORS, "p": LEAVES, "v": VIEWS, "n": NUMBERS, "e": EXPRESSIONS, "a": [*TENSORS * 2, *LEAVES, *DATA],
    "x": [*TENSORS, *VIEWS, *VIEWS],
}  # fmt: skip


def assign(m: Maker) -> str:
    return "<t> = <e>"


def renew(m: Maker) -> str:
    return f"<t> = {m.pick(*FRESH)}"


def look(m: Maker) -> str:
    return f"<v> = {m.pick('<a>', '<a>', '<a>', '<a>', '<v>')}{m.pick(*SEEN_AS)}"


def write(m: Maker) -> str:
    line = m.pick(*WRITES)
    return indented(line, "with torch.no_grad():") if m.chance(0.3) else line


def scope(m: Maker) -> str:
    return indented(m.pick(assign, write, look)(m), m.pick(*SCOPES))


def branch(m: Maker) -> str:
    return f"if <a>.{m.pick('sum()', 'max()', 'mean()', 'view(-1)[3]')} > <n>:\n    <t> = <e>\nelse:\n    <t> = <e>"


def of(table):
    """Returns an item that is one line of a table."""
    return lambda m: m.pick(*table)


ITEMS = [
    assign, assign, look, look, write, write, write, of(READS), of(READS), renew, of(NUMPY), of(NUMPY), scope, branch, of(MEMORY),
    of(SEEDS), of(RAISING),
]  # fmt: skip
