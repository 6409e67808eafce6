"""Signs, codes and short names of currencies, as they stand beside amounts."""

# ruff: noqa: RUF001 - names in other scripts are meant

from __future__ import annotations

import re

# Those of ISO 4217 that are money in circulation.
_IN_CIRCULATION = """
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN
    BWP BYN BZD CAD CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR
    FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HRK HTG HUF IDR ILS INR IQD IRR ISK
    JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA
    MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK
    PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN
    SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED VES VND VUV
    WST XAF XCD XOF XPF YER ZAR ZMW ZWG RMB
    """
CODES = frozenset(_IN_CIRCULATION.split())

# What people write in place of a sign; longer ones first.
_NAMES = (
    "R$ US$ USD$ A$ C$ S$ CA$ AU$ NZ$ HK$ NT$ MX$ Kč zł kr. kr Ft SFr. SFr Fr. Fr руб. "
    "руб р. ₽ грн. грн лв. лв lei leu TL Rs. Rs RM Rp дин. din. kn euro euros 元 円 원"
)

_ALTERNATIVES = "|".join(
    [
        *map(re.escape, sorted(_NAMES.split(), key=len, reverse=True)),
        *sorted(CODES),
        r"[$\u00a2-\u00a5\u058f\u060b\u09f2\u09f3\u0e3f\u17db\u20a0-\u20c0\uffe5]",
    ]
)

# One sign, code or name; case doesn't count.
CURRENCY = rf"(?i:{_ALTERNATIVES})"
