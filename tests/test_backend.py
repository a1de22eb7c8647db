"""Backends load when they are first asked for, belong to a thread, and are never mixed."""

import asyncio
import copy
import os
import pickle
import subprocess
import sys
import threading
from importlib.util import find_spec

import numpy as np
import pytest

import sparseops as so
from sparseops import backend as module
from sparseops.backend import Backend


@pytest.fixture
def other():
    """A second backend of NumPy, for this test only."""
    so.register_backend("other", lambda: Backend("other", np, "scipy.sparse", np.asarray))
    yield so.get_backend("other")
    module._loaders.pop("other")
    module._loaded.pop("other")


def run(code, **environment):
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_the_default_is_scipy():
    assert so.get_backend().name == "scipy"
    assert so.get_backend("scipy") is so.get_backend() is so.get_backend(so.get_backend())
    assert repr(so.get_backend()) == "<backend scipy>"
    assert so.get_backend().xp is np


@pytest.mark.parametrize("name", ["none", "", 3, b"scipy"])
def test_an_unknown_name_is_refused_with_the_known_ones(name):
    for ask in (
        so.get_backend,
        lambda name: so.zeros(2, backend=name),
        lambda name: so.array([1], backend=name),
        lambda name: so.csr_array([[1]], backend=name),
        lambda name: so.random((2, 2), backend=name),
        lambda name: so.array([1]).to(name),
        lambda name: so.use_backend(name).__enter__(),
    ):
        with pytest.raises(so.BackendError, match=f"no backend {name!r}; there are .*scipy"):
            ask(name)
    assert so.get_backend().name == "scipy"


def test_a_backend_is_loaded_once_and_only_when_asked_for():
    calls = []

    def load():
        calls.append(1)
        return Backend("lazy", np, "scipy.sparse", np.asarray)

    so.register_backend("lazy", load)
    assert not calls
    assert so.get_backend("lazy") is so.get_backend("lazy")
    assert calls == [1]
    so.register_backend("lazy", load)
    assert so.get_backend("lazy").name == "lazy"
    assert calls == [1, 1]
    module._loaders.pop("lazy"), module._loaded.pop("lazy")


def test_a_backend_that_fails_to_load_is_asked_again():
    answers = [so.BackendError("not yet"), Backend("late", np, "scipy.sparse", np.asarray)]

    def load():
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    so.register_backend("late", load)
    with pytest.raises(so.BackendError, match="not yet"):
        so.get_backend("late")
    assert so.get_backend("late").name == "late"
    module._loaders.pop("late"), module._loaded.pop("late")


def test_threads_that_come_first_together_get_one_backend():
    barrier, meeting, found = threading.Barrier(2), threading.Barrier(2), []

    def load():
        barrier.wait(5)
        return Backend("raced", np, "scipy.sparse", np.asarray)

    def ask():
        meeting.wait(5)
        found.append(so.get_backend("raced"))

    so.register_backend("raced", load)
    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    module._loaders.pop("raced"), module._loaded.pop("raced")
    assert found[0] is found[1]


# The current backend


def test_new_arrays_are_made_on_the_current_backend(other):
    makers = [
        lambda: so.zeros(2),
        lambda: so.zeros((2, 2), stype="csr"),
        lambda: so.array([1.0]),
        lambda: so.asarray(np.ones(2)),
        lambda: so.csr_array(([1.0], [0], [0, 1])),
        lambda: so.csr_array(([1.0], ([0], [0]))),
        lambda: so.row_sparse_array(([1.0], [0])),
        lambda: so.random((3, 3), density=0.5),
        lambda: so.random((3, 3), density=0.5, stype="dense"),
        lambda: so.random((3, 3), density=0.5, stype="row_sparse"),
    ]
    with so.use_backend("other"):
        assert so.get_backend() is other
        assert all(make().backend is other for make in makers)
        with so.use_backend("scipy"):
            assert so.zeros(2).backend.name == "scipy"
        assert so.get_backend() is other
    assert all(make().backend.name == "scipy" for make in makers)


def test_an_exception_leaves_the_backend_as_it_was(other):
    with pytest.raises(ZeroDivisionError), so.use_backend("other"):
        raise ZeroDivisionError
    assert so.get_backend().name == "scipy"


