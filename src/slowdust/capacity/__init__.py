"""The search for the highest rate at which a test meets an SLA."""
