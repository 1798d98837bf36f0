"""Answers questions from your own documents by quoting them, or says that there is no answer."""
