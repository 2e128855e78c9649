"""Training that does not die of memory: `memfit.fit`, `memfit.guard`, `memfit.microbatch`."""
