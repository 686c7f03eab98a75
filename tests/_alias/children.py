"""A program that starts processes, in which `import torch` must mean the same."""

import multiprocessing

import torch
from torch.utils.data import DataLoader, Dataset


class Carried:
    def __init__(self):
        self.tensor = torch.arange(3)


class Numbers(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return torch.tensor(index)


def work(queue, carried):
    found = torch.__name__, type(carried).__module__, (carried.tensor * 2).tolist(), hasattr(torch, "_core")
    queue.put(found)


if __name__ == "__main__":
    for method in ("spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        queue = context.SimpleQueue()
        process = context.Process(target=work, args=(queue, Carried()))
        process.start()
        found = queue.get()
        process.join()
        print(method, found, process.exitcode)
    loader = DataLoader(Numbers(), batch_size=2, num_workers=1, multiprocessing_context="spawn")
    print([batch.tolist() for batch in loader])
