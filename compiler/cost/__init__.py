"""How long a scheduled kernel takes: a prediction from its Tile IR and the machine's rates.

    prediction = predict(run_passes(program, gpu_passes(target)), target, {"M": 16})
    print(prediction)                      each term, and the one that limits

No machine is asked. It ranks the configurations of a tuner and says what bounds a kernel; it is not
meant to be right to a few percent. `work` counts what one block does, statement by statement
(`dslc.compiler.analysis.statement_work`), `registers` what its threads hold, `traffic` what reaches
device memory, and `model` puts blocks on multiprocessors. `outline` compares choices before any pass.
"""

from __future__ import annotations

from dslc.compiler.cost.model import predict
from dslc.compiler.cost.prediction import Prediction

__all__ = ["Prediction", "predict"]
