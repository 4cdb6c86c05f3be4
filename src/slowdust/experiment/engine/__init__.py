"""The one loop over starts of servers, and what it needs to get to a test."""
