"""Products of matrices, factorisations, solvers and other functions of matrices."""
