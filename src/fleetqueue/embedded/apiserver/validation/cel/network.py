"""IP addresses and networks in expressions."""

import ipaddress
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address

from fleetqueue.embedded.apiserver.kinds.go_text import quoted
from fleetqueue.embedded.apiserver.validation.cel import addresses
from fleetqueue.embedded.apiserver.validation.cel.errors import CelError, no_such_overload
from fleetqueue.embedded.apiserver.validation.cel.functions import Library
from fleetqueue.embedded.apiserver.validation.cel.types import BOOL, INT, STRING, opaque

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


class BadAddress(CelError):
    """A text that is no address, or none that means only one thing."""


def parsed_address(text: str) -> Address:
    """Read an address; raises BadAddress."""
    problem = addresses.problem_of(text)
    if problem:
        raise BadAddress(f"IP Address {quoted(text)} parse error during conversion from string: {problem}")
    if "%" in text:
        raise BadAddress(f"IP address {quoted(text)} with zone value is not allowed")
    address = ipaddress.ip_address(text)
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        raise BadAddress(f"IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return address


def parsed_network(text: str) -> Cidr:
    """Read a network; raises BadAddress."""
    host, slash, length = text.rpartition("/")
    problem = _problem_of_network(host, length) if slash else "no '/'"
    if problem:
        prefix = "network address parse error during conversion from string"  # which the real server says twice
        raise BadAddress(f"{prefix}: {prefix}: netip.ParsePrefix({quoted(text)}): {problem}")
    address = ipaddress.ip_address(host)
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        prefix = "network address parse error during conversion from string"
        raise BadAddress(f"{prefix}: IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return Cidr(address, int(length))


def _problem_of_network(host: str, length: str) -> str:
    if problem := addresses.problem_of(host):
        return problem
    if "%" in host:
        return "IPv6 zones cannot be present in a prefix"
    if not (length.isascii() and length.isdigit()) or (len(length) > 1 and length.startswith("0")):
        return f"bad bits after slash: {quoted(length)}"
    return "prefix length out of range" if int(length) > (128 if ":" in host else 32) else ""


@library.function("ip", STRING, result=IP)
def ip(text: str) -> Ip:
    return Ip(parsed_address(text))


@library.function("isIP", STRING, result=BOOL)
def is_ip(text: str) -> bool:
    return _can(parsed_address, text)


@library.function("cidr", STRING, result=CIDR)
def cidr(text: str) -> Cidr:
    return parsed_network(text)


@library.function("isCIDR", STRING, result=BOOL)
def is_cidr(text: str) -> bool:
    return _can(parsed_network, text)


def _can(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except BadAddress:
        return False
    return True


def _contains_address(network: Cidr, text: str) -> bool:
    try:
        return parsed_address(text) in network.network
    except BadAddress:
        raise no_such_overload() from None  # the real server forgets what was wrong with it


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
library.method("containsIP", CIDR, STRING, result=BOOL)(_contains_address)
library.method("containsIP", CIDR, IP, result=BOOL)(lambda network, value: value.address in network.network)
library.method("ip", CIDR, result=IP)(lambda value: Ip(value.address))
library.method("prefixLength", CIDR, result=INT)(lambda value: value.length)
library.method("masked", CIDR, result=CIDR)(lambda value: Cidr(value.network.network_address, value.length))


@library.method("containsCIDR", CIDR, CIDR, result=BOOL)
def contains(outer: Cidr, inner: Cidr) -> bool:
    return inner.address in outer.network and outer.length <= inner.length


library.method("containsCIDR", CIDR, STRING, result=BOOL)(lambda outer, text: contains(outer, parsed_network(text)))
