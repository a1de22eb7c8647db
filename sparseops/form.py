"""What all arrays of one spec on one backend share."""

from sparseops.backend import Backend
from sparseops.spec import Spec
from sparseops.storage import Storage


class Form:
    """A spec and a backend: one object for all arrays of the form, which hashes by identity."""

    __slots__ = ("backend", "spec")

    def __init__(self, spec: Spec, backend: Backend):
        self.spec = spec
        self.backend = backend


_forms: dict[tuple, Form] = {}


def form_of(known: Storage | Spec, backend: Backend) -> Form:
    """The form of arrays with the shape, dtype and storage type of `known`."""
    key = known.stype, known.shape, known.dtype, backend
    form = _forms.get(key)
    if form is None:
        if len(_forms) >= 4096:
            _forms.clear()
        spec = known if type(known) is Spec else Spec(known.shape, known.dtype, known.stype)
        form = _forms[key] = Form(spec, backend)
    return form
