"""What conditions mean, told the plain way: the twin of `where`."""


def matches(document, where):
    """Whether a document meets conditions, told the plain way."""
    return all(
        matches_one(document, name, sign, value)
        for name, wanted in where.items()
        for sign, value in (wanted if isinstance(wanted, dict) else {None: wanted}).items()
    )


def matches_one(document, name, sign, wanted):
    own = {"key": document.key, "label": document.label}
    fields = own if name in own else document.metadata
    value = fields.get(name.removeprefix("metadata."))
    there = name.removeprefix("metadata.") in fields
    wanted = str(wanted) if name in own and isinstance(wanted, int) and sign is None else wanted
    if sign == "exists":
        return (value is not None) == wanted
    if sign in ("<", "<=", ">", ">="):
        numbers = [isinstance(one, int | float) and one is not True for one in (value, wanted)]
        strings = [isinstance(one, str) for one in (value, wanted)]
        compared = {"<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}[sign]
        return (all(numbers) and getattr(float(value), compared)(float(wanted))) or (
            all(strings) and getattr(value, compared)(wanted)
        )
    choices = wanted if isinstance(wanted, list | tuple) else [wanted]
    among = there and any(one in choices for one in (value if isinstance(value, list) else [value]))
    return among != (sign in ("!=", "not in"))
