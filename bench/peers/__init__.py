"""One adapter for each peer.

An adapter has NAME, version(), and one function for each measured operation, with the name that the suites
use (`read_svmlight`, `read_csv` …). Such a function runs the peer once in a separate process
(measure.command or measure.inside) and returns

    {"seconds": the measured time, "wall": of the whole process, "peak_bytes": ..., and other properties}

Adapters of libraries that fit have `ladders` and `time_fit` instead: see fitting.py.
"""
