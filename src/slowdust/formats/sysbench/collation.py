"""The order in which the classic files list names."""


def collation(name: str) -> str:
    """A key for the order of en_US: letters and digits alone, whatever their case."""
    return "".join(letter for letter in name.lower() if letter.isalnum())
