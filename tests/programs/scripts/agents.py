"""REINFORCE, DQN and PPO on a pole that is written here."""

import random, math
from collections import namedtuple, deque
from itertools import count
import numpy as np
import torch, torch.nn as nn, torch.nn.functional as F, torch.optim as optim
from torch.distributions import Categorical

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)


class Env:
    def __init__(self):
        self.rng = np.random.default_rng(0)

    def reset(self):
        self.s = self.rng.uniform(-0.05, 0.05, 4)
        self.t = 0
        return self.s.astype(np.float64), {}

    def step(self, a):
        x, xd, th, thd = self.s
        f = 10.0 if a == 1 else -10.0
        c, s = math.cos(th), math.sin(th)
        tmp = (f + 0.05 * thd**2 * s) / 1.1
        ta = (9.8 * s - c * tmp) / (0.5 * (4 / 3 - 0.1 * c**2 / 1.1))
        xa = tmp - 0.05 * ta * c / 1.1
        self.s = np.array([x + 0.02 * xd, xd + 0.02 * xa, th + 0.02 * thd, thd + 0.02 * ta])
        self.t += 1
        done = bool(abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.21)
        return self.s.copy(), 1.0, done, self.t >= 60, {}


env = Env()
eps = np.finfo(np.float32).eps.item()


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 16)
        self.dropout = nn.Dropout(p=0.6)
        self.affine2 = nn.Linear(16, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        x = self.affine1(x)
        x = self.dropout(x)
        x = F.relu(x)
        return F.softmax(self.affine2(x), dim=1)


policy = Policy()
optimizer = optim.Adam(policy.parameters(), lr=1e-2)


def select_action(state):
    state = torch.from_numpy(state).float().unsqueeze(0)
    probs = policy(state)
    m = Categorical(probs)
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


running = 10
for i_episode in range(5):
    state, _ = env.reset()
    ep = 0
    for t in range(1, 100):
        state, reward, done, trunc, _ = env.step(select_action(state))
        policy.rewards.append(reward)
        ep += reward
        if done or trunc:
            break
    R, policy_loss, returns = 0, [], deque()
    for r in policy.rewards[::-1]:
        R = r + 0.99 * R
        returns.appendleft(R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    for lp, R in zip(policy.saved_log_probs, returns):
        policy_loss.append(-lp * R)
    optimizer.zero_grad()
    policy_loss = torch.cat(policy_loss).sum()
    policy_loss.backward()
    optimizer.step()
    del policy.rewards[:]
    del policy.saved_log_probs[:]
    running = 0.05 * ep + 0.95 * running
    print(
        "Episode {}\tLast reward: {:.2f}\tAverage reward: {:.2f}\t{:.4f}".format(
            i_episode, ep, running, policy_loss.item()
        )
    )
# DQN
Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))


