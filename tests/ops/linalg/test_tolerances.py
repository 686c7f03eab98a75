"""Tolerances of ranks and pseudo-inverses, one for all matrices or one for each."""

import pytest

import torchlike as torch

SEVERAL = torch.diag_embed(torch.tensor([[3.0, 0.5, 0.01], [1.0, 1.0, 1e-9]]))


@pytest.mark.parametrize(
    ("tolerances", "ranks"),
    [
        ({"rtol": torch.tensor([0.1, 0.001])}, [2, 2]), ({"atol": torch.tensor([0.6, 0.001])}, [1, 2]),
        ({"tol": torch.tensor([0.001, 2.0])}, [3, 0]), ({"atol": torch.tensor(0.1), "rtol": torch.tensor([0.1, 1.5])}, [2, 0]),
        ({"atol": torch.tensor([-1.0, 0.1])}, [3, 2]), ({"atol": torch.tensor([[0.1], [0.5]])}, [[2, 2], [1, 2]]),
        ({"atol": torch.tensor(0.1), "rtol": 0.5}, [1, 2]), ({"rtol": torch.tensor(0.1, requires_grad=True)}, [2, 2]),
    ],
)  # fmt: skip
def test_tolerances_may_be_one_for_each_matrix(tolerances, ranks):
    assert torch.linalg.matrix_rank(SEVERAL, **tolerances).tolist() == ranks
    if "tol" not in tolerances:
        pinv = torch.linalg.pinv(SEVERAL, **tolerances)
        assert (pinv.diagonal(dim1=-2, dim2=-1) != 0).sum(-1).tolist() == ranks


@pytest.mark.parametrize("function", [torch.linalg.matrix_rank, torch.linalg.pinv])
def test_a_number_and_a_tensor_of_tolerances_are_refused(function):
    with pytest.raises(TypeError, match="received an invalid combination of arguments"):
        function(SEVERAL, atol=0.1, rtol=torch.tensor([0.1, 0.2]))
