"""Finding the pieces of documents that answer a question: load, chunk, embed, index, search, fuse."""
