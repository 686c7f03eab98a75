"""Small programs in which the two libraries once differed. PyTorch's rows are recorded, and every run of the suite compares."""

FOUND = {
    "random numbers into a transposed view": """
def program():
    t0, t1 = torch.zeros(3, 4), torch.zeros(5, 8)
    for r in range(3):
        t0.t().normal_()
        t1[:, :6].normal_()
        out(t0, t1, torch.rand(1))
        t0.t().uniform_(-1, 1)
        late(t0.clone(), torch.multinomial(torch.rand(4, 3).t(), 2))
""",
    "fast weights in alternation": """
def program():
    m, x = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)), torch.randn(5, 4)
    w = m[2].weight
    for r in range(6):
        del m[2].weight
        m[2].weight = w * (1 + r) if r % 2 else w
        late(m(x))
        m(x).pow(2).sum().backward()
        out(w.grad)
""",
    "buffers read in the round that writes them": """
def program():
    m, x = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)), torch.randn(6, 4)
    for r in range(5):
        y = m(x * (1 + r))
        late(m[1].num_batches_tracked * 2 + 1, m[1].running_mean * y.mean(), m[1].running_var.clone())
""",
    "parameters in another order": """
def program():
    m, x = nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3)), torch.randn(6, 4)
    o = torch.optim.SGD(m.parameters(), lr=0.1)
    for r in range(5):
        if r == 3:
            reorder(m[1])
        o.zero_grad()
        m(x).pow(2).sum().backward()
        o.step()
        out(*[p.clone() for n, p in m.named_parameters()], [n for n, p in m.named_parameters()])
""",
    "data exchanged under a graph made before": """
def program():
    p0, p1 = torch.randn(3, 4, requires_grad=True), torch.randn(3, 4, requires_grad=True)
    t = p0 * 1
    for r in range(3):
        p0.data = p0.data * 0.9
        loss = (F.layer_norm(p0, (4,)) * t).pow(2).sum() + (p0 ** 3 * p1).sum()
        g = torch.autograd.grad(loss, [p0, p1], create_graph=True, retain_graph=True)
        out(torch.autograd.grad(g[0][0].sum() * p1.sum(), p0, retain_graph=True)[0])
""",
    "a counter of its own after set_": """
def program():
    d, t = torch.randn(3, 4), torch.zeros(3, 4)
    for r in range(3):
        t = t.detach().clone()
        t.set_(d.clone())
        t.add_(1)
        out(t._version, t)
""",
    "draws into a tensor that may not be written to": """
def program():
    with torch.inference_mode():
        t = torch.zeros(3, 4)
    for r in range(3):
        with guard(0):
            t.normal_()
        out(torch.rand(2))
""",
    "a pass that stops between two leaves": """
def program():
    p0, p1 = torch.randn(3, 4, requires_grad=True), torch.randn(3, 4, requires_grad=True)
    t = p0 * 2 + p0.exp()
    for r in range(3):
        with guard(0):
            (t.sum() + (p0 * p1).mean()).backward()
        late(p0.grad, p1.grad)
""",
    "parameters that are one memory": """
def program():
    m = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
    m[2].weight = m[0].weight
    x, y = torch.randn(6, 4), torch.randn(6, 4)
    m.load_state_dict(copy.deepcopy(m).state_dict(), assign=True)
    for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.Adagrad):
        o = kind([{'params': [*m.parameters()][:3]}, {'params': [*m.parameters()][3:]}], lr=0.01)
        for r in range(3):
            o.zero_grad()
            loss = F.mse_loss(m(x), y)
            loss.backward()
            o.step()
            out(loss)
    late(*m.parameters())
""",
    "a pruned weight that is no parameter": """
def program():
    m = nn.Linear(4, 3)
    w = m.weight
    del m.weight
    m.weight = w.detach() * 2
    with guard(0):
        nn.utils.prune.l1_unstructured(m, 'weight', 0.3)
    out([n for n, p in m.named_parameters()])
""",
}
