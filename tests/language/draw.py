"""Chance, and the values that the generated templates are made of."""

import random

TEXTS = [
    '', 'a', 'b', 'ab', 'abc', 'a,b,c', 'foo bar', ' pad ', 'A', '1', '01', '1.0', '-3', '0x10',
    'true', 'None', 'null', 'é', 'é', '日本', '😀', 'ß', 'İ', 'ǆ', '\u2028', '\xa0', '\xad',
    '\u200b', '\u0378', '\ue000', "a'b", 'a"b', '\'"', 'a\\b', 'x\ty', 'line\nbreak\n', '{z}', '%x%',
    '$x', '<x>', 'x.y', '[1, 2]', '{"a": 1}', '2020-01-02', '10.0.0.1', '::1', 'aXbXc', 'xx', 'xxx',
]
WHOLE = [0, 1, 2, 3, -1, -7, 10, 200, 255, 2**31, 2**53 + 1, 2**63, 2**64, -2**63, 10**20]
FLOATS = [0.0, -0.0, 1.0, 0.1, 1.5, -2.5, 3.14, 1e15, 1e16, 1e22, 1e-4, 1e-5, 1.5e300,
          123456789.125, 2.0**53, 5e-324, 0.30000000000000004, 100.0]
KEYS = ['a', 'b', 'c', 'k', 'x', 'y', 'x.y', '1', '0', 'é', 'ab', 'list', 'map', 'n', '', ' ']


class Draw(random.Random):
    """Draws from the seed; the same seed draws the same."""

    def maybe(self, share):
        return self.random() < share

    def text(self):
        return self.choice(TEXTS)

    def number(self):
        return self.choice(WHOLE if self.maybe(.7) else FLOATS)

    def scalar(self):
        return self.choice([self.text, self.text, self.number,
                            lambda: self.choice([True, False, None])])()

    def listed(self, depth=2):
        return [self.value(depth - 1) for _ in range(self.choice([0, 1, 2, 2, 3, 4]))]

    def mapped(self, depth=2):
        return {self.choice(KEYS): self.value(depth - 1) for _ in range(self.choice([0, 1, 2, 2, 3]))}

    def value(self, depth=2):
        if depth > 0 and self.maybe(.4):
            return self.listed(depth) if self.maybe(.5) else self.mapped(depth)
        return self.scalar()

    def texts(self):
        return [self.text() for _ in range(self.choice([0, 1, 2, 3, 4]))]

    def fill(self, forms):
        """One of the forms, of which those that are functions are called."""
        form = self.choice(forms)
        return form() if callable(form) else form
