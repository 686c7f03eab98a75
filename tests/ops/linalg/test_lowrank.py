"""Decompositions of low rank, statistics of normalisations, and hashes: their results, and arguments that they refuse."""

import pytest

import torchlike as torch

pytestmark = pytest.mark.single


def test_a_matrix_of_low_rank_is_found_again():
    torch.manual_seed(0)
    A = torch.randn(5, 2) @ torch.randn(2, 7)
    U, S, V = torch.svd_lowrank(A, q=3)
    assert [tuple(part.shape) for part in (U, S, V)] == [(5, 3), (3,), (7, 3)]
    torch.testing.assert_close(U * S @ V.mT, A)
    torch.testing.assert_close(S[:2], torch.linalg.svdvals(A)[:2])


def test_principal_components_are_centred():
    A = torch.tensor([[1.0, 5.0], [3.0, 5.0], [5.0, 5.0]])
    assert torch.pca_lowrank(A, q=1)[1].item() == pytest.approx(8**0.5)
    assert torch.pca_lowrank(A, q=1)[2].abs().flatten().tolist() == pytest.approx([1.0, 0.0], abs=1e-6)
    with pytest.raises(ValueError, match=r"q\(=3\) must be non-negative integer and not greater than min\(m, n\)=2"):
        torch.pca_lowrank(A, q=3)
    with pytest.raises(ValueError, match=r"niter\(=-1\) must be non-negative integer"):
        torch.pca_lowrank(A, niter=-1)


def test_normalisations_give_their_statistics():
    x = torch.tensor([[1.0, 3.0, 5.0, 7.0]], requires_grad=True)
    out, mean, rstd = torch.native_layer_norm(x, [4], None, None, 0.0)
    assert (mean.tolist(), rstd.tolist()) == ([[4.0]], [[pytest.approx(5**-0.5)]])
    assert out.requires_grad and not mean.requires_grad
    _, mean, rstd = torch.native_group_norm(x, None, None, 1, 4, 1, 2, 0.0)
    assert (mean.tolist(), rstd.tolist()) == ([[2.0, 6.0]], [[1.0, 1.0]]) and mean.requires_grad
    _, mean, rstd = torch.native_batch_norm(x.T.detach(), None, None, None, None, True, 0.1, 0.25)
    assert (mean.tolist(), rstd.tolist()) == ([4.0], [pytest.approx(5.25**-0.5)])
    zero, one = torch.zeros(1), torch.ones(1)
    assert torch.native_batch_norm(x.T.detach(), None, None, zero, one, False, 0.1, 0.25)[1].shape == (0,)


def test_hashes():
    x = torch.tensor([[1.0, -2.0], [3.0, 0.5]])
    assert torch.hash_tensor(x).item() == torch.hash_tensor(x.half()).item() == torch.hash_tensor(x.flip(0)).item()
    assert torch.hash_tensor(x, 1, keepdim=True).shape == (2, 1)
    with pytest.raises(RuntimeError, match="Unknown hash_tensor mode: 1"):
        x.hash_tensor(mode=1)
    with pytest.raises(RuntimeError, match="to be of dtype uint64, but got Float"):
        torch.hash_tensor(x, out=torch.empty(()))
    with pytest.raises(NotImplementedError, match="\"xor_sum_cpu\" not implemented for 'UInt16'"):
        torch.hash_tensor(x.to(torch.uint16))
    with pytest.raises(IndexError, match="Expected reduction dim 1 to have non-zero size"):
        torch.hash_tensor(torch.ones(2, 0), 1)
