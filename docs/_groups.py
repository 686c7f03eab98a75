"""How the API pages group names: as PyTorch's documentation does, in its order and under its headings.

A group is a heading and words: a name, a pattern of names (`*_pool*`), or a file (`.conv`: the last part of a module's name). A name
belongs to the first group that lists it, by itself or by a pattern, and otherwise to the first group that lists its file.
"""

GROUPS: dict[str, dict[str, str]] = {
    "torchlike": {
        "Tensors": ".inspecting .dtypes .devices .layouts .printing .defaults dtype device layout memory_format",
        "Creation of tensors": ".filled .from_data .cast .storages .legacy complex polar sparse_*",
        "Indexing, slicing, joining, changing": ".joining .reshape .strided_views .copies .slicing .index where nonzero argwhere "
        "masked_select masked_scatter gather scatter scatter_* index_* take take_along_dim put narrow* select nonzero_static",
        "Random numbers": ".random .sampled .generators",
        "Saving and loading": "._load ._save",
        "Threads and determinism": ".switches",
        "Mixed precision": ".autocast_mode .grad_scaler",
        "Operations on each element": ".elementary .pointwise .division .powers .activation .bitwise .exponents .extrema .gamma .bessel "
        ".integers .gated .complex_numbers",
        "Reductions": ".reduce .between .hashing .statistics unique unique_consecutive median nanmedian mode",
        "Comparisons": ".compare .sort isin",
        "Spectra and windows": ".stft .windows",
        "Matrices and linear algebra": ".matmul .factorisations .solving .lowrank .matrix_functions ._products",
        "Other operations": ".arranging .scans .calculus .einsum .pair_distances .selecting .sets .gathering .grouped cdist",
        "Layers as functions": ".conv .ctc .distance .dropout .embedding .embedding_bag .native_norm .norm .pool .rnn .shuffle .grid .pad",
        "Quantization": ".quantizing .quantized .observing qscheme",
        "The engine": "._compile .described ._streams ._vmap .summary ._alias",
    },
    "torchlike.nn": {
        "Module and parameters": "Module Parameter Buffer Uninitialized*",
        "Containers": ".container",
        "Convolution layers": ".conv .fold",
        "Pooling layers": ".pooling",
        "Padding layers": ".padding",
        "Activations": "MultiheadAttention .activation",
        "Activations over a dimension": "Softm* LogSoftmax .adaptive",
        "Normalization layers": ".batchnorm .instancenorm .normalization",
        "Recurrent layers": ".rnn",
        "Transformer layers": ".transformer",
        "Linear layers": ".linear",
        "Dropout layers": ".dropout",
        "Sparse layers": ".sparse",
        "Distances": ".distance",
        "Losses": ".loss .linear_cross_entropy_options",
        "Vision and shuffling layers": ".pixelshuffle .upsampling .channelshuffle",
        "Data-parallel layers": ".data_parallel",
        "Flattening, flax, utilities": ".flatten .flax ._factory",
    },
    "torchlike.nn.functional": {
        "Convolutions": "conv* fold unfold",
        "Pooling": "*pool*",
        "Attention": "._attention",
        "Activations": "._activation .activation .gated .elementary .functional",
        "Normalization": "._normalization .norm",
        "Linear maps": ".matmul .grouped",
        "Dropout": "._dropout",
        "Embeddings": "._embedding .embedding",
        "Distances": ".distance .pair_distances",
        "Losses": "._loss ._margin_loss",
        "Vision": "._vision .shuffle .pad",
    },
    "torchlike.optim": {
        "The base class": "Optimizer",
        "Algorithms": "A* L* M* N* R* S*",
        "Any transformation of optax": "Optax",
        "Swapping": ".swapping",
    },
    "torchlike.distributions": {
        "Base classes": "Distribution ExponentialFamily",
        "Discrete distributions": "Bernoulli Binomial Categorical Geometric Multinomial NegativeBinomial OneHotCategorical* Poisson",
        "Continuous distributions": ".beta .cauchy .chi2 .continuous_bernoulli .exponential .fishersnedecor .gamma .generalized_pareto "
        ".gumbel .half_cauchy .half_normal .inverse_gamma .kumaraswamy .laplace .log_normal .normal .pareto .studentT .uniform .von_mises "
        ".weibull .relaxed_bernoulli .relaxed_categorical",
        "Distributions of vectors and matrices": ".dirichlet .lkj_cholesky .logistic_normal .lowrank_multivariate_normal "
        ".multivariate_normal .wishart",
        "Made of other distributions": ".independent .mixture_same_family .transformed_distribution",
        "Divergences": ".kl",
        "Transforms": "*Transform",
    },
    "torchlike.linalg": {
        "Matrix properties": "norm vector_norm matrix_norm diagonal det slogdet cond matrix_rank",
        "Decompositions": "cholesky qr lu lu_factor eig eigvals eigh eigvalsh svd svdvals",
        "Solvers": "solve solve_triangular lu_solve lstsq",
        "Inverses": "inv pinv",
        "Matrix functions": "matrix_exp matrix_power",
        "Products": "cross matmul vecdot multi_dot householder_product",
        "Tensor operations": "tensorinv tensorsolve",
        "Miscellaneous": "vander",
        "Without checks": "cholesky_ex inv_ex lu_factor_ex ldl_* solve_ex",
        "Errors": "LinAlgError",
    },
    "torchlike.utils.data": {
        "Data sets": ".dataset .datapipe",
        "The loader": ".dataloader .worker_info",
        "Samplers": ".sampler .distributed",
        "Collation": ".collate",
    },
}
