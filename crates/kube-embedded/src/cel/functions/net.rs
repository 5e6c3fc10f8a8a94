//! IP addresses and networks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::super::eval::{Budget, EvalError};
use super::super::value::Value;
use super::{Entry, Evaluated, no_overload, tenth};

pub(super) const TABLE: &[Entry] = &[
    ("ip", "(string) net.IP; net.CIDR.() net.IP", ip),
    ("isIP", "(string) bool", |b, args| {
        text(b, args).map(|text| Value::Bool(parse_ip(text).is_ok()))
    }),
    ("ip.isCanonical", "(string) bool", |b, args| {
        let text = text(b, args)?;
        Ok(Value::Bool(parse_ip(text)?.to_string() == text))
    }),
    ("family", "net.IP.() int", |_, args| {
        property(args, |ip| Value::Int(if ip.is_ipv4() { 4 } else { 6 }))
    }),
    ("isUnspecified", "net.IP.() bool", |_, args| {
        property(args, |ip| Value::Bool(ip.is_unspecified()))
    }),
    ("isLoopback", "net.IP.() bool", |_, args| {
        property(args, |ip| Value::Bool(ip.is_loopback()))
    }),
    ("isLinkLocalMulticast", "net.IP.() bool", |_, args| {
        property(args, |ip| Value::Bool(is_link_local_multicast(ip)))
    }),
    ("isLinkLocalUnicast", "net.IP.() bool", |_, args| {
        property(args, |ip| Value::Bool(is_link_local(ip)))
    }),
    ("isGlobalUnicast", "net.IP.() bool", |_, args| {
        property(args, |ip| Value::Bool(is_global_unicast(ip)))
    }),
    ("cidr", "(string) net.CIDR", |b, args| {
        let (address, bits) = parse_cidr(text(b, args)?).map_err(outer)?;
        Ok(Value::Cidr(address, bits))
    }),
    ("isCIDR", "(string) bool", |b, args| {
        text(b, args).map(|text| Value::Bool(parse_cidr(text).is_ok()))
    }),
    (
        "containsIP",
        "net.CIDR.(string) bool; net.CIDR.(net.IP) bool",
        contains_ip,
    ),
    (
        "containsCIDR",
        "net.CIDR.(string) bool; net.CIDR.(net.CIDR) bool",
        contains_cidr,
    ),
    ("prefixLength", "net.CIDR.() int", |_, args| match args {
        [Value::Cidr(_, bits)] => Ok(Value::Int((*bits).into())),
        _ => Err(no_overload()),
    }),
    ("masked", "net.CIDR.() net.CIDR", |_, args| match args {
        [Value::Cidr(address, bits)] => Ok(Value::Cidr(masked(*address, *bits), *bits)),
        _ => Err(no_overload()),
    }),
];

fn text<'a>(budget: &mut Budget, args: &'a [Value]) -> Result<&'a str, EvalError> {
    match args {
        [Value::String(text)] => {
            budget.charge(tenth(text.len()))?;
            Ok(text)
        }
        _ => Err(no_overload()),
    }
}

fn ip(budget: &mut Budget, args: &[Value]) -> Evaluated {
    match args {
        [Value::Cidr(address, _)] => Ok(Value::Ip(*address)),
        _ => parse_ip(text(budget, args)?).map(Value::Ip),
    }
}

fn property(args: &[Value], property: fn(&IpAddr) -> Value) -> Evaluated {
    match args {
        [Value::Ip(address)] => Ok(property(address)),
        _ => Err(no_overload()),
    }
}

fn parse_ip(text: &str) -> Result<IpAddr, EvalError> {
    let plain = text.split('%').next().unwrap_or_default();
    let address: IpAddr = plain.parse().map_err(|_| {
        let why = reason(plain);
        EvalError::message(format!(
            "IP Address {text:?} parse error during conversion from string: ParseAddr({text:?}): {why}"
        ))
    })?;
    if plain.len() != text.len() {
        let message = format!("IP address {text:?} with zone value is not allowed");
        return Err(EvalError::message(message));
    }
    unmapped(address, text)
}

