"""The sizes of builds and of build trees."""
