"""Packages that Tokenmold can stand in for, with their own names."""
