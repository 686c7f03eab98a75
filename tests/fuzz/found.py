"""Programs that have once differed, made small. PyTorch's rows for them are recorded, and every run of the suite compares."""

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
}
