"""The models that truth and estimate are compared on: each file registers the cases of one author."""
