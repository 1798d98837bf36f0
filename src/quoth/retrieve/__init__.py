"""Finding passages: the embedded store, servers, vectors, and their fusion."""