class ReplayMemory(object):
    def __init__(self, capacity):
        self.memory = deque([], maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


class DQN(nn.Module):
    def __init__(self, n_obs, n_act):
        super(DQN, self).__init__()
        self.layer1 = nn.Linear(n_obs, 16)
        self.layer2 = nn.Linear(16, 16)
        self.layer3 = nn.Linear(16, n_act)

    def forward(self, x):
        return self.layer3(F.relu(self.layer2(F.relu(self.layer1(x)))))


pn, tn = DQN(4, 2), DQN(4, 2)
tn.load_state_dict(pn.state_dict())
opt = optim.AdamW(pn.parameters(), lr=1e-3, amsgrad=True)
mem = ReplayMemory(500)
steps = 0
last = None
for ep in range(4):
    s, _ = env.reset()
    s = torch.tensor(s, dtype=torch.float32).unsqueeze(0)
    for t in count():
        th = 0.05 + 0.85 * math.exp(-1.0 * steps / 50)
        steps += 1
        if random.random() > th:
            with torch.no_grad():
                a = pn(s).max(1).indices.view(1, 1)
        else:
            a = torch.tensor([[random.randint(0, 1)]], dtype=torch.long)
        o, r, term, trunc, _ = env.step(a.item())
        r = torch.tensor([r])
        ns = None if term else torch.tensor(o, dtype=torch.float32).unsqueeze(0)
        mem.push(s, a, ns, r)
        s = ns
        if len(mem) >= 16:
            b = Transition(*zip(*mem.sample(16)))
            mask = torch.tensor(tuple(map(lambda s: s is not None, b.next_state)), dtype=torch.bool)
            nf = torch.cat([x for x in b.next_state if x is not None])
            sb, ab, rb = torch.cat(b.state), torch.cat(b.action), torch.cat(b.reward)
            q = pn(sb).gather(1, ab)
            nv = torch.zeros(16)
            with torch.no_grad():
                nv[mask] = tn(nf).max(1).values
            loss = nn.SmoothL1Loss()(q, ((nv * 0.99) + rb).unsqueeze(1))
            opt.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_value_(pn.parameters(), 100)
            opt.step()
            last = loss.item()
            sd, pd = tn.state_dict(), pn.state_dict()
            for key in pd:
                sd[key] = pd[key] * 0.005 + sd[key] * (1 - 0.005)
            tn.load_state_dict(sd)
        if term or trunc:
            print(ep, t + 1, last)
            break


# PPO
class AC(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(self.li(nn.Linear(4, 16)), nn.Tanh(), self.li(nn.Linear(16, 1), std=1.0))
        self.actor = nn.Sequential(self.li(nn.Linear(4, 16)), nn.Tanh(), self.li(nn.Linear(16, 2), std=0.01))
        self.log_std = nn.Parameter(torch.zeros(1, 2))

    @staticmethod
    def li(layer, std=np.sqrt(2), bias_const=0.0):
        torch.nn.init.orthogonal_(layer.weight, std)
        torch.nn.init.constant_(layer.bias, bias_const)
        return layer

    def gav(self, x, action=None):
        p = Categorical(logits=self.actor(x))
        action = p.sample() if action is None else action
        return action, p.log_prob(action), p.entropy(), self.critic(x)


ag = AC()
opt = optim.Adam(ag.parameters(), lr=2.5e-3, eps=1e-5)
obs = torch.zeros((32, 4))
acts, lps, rews, dones, vals = (torch.zeros(32) for _ in range(5))
nxt, _ = env.reset()
nxt = torch.Tensor(nxt)
nd = torch.zeros(1)
for it in range(3):
    opt.param_groups[0]["lr"] = (1 - it / 3) * 2.5e-3
    for st in range(32):
        obs[st], dones[st] = nxt, nd
        with torch.no_grad():
            a, lp, _, v = ag.gav(nxt)
            vals[st] = v.flatten()
        acts[st], lps[st] = a, lp
        o, r, te, tr, _ = env.step(a.cpu().numpy())
        rews[st] = torch.tensor(r).view(-1)
        if te or tr:
            o, _ = env.reset()
        nxt, nd = torch.Tensor(o), torch.Tensor([te or tr])
    with torch.no_grad():
        nvv = ag.critic(nxt).reshape(1, -1)
        adv = torch.zeros_like(rews)
        lastg = 0
        for t in reversed(range(32)):
            nnt, nv = (1.0 - nd, nvv) if t == 31 else (1.0 - dones[t + 1], vals[t + 1])
            delta = rews[t] + 0.99 * nv * nnt - vals[t]
            adv[t] = lastg = delta + 0.99 * 0.95 * nnt * lastg
        ret = adv + vals
    inds = np.arange(32)
    for e in range(2):
        np.random.shuffle(inds)
        for s0 in range(0, 32, 16):
            mb = inds[s0 : s0 + 16]
            _, nlp, ent, nv = ag.gav(obs[mb], acts.long()[mb])
            lr = nlp - lps[mb]
            ratio = lr.exp()
            with torch.no_grad():
                okl = (-lr).mean()
                kl = ((ratio - 1) - lr).mean()
                cf = ((ratio - 1.0).abs() > 0.2).float().mean().item()
            ma = adv[mb]
            ma = (ma - ma.mean()) / (ma.std() + 1e-8)
            pg = torch.max(-ma * ratio, -ma * torch.clamp(ratio, 0.8, 1.2)).mean()
            nv = nv.view(-1)
            vc = vals[mb] + torch.clamp(nv - vals[mb], -0.2, 0.2)
            vl = 0.5 * torch.max((nv - ret[mb]) ** 2, (vc - ret[mb]) ** 2).mean()
            loss = pg - 0.01 * ent.mean() + vl * 0.5
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(ag.parameters(), 0.5)
            opt.step()
    yp, yt = vals.cpu().numpy(), ret.cpu().numpy()
    print(
        it,
        f"{vl.item():.4f} {pg.item():.4f} {ent.mean().item():.4f} {okl.item():.5f} {kl.item():.5f} {cf:.3f} {1 - np.var(yt - yp) / np.var(yt):.4f}",
    )
