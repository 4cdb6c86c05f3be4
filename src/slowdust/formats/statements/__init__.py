"""Statements that servers have seen, from their logs and from exports of their statistics."""
