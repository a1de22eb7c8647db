"""The programs that get the messages of operators and optimizers, by file."""

OPERATORS = {
    "ops/broadcasting.py": [
        "so.broadcast_to(so.zeros((2, 3)), shape=(1, 3))",
    ],
    "ops/reduction.py": [
        "so.broadcast_to(v, shape=(2, 3, 4), axis=0)",
    ],
    "ops/cast.py": [
        "so.cast(so.array([1j]), dtype=float)",
        "so.sparse_mask(d, v)",
    ],
    "ops/elementwise.py": [
        "so.subtract([True], [False])",
    ],
    "ops/indexing.py": [
        "so.take(so.array(1.0), [0])",
        "so.take(x, [[0]])",
        "so.retain(r, [[0]])",
        "so.scatter_rows(d, [0, 1], num_rows=5)",
    ],
    "ops/rows.py": [
        "so.take(d, [0.5])",
        "operators['row'](x, 0.5)",
    ],
    "ops/joining.py": [
        "so.concat()",
        "so.concat(d, v)",
    ],
    "ops/linalg.py": [
        "so.dot(so.zeros((2, 2, 2)), v)",
        "so.dot(so.row_sparse_array(([1.0], [0]), (4,)), v)",
        "so.dot(x, np.ones(3))",
    ],
    "ops/loss.py": [
        "so.logistic_loss(d, v)",
        "so.logistic_loss([0.0], [1j])",
        "so.logistic_loss([0.0], [2.0])",
        "so.softmax_cross_entropy(d, [0])",
        "so.softmax_cross_entropy(d, [0.0, 1.0, 2.0])",
        "so.softmax_cross_entropy(d, [0, 1, 9])",
        "so.one_hot([[0]], num_columns=2)",
    ],
    "ops/multiply.py": [
        "so.multiply(x, np.ones((2, 3, 4)))",
    ],
    "ops/unary.py": [
        "so.floor([1j])",
        "so.relu([1j])",
        "so.grad(lambda z: so.real(so.sum(so.sign(z))))(so.array([1j]))",
    ],
    "ops/pairs.py": [
        "so.mod([1j], [1j])",
    ],
    "ops/shape.py": [
        "so.transpose(so.zeros((2, 3, 4), stype='row_sparse'))",
        "so.reshape(x, shape=12)",
        "so.reshape(so.row_sparse_array([1.0]), shape=())",
        "so.reshape(so.zeros((2, 2**62), stype='csr'), shape=(4, 2**61))",
        "so.reshape(d, shape=(-1, -1))",
        "so.reshape(d, shape=(5, 5))",
    ],
    "ops/sampled.py": [
        "so.sddmm(v, d, d)",
        "so.sddmm(x, d, d)",
        "so.sddmm(x, d, d, transpose_b=True)",
    ],
    "ops/softmax.py": [
        "so.softmax([[1j]])",
    ],
    "ops/totals.py": [
        "so.concat(d, d, axis=2)",
        "so.sum(d, axis=0.5)",
        "so.sum(d, axis='a')",
        "so.sum(d, axis=2)",
        "so.sum(d, axis=(0, 0))",
    ],
    "ops/replace.py": [
        "x[0] = 1.0",
        "operators['replace'](x, 1j, [0], key=('ids', 'all'))",
        "operators['replace'](x, d, [0], key=('ids', 'all'))",
    ],
    "ops/gather.py": [
        "operators['gather'](x, [[0]], key=('all', 'ids'))",
        "operators['scatter'](d, [0], key=('ids', 'all'), shape=(5, 4))",
    ],
    "ops/picking.py": [
        "operators['gather'](d, 0, key=())",
        "operators['gather'](d, 0, key=('number', (0, 9, 1)))",
        "operators['gather'](d, 0, key=('number', 'columns'))",
    ],
    "ops/row.py": [
        "operators['row'](so.array(1.0), 0)",
    ],
    "ops/limits.py": [
        "so.clip(d, low='zero', high=1)",
        "so.clip(d, low=np.nan, high=1)",
        "so.clip(d, low=2, high=1)",
        "so.clip([1j], low=0, high=1)",
        "from sparseops.ops.limits import kept_within\nkept_within(d, v, low=0, high=1)",
    ],
    "ops/slicing.py": [
        "operators['slice_rows'](so.array(1.0), 0, count=1, step=1)",
        "operators['slice_rows'](d, 0, count=9, step=1)",
        "operators['place_rows'](d, 0, step=1, num_rows=2)",
        "operators['slice_columns'](d, start=0, stop=1, axis=0)",
        "operators['slice_columns'](d, start=0, stop=9, axis=1)",
        "operators['place_columns'](d, start=0, size=9, axis=0)",
        "operators['place_columns'](d, start=0, size=3, axis=1)",
    ],
    "ops/power.py": [
        "operators['times_power'](d, v, exponent=2)",
    ],
    "ops/slope.py": [
        "operators['times_slope'](d, v, of='log')",
        "operators['times_slope'](d, d, of='cos')",
    ],
}

OPTIMIZERS = {
    "optim/checks.py": [
        "so.optim.sgd('fast')",
        "so.optim.sgd(float('nan'))",
        "so.optim.momentum(0.1, 1.0)",
        "so.optim.adam(0.1, epsilon=0)",
        "so.optim.sgd(0.1).init([1.0])",
        "so.optim.sgd(0.1).init(x)",
        "so.optim.sgd(0.1).init(so.zeros(3, int))",
        "step(state=[])",
        "step(state={'step': -1, 'velocity': so.zeros(4)})",
        "step(state={'step': 0, 'velocity': w})",
        "step(state={'step': 0, 'velocity': so.zeros(4, stype='row_sparse')})",
        "step(param=so.row_sparse_array(([1.0], [0]), (4,)), state={'step': 0, "
        "'velocity': so.row_sparse_array(([1.0], [1]), (4,))})",
        "step(gradient=[1.0])",
        "step(gradient=so.zeros(4, backend='gpu'))",
        "step(gradient=so.zeros(3))",
        "step(gradient=so.zeros(4, 'float32'))",
    ],
    "optim/clipping.py": [
        "so.optim.global_norm(d)",
        "so.optim.clip_global_norm({'w': so.array([np.inf])}, 1.0)",
        "so.optim.clip_global_norm({'w': 1.0}, 1.0)",
        "so.optim.clip_global_norm({'w': so.array([1])}, 1.0)",
    ],
    "optim/grouping.py": [
        "so.optim.groups([so.optim.sgd(0.1)])",
        "so.optim.groups({'b*': so.optim.sgd(0.1)}).of('w')",
        "so.optim.groups({'*': so.optim.sgd(0.1)}).update({'w': w}, {}, {})",
        "so.optim.groups({'w': 0.1})",
    ],
}
