"""How values look: to a terminal, and to a browser or notebook. Nothing here computes anything."""
