"""Masks as arrays and tensors: a module for each library."""