def test_threads_and_tasks_have_backends_of_their_own(other):
    seen = {}

    def look():
        seen["thread"] = so.get_backend().name

    async def wait(name, pause):
        with so.use_backend(name):
            await asyncio.sleep(pause)
            return so.get_backend().name

    async def both():
        return await asyncio.gather(wait("other", 0.02), wait("scipy", 0.01))

    with so.use_backend("other"):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert seen == {"thread": "scipy"}
    assert asyncio.run(both()) == ["other", "scipy"]


def test_arrays_move_between_backends_with_memory_of_their_own(other):
    for x in (so.array([1.0, 2.0]), so.csr_array([[0.0, 1.0]]), so.zeros(3, stype="row_sparse")):
        y = x.to("other")
        assert y.backend is other
        assert y.spec == x.spec
        assert y.to(other) is y
        y[...] = np.full(x.shape, 7.0)
        assert not (x.asnumpy() == 7).any()
        assert so.asarray(x, backend="other").backend is other
        assert so.asarray(x, backend="scipy") is x


def test_arrays_of_two_backends_are_not_mixed(other):
    a, b = so.array([1.0]), so.array([1.0], backend="other")
    with pytest.raises(so.BackendError, match=r"on scipy and other; move one with x.to\('scipy'\)"):
        so.sparse_mask(a, b)


def test_no_array_moves_while_a_tape_records(other):
    x = so.array([1.0])
    with so.Tape(), pytest.raises(so.GradientError, match="no gradient"):
        x.to("other")


# Copies


def test_a_backend_stays_itself_when_copied_or_pickled(other):
    for backend in (so.get_backend("scipy"), other):
        for again in (
            copy.copy(backend),
            copy.deepcopy(backend),
            pickle.loads(pickle.dumps(backend)),
            copy.deepcopy([backend])[0],
        ):
            assert again is backend
    x = so.array([1.0], backend="other")
    assert pickle.loads(pickle.dumps(x)).backend is other


def test_an_array_whose_backend_is_gone_is_refused(other):
    text = pickle.dumps(so.array([1.0], backend="other"))
    module._loaders.pop("other")
    with pytest.raises(so.BackendError, match="no backend 'other'"):
        pickle.loads(text)
    module._loaders["other"] = lambda: other


# Absent libraries


@pytest.mark.skipif(find_spec("cupy") is not None, reason="cupy is there")
def test_cupyx_without_cupy_says_what_to_install():
    for ask in (
        lambda: so.get_backend("cupyx"),
        lambda: so.zeros(2, backend="cupyx"),
        lambda: so.array([1.0]).to("cupyx"),
    ):
        with pytest.raises(so.BackendError, match="needs cupy .* pip install 'sparseops"):
            ask()


def test_cupyx_without_a_device_says_so(tmp_path):
    (tmp_path / "cupy.py").write_text(
        "class cuda:\n    is_available = staticmethod(lambda: False)\n__version__ = '99'\n"
    )
    code = (
        "import sparseops as so\n"
        "try: so.get_backend('cupyx')\n"
        "except so.BackendError as error: print(error)"
    )
    path = os.pathsep.join([str(tmp_path), os.path.dirname(os.path.dirname(so.__file__))])
    assert " ".join(run(code, PYTHONPATH=path)) == (
        "backend 'cupyx' found cupy 99 but no usable CUDA driver and device"
    )


def test_scipy_is_not_imported_before_it_is_needed():
    code = """
import sys
import numpy as np
import sparseops as so
def loaded():
    print(any(name.startswith("scipy") for name in sys.modules))
x = so.csr_array(([1.0, 2.0], ([1, 0], [0, 1])), (2, 2))
y = so.random((5, 4), density=0.5).tostype("row_sparse").tostype("csr")
so.zeros((2, 2), stype="csr"), so.array([[1]], stype="csr").asnumpy(), so.asarray(np.eye(2))
x.astype("f4").copy(), repr(x), repr(y)
x[...] = [[1, 2], [3, 4]]
loaded()
x.asscipy()
loaded()
"""
    path = os.path.dirname(os.path.dirname(so.__file__))
    assert run(code, PYTHONPATH=path) == ["False", "True"]
