"""How dates, times and ids are written, as regular expressions; all are bounded."""

MONTH = (
    "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?"
    "|Dec(?:ember)?)"
)
WEEKDAY = "(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs?)?|Fri|Sat(?:ur)?|Sun)(?:day)?"
TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:\s?[AaPp]\.?[Mm]\b)?"
ZONE = r"(?:\s?(?:Z\b|UTC\b|GMT\b|[+-]\d{2}:?\d{2}\b))?"
DAY = r"\d{1,2}(?:st|nd|rd|th)?"

CLOCKS = (
    rf"\b\d{{4}}-\d{{1,2}}-\d{{1,2}}(?:(?:T|,?\s){TIME})?{ZONE}",
    rf"(?:\b{WEEKDAY},?\s)?\b{MONTH}\.?\s{{1,2}}{DAY},?(?:\s{TIME})?{ZONE}(?:,?\s\d{{4}})?(?:,?\s(?:at\s)?{TIME})?{ZONE}",
    rf"(?:\b{WEEKDAY},?\s)?\b{DAY}\.?[\s-](?:of\s)?{MONTH}\.?(?:,?[\s-]\d{{4}})?(?:,?\s(?:at\s)?{TIME})?{ZONE}",
    rf"\b{MONTH}\s\d{{4}}\b",
    r"\b\d{1,2}/\d{1,2}/\d{2,4}\b(?:,?\s\d{1,2}:\d{2}(?::\d{2})?)?",
    r"\b\d{4}/\d{1,2}/\d{1,2}\b(?:,?\s\d{1,2}:\d{2}(?::\d{2})?)?",
    r"\b\d{1,2}\.\d{1,2}\.(?:19|20)\d{2}\b(?:,?\s\d{1,2}:\d{2}(?::\d{2})?)?",
    r"\b(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[T_-]?\d{4,6}Z?)?\b",
    rf"\b{TIME}{ZONE}",
    r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b",
    r"\b1\d{9}(?:\.\d{1,9}|\d{3}|\d{6}|\d{9})?\b",
)
UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
