"""One adapter a peer.

An adapter has NAME, version(), and one function for each thing the peer is measured at, by the name
that a suite asks for (`read_svmlight`, `read_csv` …). Such a function runs the peer once in a process
of its own (measure.command or measure.inside) and returns

    {"seconds": the time that counts, "wall": of the whole process, "peak_bytes": ..., and any facts}

Adapters of libraries that fit have `ladders` and `time_fit` instead: see fitting.py.
"""
