"""Files with sparse tensors that torchlike saves load in PyTorch, and the other way round."""

import io
import warnings

import pytest

import torchlike

pytorch = pytest.importorskip("torch")

pytestmark = pytest.mark.compare

CASES = {
    "coordinates": lambda torch: torch.sparse_coo_tensor(
        torch.tensor([[0, 1, 1], [2, 0, 2]]), torch.arange(3.0), (2, 3)
    ),
    "coalesced": lambda torch: torch.eye(3).to_sparse(),
    "with dense dimensions": lambda torch: torch.ones(2, 3, dtype=torch.float64).to_sparse(1),
    "rows": lambda torch: torch.eye(3).to_sparse_csr(),
    "parameter": lambda torch: torch.nn.Parameter(torch.eye(3).to_sparse()),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("weights_only", [True, False])
def test_both_ways(name, weights_only):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns that its CSR tensors are new
        for writer, reader in ((torchlike, pytorch), (pytorch, torchlike)):
            value = CASES[name](writer)
            file = io.BytesIO()
            writer.save(value, file)
            file.seek(0)
            back = reader.load(file, weights_only=weights_only)
            assert repr(back) == repr(value)
            if value.is_sparse:
                assert back.is_coalesced() == value.is_coalesced()