/// Returns the error of an invalid address, with roughly Go's wording.
fn reason(text: &str) -> &'static str {
    let is_v4 = text.contains('.') && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    match text.matches('.').count() {
        dots if is_v4 && dots < 3 => "IPv4 address too short",
        dots if is_v4 && dots > 3 => "IPv4 address too long",
        _ => "unable to parse IP",
    }
}

fn unmapped(address: IpAddr, text: &str) -> Result<IpAddr, EvalError> {
    match address {
        IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => Err(EvalError::message(format!(
            "IPv4-mapped IPv6 address {text:?} is not allowed"
        ))),
        other => Ok(other),
    }
}

const CIDR_ERROR: &str = "network address parse error during conversion from string: ";

fn outer(error: EvalError) -> EvalError {
    match error {
        EvalError::Message(why) => EvalError::message(format!("{CIDR_ERROR}{why}")),
        other => other,
    }
}

fn parse_cidr(text: &str) -> Result<(IpAddr, u8), EvalError> {
    let refuse = |why: &str| EvalError::message(format!("{CIDR_ERROR}netip.ParsePrefix({text:?}): {why}"));
    let (address, bits) = text.rsplit_once('/').ok_or_else(|| refuse("no '/'"))?;
    let address: IpAddr = address
        .parse()
        .map_err(|_| refuse(&format!("ParseAddr({address:?}): unable to parse IP")))?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let is_plain = !bits.is_empty()
        && bits.bytes().all(|b| b.is_ascii_digit())
        && (bits == "0" || !bits.starts_with('0'));
    let bits: u8 = bits
        .parse()
        .ok()
        .filter(|_| is_plain)
        .ok_or_else(|| refuse(&format!("bad bits after slash: {bits:?}")))?;
    if bits > most {
        return Err(refuse("prefix length out of range"));
    }
    Ok((unmapped(address, text)?, bits))
}

fn masked(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            Ipv4Addr::from_bits(v4.to_bits() & mask).into()
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            Ipv6Addr::from_bits(v6.to_bits() & mask).into()
        }
    }
}

fn is_within(network: IpAddr, bits: u8, address: IpAddr) -> bool {
    network.is_ipv4() == address.is_ipv4() && masked(network, bits) == masked(address, bits)
}

fn contains_ip(budget: &mut Budget, args: &[Value]) -> Evaluated {
    let [Value::Cidr(network, bits), other] = args else {
        return Err(no_overload());
    };
    let address = match other {
        Value::Ip(address) => *address,
        other => parse_ip(text(budget, std::slice::from_ref(other))?)?,
    };
    Ok(Value::Bool(is_within(*network, *bits, address)))
}

fn contains_cidr(budget: &mut Budget, args: &[Value]) -> Evaluated {
    let [Value::Cidr(network, bits), other] = args else {
        return Err(no_overload());
    };
    let (inner, inner_bits) = match other {
        Value::Cidr(inner, inner_bits) => (*inner, *inner_bits),
        other => parse_cidr(text(budget, std::slice::from_ref(other))?).map_err(outer)?,
    };
    Ok(Value::Bool(
        *bits <= inner_bits && is_within(*network, *bits, inner),
    ))
}

fn is_link_local(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

fn is_link_local_multicast(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => v4.octets()[..3] == [224, 0, 0],
        IpAddr::V6(v6) => v6.segments()[0] & 0xff0f == 0xff02,
    }
}

fn is_global_unicast(ip: &IpAddr) -> bool {
    let is_broadcast = matches!(ip, IpAddr::V4(v4) if v4.is_broadcast());
    !(is_broadcast || ip.is_unspecified() || ip.is_loopback() || ip.is_multicast() || is_link_local(ip))
}
