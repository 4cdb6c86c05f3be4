"""A webhook: an address to which the events of a watch are posted."""

from __future__ import annotations

from dataclasses import dataclass

from slowdust.addresses import Address, AddressError, is_loopback, parse_address
from slowdust.secret import Secret
from slowdust.units import Second

_POST_TIME: Second = 20.0


class PostError(Exception):
    """An address that cannot be reached, or refuses; the message has nothing of the address."""


@dataclass(frozen=True)
class Webhook:
    """An address for posting. All of it is a secret: its path may be one as well as its user."""

    url: Secret
    """The address without user and password."""
    credentials: Secret | None
    """`user:password`, which are sent by basic authentication."""
    is_readable_by_others: bool
    """Whether it is plain http to another machine."""

    def post(self, content: bytes) -> None:
        """Post JSON.

        Raises:
            PostError: the address cannot be reached, or refuses.
        """
        import urllib3

        timeout = urllib3.Timeout(total=_POST_TIME)
        headers = {"Content-Type": "application/json", "User-Agent": "slowdust"}
        if self.credentials is not None:
            own = self.credentials.reveal().encode().decode("latin-1")  # the header is UTF-8
            headers |= urllib3.make_headers(basic_auth=own)
        try:
            with urllib3.PoolManager(timeout=timeout, retries=False) as pool:
                # The answer's status is all that counts: its body may never end.
                answer = pool.request(
                    "POST", self.url.reveal(), body=content, headers=headers, preload_content=False
                )
                answer.close()
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise PostError(type(error).__name__) from None
        if not 200 <= answer.status < 300:
            raise PostError(f"the answer was {answer.status}")


def parse_webhook(written: str) -> Webhook:
    """Read the address of a webhook.

    Raises:
        AddressError: it is none. The message has nothing of it.
    """
    address = parse_address(written)
    if address.scheme not in ("http", "https"):
        raise AddressError("it begins with neither https:// nor http://")
    host, _ = address.host_and_port()
    if not host:
        raise AddressError("it has no host")
    return Webhook(
        url=Secret(f"{address.scheme}://{address.place}{address.rest}"),
        credentials=_credentials(address),
        is_readable_by_others=address.scheme == "http" and not is_loopback(host),
    )


def _credentials(address: Address) -> Secret | None:
    if address.user is None:
        return None
    if ":" in address.user:
        raise AddressError("a user cannot have ':' (RFC 7617)")
    password = "" if address.password is None else address.password.reveal()
    return Secret(f"{address.user}:{password}")
