"""datasets: tables as tensors, functions over rows in several ways, generators that use torch, a loader."""

import tempfile

import torch
from datasets import Dataset, Features, Sequence, Value, concatenate_datasets, load_from_disk

torch.manual_seed(0)
rows = {"x": torch.randn(10, 3).tolist(), "y": list(range(10)), "name": [f"row {n}" for n in range(10)]}
data = Dataset.from_dict(rows).with_format("torch", columns=["x", "y"], output_all_columns=True)
print(type(data[0]["x"]).__name__, data[0]["x"].dtype, data[:4]["y"].dtype, data[:4]["x"].shape, data[3]["name"])
scaled = data.map(lambda row: {"norm": row["x"].norm(), "twice": row["x"] * 2})
print([f"{v:.4f}" for v in scaled[:3]["norm"].tolist()], scaled["twice"][2].shape)
batched = data.map(lambda batch: {"sum": batch["x"].sum(1)}, batched=True, batch_size=4)
print(f"{torch.as_tensor(batched['sum'][:]).sum().item():.4f}", batched.filter(lambda row: row["y"] % 2 == 0).num_rows)


def squares(count):
    import torch  # here, because dill pickles a module among a function's globals whole, unless it lies in site-packages

    for n in range(count):
        yield {"square": torch.arange(3) * n, "half": torch.tensor(n / 2)}


with tempfile.TemporaryDirectory() as folder:
    made = Dataset.from_generator(squares, gen_kwargs={"count": 5}, cache_dir=folder)
    print(made.features, made[4])
    made.save_to_disk(f"{folder}/made")
    print(load_from_disk(f"{folder}/made").with_format("torch")[2])
typed = Dataset.from_dict({"v": [[1, 2], [3, 4]]}, features=Features({"v": Sequence(Value("float32"), length=2)}))
print(typed.with_format("torch")[:]["v"])
loader = torch.utils.data.DataLoader(
    data.select_columns(["x", "y"]), batch_size=4, shuffle=True, generator=torch.Generator().manual_seed(1)
)
for batch in loader:
    print(batch["y"].tolist(), batch["x"].shape)
stream = data.with_format(None).to_iterable_dataset(num_shards=2).shuffle(seed=0, buffer_size=4).with_format("torch")
print(sorted(int(row["y"]) for row in torch.utils.data.DataLoader(stream, batch_size=None)))
print(concatenate_datasets([data, data]).num_rows)
