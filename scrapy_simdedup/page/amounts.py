"""Short texts: amounts and counters, such as a price and "12 people are looking at this", ages, and names."""

from __future__ import annotations

import re
from itertools import takewhile

MAX_LENGTH = 100
_MAX_READ = 1_000
"""Characters in which as a rule so many are no white space."""
MAX_LETTERED_WORDS = 30
"""Words with a letter that are counted in a short text."""
MIN_WORDS_OF_SENTENCE = 5
"""Words with a letter from which a short text with a number is a sentence."""
TIME_OF_DAY = re.compile(r"\d:\d\d")
UNSPACED_TEXT = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{6}")
"""A text in a script that writes no or few spaces."""
_DIGIT, _LETTER = re.compile(r"\d"), re.compile(r"[^\W\d_]")
MAX_LENGTH_OF_FIGURE = 20
_FIGURE = re.compile(r"\W*\d+(?:\s?[.,:/\u2013\u2212-]\s?\d+)+\W*").fullmatch
_NUMBERED_NAME = re.compile(r"\b[^\W\d]\w*\d")
"""A word that begins with a letter and has a digit, such as the name of a file."""
_LABELLED = re.compile(r"[^\W\d_][^:：\d]{0,29}(?::\s|：)\s*\w")
"""A label, a colon and a value."""
_COUNT = re.compile(r"(?:[^:：\d]{1,31}[:：])?\s*\d{1,3}(?:[.,\s]?\d{3})*")
"""A whole number, with a label or without."""
_CURRENCY = re.compile(
    r"[$%\u00a3\u00a5\u20a0-\u20cf\uffe1\uffe5\u5186\u5143\uc6d0]"
    r"|(?=[A-Zzkl\u0440])(?<![^\W\d_])(?:[A-Z]{2}[DRFNKLY]|GBP|z\u0142|K\u010d|kr|Ft|lei|\u0440\u0443\u0431|\u0440)(?![^\W\d_])"
    r"|\d\s?(?:[Ee]uros?|[Dd]ollars?|[Pp]ounds?|Franken|francs|kron(?:or|er)|korun|złotych|dólares|pesos"
    r"|reais|rupees|рубл(?:ь|я|ей))(?![^\W\d_])"
)
"""Signs and codes of currencies, the percent sign, and names of currencies behind a digit, with it. Each alternative
begins with a class of characters, so that it is not tried at others."""
_UNITS = frozenset(
    """
    s sec secs second seconds m min mins minute minutes h hr hrs hour hours d day days w wk week weeks
    mo mos month months y yr yrs year years
    sekunde sekunden minuten std stunde stunden tag tage tagen woche wochen monat monate monaten jahr jahre jahren
    seconde secondes heure heures jour jours semaine semaines mois an ans année années
    segundo segundos minuto minutos hora horas día días dia dias semana semanas mes meses mês año años ano anos
    secondo secondi minuti ora ore giorno giorni settimana settimane mese mesi anno anni
    seconden minuut uur dag dagen weken maand maanden jaar
    sekund sekundy minut minuty godzina godziny godzin dzień dni tydzień tygodnie tygodni miesiąc miesiące miesięcy lat
    sekunder minuter timmar timme timer dagar dage vecka veckor uger måneder månader år
    секунда секунды секунд секунду минута минуты минут минуту час часа часов день дня дней неделя недели недель неделю
    месяц месяца месяцев год года лет
""".split()
    + "秒钟 秒 分钟 分 小时 時間 時 天 日 周 週間 週 个月 か月 ヶ月 月 年 초 분 시간 일 주 개월 년".split()
)
"""Units of time in the languages of :data:`AGE_MARKS`, in lower case."""
_NUMBER = r"(?:(?<![\d.,])\d[\d.,]{0,5}|\b(?:a few|an?)\b)"
_SPAN = re.compile(rf"{_NUMBER}\s?([^\W\d_]+)", re.IGNORECASE)
_SPANS = rf"{_SPAN.pattern}(?:,?\s(?:(?:and|und|et|y|e|en|og|och|и)\s)?{_SPAN.pattern}){{0,2}}"
_DAYS = (
    *("just now", "today", "yesterday", "gerade eben", "soeben", "heute", "gestern", "vorgestern", "à l'instant"),
    *("aujourd'hui", "aujourd’hui", "hier", "ahora mismo", "hoy", "ayer", "adesso", "oggi", "ieri", "agora mesmo"),
    *("hoje", "ontem", "zojuist", "vandaag", "gisteren", "dzisiaj", "dziś", "wczoraj", "just nu", "i dag", "i går"),
    *("только что", "сегодня", "вчера"),
)
"""What sites say instead of an age of less than two days, in lower case."""
_AGE = re.compile(
    rf"(?P<before>{_SPANS})\s?(?:(?:ago|fa|atrás|geleden|temu|sedan|siden|назад)(?![^\W\d_])|[前전])"
    rf"|(?<![^\W\d_])(?:vor|il y a|hace|há)\s(?:\w+\s)?(?P<after>{_SPANS})"
    rf"|(?<![^\W\d_])(?:{'|'.join(_DAYS)})$",
    re.IGNORECASE,
)
"""What may say how long ago something was: numbers with words, which :func:`_without_units` looks up, or a day."""
AGE_MARKS = (
    *("ago", "vor ", "Vor ", "l y a ", "ace ", "há ", "Há ", " fa", "atrás", "geleden", "temu", "sedan", "siden"),
    *("назад", "前", "전"),
)
"""One of these stands in each age with a number: to look for them takes a tenth of the time."""
AGE_ENDS = frozenset(day[-3:] for day in _DAYS)
"""The last three characters of what is an age without a number, at the end of its text."""


