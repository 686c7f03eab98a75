"""Tianshou: a replay buffer, collectors and DQN on a small world."""

import gymnasium as gym
import numpy as np
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Batch, Collector, CollectStats, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.utils.net.common import Net


class World(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (3,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.time, self.state = 0, np.zeros(3, np.float32)
        return self.state, {}

    def step(self, action):
        self.time += 1
        self.state = np.tanh(self.state + (action - 0.5) * np.array([0.3, -0.2, 0.1], np.float32)).astype(np.float32)
        return self.state, float(self.state[0]), self.time >= 10, False, {}


torch.manual_seed(0)
np.random.seed(0)
worlds = DummyVectorEnv([World, World])
network = Net(state_shape=(3,), action_shape=2, hidden_sizes=[8, 8])
policy = DiscreteQLearningPolicy(model=network, action_space=World.action_space, eps_training=0.0, eps_inference=0.0)
algorithm = DQN(
    policy=policy, optim=AdamOptimizerFactory(lr=1e-2), gamma=0.9, n_step_return_horizon=2, target_update_freq=3
)
buffer = VectorReplayBuffer(100, 2)
collector = Collector[CollectStats](algorithm, worlds, buffer)
collector.reset()
stats = collector.collect(n_step=40)
print(stats.n_collected_steps, stats.n_collected_episodes, f"{stats.returns_stat.mean:.4f}")
with torch.no_grad():
    print([f"{v:.4f}" for v in network(np.array([[0.1, 0.2, -0.1]], np.float32))[0].flatten().tolist()])
from tianshou.utils.torch_utils import policy_within_training_step

for _ in range(4):
    with policy_within_training_step(policy):
        result = algorithm.update(buffer=buffer, sample_size=16)
    print(f"{result.loss:.4f}")
batch = Batch(obs=torch.arange(6.0).reshape(3, 2), info=Batch(a=torch.ones(3)))
both = Batch.cat([batch, batch])
print(both.shape, both.obs.sum().item(), Batch.stack([batch, batch]).obs.shape, type(batch.to_numpy().obs).__name__)
