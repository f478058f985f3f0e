"""IP addresses and networks in expressions."""

import ipaddress
from ipaddress import IPv4Address, IPv6Address

from fleetqueue.apiserver.validation.cel.errors import CelError
from fleetqueue.apiserver.validation.cel.functions import Library
from fleetqueue.apiserver.validation.cel.types import BOOL, INT, STRING, opaque

library = Library()
IP = opaque("net.IP")
CIDR = opaque("net.CIDR")
Address = IPv4Address | IPv6Address


class Ip:
    type_name = "net.IP"

    def __init__(self, address: Address) -> None:
        self.address = address

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ip) and self.address == other.address

    def __hash__(self) -> int:
        return hash(self.address)


class Cidr:
    type_name = "net.CIDR"

    def __init__(self, address: Address, length: int) -> None:
        self.address = address
        self.length = length

    @property
    def network(self) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
        return ipaddress.ip_network(f"{self.address}/{self.length}", strict=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cidr) and (self.address, self.length) == (other.address, other.length)

    def __hash__(self) -> int:
        return hash((self.address, self.length))


def parsed_address(text: str) -> Address:
    """Read an address; raises ValueError on anything else, and on zones and IPv4 in IPv6, which may mean two things."""
    address = ipaddress.ip_address(text)
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            raise ValueError(f'IP address "{text}" with zone value is not allowed')
        if address.ipv4_mapped is not None:
            raise ValueError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return address


def parsed_network(text: str) -> Cidr:
    address, slash, length = text.partition("/")
    if not slash or not length.isascii() or not length.isdigit() or (length != "0" and length.startswith("0")):
        raise ValueError(f"netip.ParsePrefix(\"{text}\"): no '/'")
    found = parsed_address(address)
    if int(length) > found.max_prefixlen:
        raise ValueError(f'netip.ParsePrefix("{text}"): prefix length out of range')
    return Cidr(found, int(length))


@library.function("ip", STRING, result=IP)
def ip(text: str) -> Ip:
    try:
        return Ip(parsed_address(text))
    except ValueError as error:
        if "not allowed" in str(error):
            raise CelError(str(error)) from None
        detail = f'ParseAddr("{text}"): unable to parse IP'
        raise CelError(f'IP Address "{text}" parse error during conversion from string: {detail}') from None


@library.function("isIP", STRING, result=BOOL)
def is_ip(text: str) -> bool:
    try:
        parsed_address(text)
    except ValueError:
        return False
    return True


@library.function("cidr", STRING, result=CIDR)
def cidr(text: str) -> Cidr:
    try:
        return parsed_network(text)
    except ValueError as error:
        if "not allowed" in str(error):
            raise CelError(str(error)) from None
        said = "network address parse error during conversion from string"
        raise CelError(f"{said}: {said}: {error}") from None  # said twice by the real server, too


@library.function("isCIDR", STRING, result=BOOL)
def is_cidr(text: str) -> bool:
    try:
        parsed_network(text)
    except ValueError:
        return False
    return True


@library.function("ip.isCanonical", STRING, result=BOOL)
def is_canonical(text: str) -> bool:
    return str(ip(text).address) == text


def _is_link_local_multicast(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return address in ipaddress.ip_network("224.0.0.0/24")
    return address.is_multicast and address.packed[1] & 0x0F == 2


def _is_global_unicast(address: Address) -> bool:
    if address.is_multicast or address.is_loopback or address.is_unspecified or address.is_link_local:
        return False
    return address != ipaddress.ip_address("255.255.255.255")


library.function("string", IP, result=STRING)(lambda value: str(value.address))
library.function("string", CIDR, result=STRING)(lambda value: f"{value.address}/{value.length}")
library.method("family", IP, result=INT)(lambda value: value.address.version)
library.method("isUnspecified", IP, result=BOOL)(lambda value: value.address.is_unspecified)
library.method("isLoopback", IP, result=BOOL)(lambda value: value.address.is_loopback)
library.method("isLinkLocalMulticast", IP, result=BOOL)(lambda value: _is_link_local_multicast(value.address))
library.method("isLinkLocalUnicast", IP, result=BOOL)(lambda value: value.address.is_link_local)
library.method("isGlobalUnicast", IP, result=BOOL)(lambda value: _is_global_unicast(value.address))
library.method("containsIP", CIDR, STRING, result=BOOL)(lambda network, text: ip(text).address in network.network)
library.method("containsIP", CIDR, IP, result=BOOL)(lambda network, value: value.address in network.network)
library.method("ip", CIDR, result=IP)(lambda value: Ip(value.address))
library.method("prefixLength", CIDR, result=INT)(lambda value: value.length)
library.method("masked", CIDR, result=CIDR)(lambda value: Cidr(value.network.network_address, value.length))


@library.method("containsCIDR", CIDR, CIDR, result=BOOL)
def contains(outer: Cidr, inner: Cidr) -> bool:
    return inner.address in outer.network and outer.length <= inner.length


library.method("containsCIDR", CIDR, STRING, result=BOOL)(lambda outer, text: contains(outer, cidr(text)))
