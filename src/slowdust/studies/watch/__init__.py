"""The watch of a branch or of releases: one night after the other, and what is raised."""
