"""`memfit run`: an unmodified script, guarded from within and supervised from without."""
