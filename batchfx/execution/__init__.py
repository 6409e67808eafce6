"""Where rows, files and the store meet."""
