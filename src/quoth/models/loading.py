"""From a name to a reader's network."""

from typing import TYPE_CHECKING

from quoth.models.places import folder, is_bundle, refuse_pickles

if TYPE_CHECKING:
    from quoth.protocols import SpanModel


def load_reader(name: str, *, engine: str = "auto", threads: int = 0) -> "SpanModel":
    """Return the reader of this *name*, its files checked, ready to run.

    *name* is a shipped reader (``small``, ``large``), a local folder (a bundle of ours, or a Hugging Face
    checkpoint), or the name of a checkpoint in the Hugging Face cache; checkpoints need the extra ``torch``.
    *engine* is ``onnxruntime``, ``openvino``, or ``auto``: what ``quoth models tune`` chose for this CPU.
    *threads* 0 means all processors that this process may use. No network is touched.

    Raises ``ModelError`` for files that are missing, damaged, pickled, too new or of another
    architecture; ``MissingExtraError`` where an extra is needed; ``InputError`` for an unknown engine.
    """
    path = folder(name)
    if is_bundle(path):
        from quoth.models.bundle import open_bundle

        return open_bundle(path, engine=engine, threads=threads)
    refuse_pickles(path)
    from quoth.models.checkpoint import open_checkpoint

    return open_checkpoint(path, name=name, threads=threads)
