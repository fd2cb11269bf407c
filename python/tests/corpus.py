"""Every kernel of testdata/kernels with its launches and what must come of them."""

import corpus_cooperative
import corpus_elementwise
import corpus_others
import corpus_views
from corpus_case import CorpusKernel

KERNELS = [
    found
    for module in (corpus_elementwise, corpus_cooperative, corpus_others, corpus_views)
    for found in vars(module).values()
    if isinstance(found, CorpusKernel)
]