def without_age(text: str) -> str:
    """A short text without the time that has passed since something, such as "3 days ago": that text changes by itself.

    >>> without_age("Version 2 (modified by ada, 3 days ago)")
    'Version 2 (modified by ada, )'
    >>> without_age("vor 2 Stunden"), without_age("for 3 days"), without_age("3 pears 2 days ago")
    ('', 'for 3 days', '3 pears ')
    >>> without_age("vor 2 Tagen (3. Mai)"), without_age("il y a 2 jours 3 mai"), without_age("3 May, 2 days ago")
    (' (3. Mai)', ' 3 mai', '3 May, ')
    >>> without_age("Posted 9 days ago"), without_age("Posted today"), without_age("today we write")
    ('Posted ', 'Posted ', 'today we write')
    """
    return _AGE.sub(_without_units, text)


def _without_units(found: re.Match[str]) -> str:
    """The rest of what looks like an age: what stands beyond its numbers with units of time, as a date may."""
    spans = found["before"] or found["after"] or ""
    times = list(_SPAN.finditer(spans))
    if found["before"]:
        times.reverse()
    units = list(takewhile(lambda time: time[1].lower().rstrip("前전") in _UNITS, times))
    if times and not units:
        return found[0]
    return spans[: units[-1].start()] if found["before"] else spans[units[-1].end() :] if units else ""


def beginning(text: str) -> str:
    r"""The first :data:`MAX_LENGTH` characters of a text as it is shown, and one more: white space is single blanks.

    How far a line is indented, and where it is broken, is for the template.

    >>> beginning("Posted \n      3 days ago")
    'Posted 3 days ago'
    """
    made = " ".join(text[:_MAX_READ].split())[: MAX_LENGTH + 1]
    return made if len(made) > MAX_LENGTH or len(text) <= _MAX_READ else " ".join(text.split())[: MAX_LENGTH + 1]


def is_short(text: str) -> bool:
    """Whether a text with a number is known by its other words, wherever it stands."""
    return len(text) <= MAX_LENGTH


def has_number(text: str) -> bool:
    """Whether a text has a digit."""
    return _DIGIT.search(text) is not None


def has_plain_number(text: str) -> bool:
    """Whether a text has a number, and none that is part of a name.

    >>> has_plain_number("Page 2"), has_plain_number("5th of May"), has_plain_number("IMG_0012, page 2")
    (True, True, False)
    """
    return has_number(text) and _NUMBERED_NAME.search(text) is None


def is_price(text: str) -> bool:
    """Whether a short text has a number and a currency.

    >>> is_price("29 EUR"), is_price("The rent is 540 euros."), is_price("Euro 2024"), is_price("29 lamps")
    (True, True, False, False)
    """
    return is_short(text) and has_number(text) and _CURRENCY.search(text) is not None


def is_sum(text: str) -> bool:
    """Whether a short text has a price; a share in percent may be one of a poll, or of a battery."""
    return is_price(text.replace("%", ""))


def is_amount(text: str) -> bool:
    """Whether a short text is a number alone, or with a currency."""
    return is_short(text) and has_number(text) and (not _LETTER.search(text) or is_price(text))


def is_figure(text: str) -> bool:
    """Whether a text is a price, or one number of several parts, such as a score: pages and days have one part.

    >>> [text for text in ("2:1", "(3 - 2)", "12.90", "9 EUR", "7", "1-20 21-40", "2:1 won") if is_figure(text)]
    ['2:1', '(3 - 2)', '12.90', '9 EUR']
    """
    return len(text) <= MAX_LENGTH_OF_FIGURE and (_FIGURE(text) is not None or is_price(text))


def is_counter(text: str) -> bool:
    """Whether a short text is a number among words."""
    return is_short(text) and has_number(text) and not is_amount(text)


def is_name(text: str) -> bool:
    """Whether a short text has letters beside its numbers and currency: it may name what the page is about."""
    return is_short(text) and _LETTER.search(_CURRENCY.sub("", text)) is not None


def is_sentence(text: str) -> bool:
    """Whether a short text with a number says more than a date or a counter: five words, but no time of day.

    Counters begin with their number as a rule, and their words may be others for 1 and for 2.

    >>> is_sentence("Great, I made it 2 times"), is_sentence("这个蛋糕我做了2次")
    (True, True)
    >>> is_sentence("3 people are looking at this"), is_sentence("Ann wrote on Thursday at 5:20 pm")
    (False, False)
    """
    if text[:1].isdigit() or TIME_OF_DAY.search(text):
        return False
    return lettered_words(text) >= MIN_WORDS_OF_SENTENCE or UNSPACED_TEXT.search(text) is not None


def is_fact(text: str, *, in_sheet: bool) -> bool:
    """Whether a line of a data sheet, or else one with a label, says more than how many there are of something.

    >>> is_fact("Place: Bremen", in_sheet=False), is_fact("by Ada, 10:30", in_sheet=False)
    (True, False)
    >>> is_fact("Bremen", in_sheet=True), is_fact("1,312", in_sheet=True), is_fact("Views: 312", in_sheet=False)
    (True, False, False)
    """
    return (in_sheet or _LABELLED.match(text) is not None) and _COUNT.fullmatch(text) is None


def lettered_words(text: str) -> int:
    """The words of a short text that have a letter, :data:`MAX_LETTERED_WORDS` at most: a row of counters has none.

    >>> lettered_words("17 return high - low"), lettered_words("11,046 | 461")
    (3, 0)
    """
    return min(MAX_LETTERED_WORDS, sum(_LETTER.search(word) is not None for word in text.split()))
